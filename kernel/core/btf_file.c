/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/btf_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/core/btf_copy.h"

struct hv_err *hv_btf_file_read(int fd, struct hv_btf_file *ret)
{
	struct hv_btf_file file = {0};
	struct hv_btf_copy header;
	uint8_t *bytes;
	struct hv_err *err;
	struct stat st;
	size_t len;

	if (fstat(fd, &st) != 0)
		return hv_err_new(errno, "%s", strerror(errno));
	if (st.st_size < (off_t)sizeof(header) || st.st_size > (off_t)HV_BTF_COPY_BYTES_MAX)
		return hv_err_new(EINVAL, "no copy of a BTF file: %lld bytes",
				  (long long)st.st_size);
	err = hv_btf_copy_read(fd, 0, &header, sizeof(header));
	if (err)
		return err;
	if (memcmp(header.magic, HV_BTF_COPY_MAGIC, sizeof(header.magic)) != 0 ||
	    header.build_id_len_bytes > sizeof(header.build_id))
		return hv_err_new(EINVAL, "no copy of a BTF file");
	len = (size_t)st.st_size - sizeof(header);
	bytes = hv_alloc(len);
	err = hv_btf_copy_read(fd, sizeof(header), bytes, len);
	if (err) {
		free(bytes);
		return err;
	}
	err = hv_btf_new_take(bytes, len, &file.btf);
	if (err)
		return err;
	memcpy(file.build_id, header.build_id, sizeof(file.build_id));
	file.build_id_len_bytes = header.build_id_len_bytes;
	file.machine = header.machine;
	*ret = file;
	return NULL;
}
