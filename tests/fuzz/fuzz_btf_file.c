/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies any bytes as a file with BTF, raw or in ELF. The copy must have a valid size and header,
 * and must be read-only. Then reads the copy, and the bytes as if they were one. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/core/btf_copy.h"
#include "kernel/core/btf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int put(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static void check_copy(int copy, uint64_t copy_bytes)
{
	struct hv_btf_copy header;
	struct stat st;

	if (fstat(copy, &st) != 0 || (uint64_t)st.st_size != copy_bytes ||
	    copy_bytes > HV_BTF_COPY_BYTES_MAX || copy_bytes < sizeof(header) ||
	    pread(copy, &header, sizeof(header), 0) != sizeof(header) ||
	    header.build_id_len_bytes > sizeof(header.build_id) || ftruncate(copy, 0) == 0)
		abort();
}

static void read_copy(int copy)
{
	struct hv_btf_file file = {0};
	HV_AUTO_ERR struct hv_err *err = hv_btf_file_read(copy, &file);

	if (!err && file.build_id_len_bytes > sizeof(file.build_id))
		abort();
	hv_btf_free(file.btf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	HV_AUTO_FD int fd = put(data, size), copy = -1;
	uint64_t copy_bytes = 0;
	HV_AUTO_ERR struct hv_err *err = hv_btf_copy_make(fd, &copy, &copy_bytes);

	if (!err) {
		check_copy(copy, copy_bytes);
		read_copy(copy);
	}
	read_copy(fd);
	return 0;
}
