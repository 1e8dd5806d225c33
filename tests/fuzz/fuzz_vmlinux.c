/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads any bytes as a vmlinux: sections, symbols, sites and DWARF, and BTF made from the DWARF. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/image/vmlinux.h"
#include "kernel/types/btf.h"
#include "kernel/types/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_types(int fd)
{
	uint8_t *bytes = NULL;
	size_t len_bytes = 0;
	HV_AUTO_ERR struct hv_err *err =
		hv_dwarf_to_btf(fd, HV_DWARF_TYPES_MAX, &bytes, &len_bytes);
	HV_AUTO_ERR struct hv_err *no_btf = NULL;
	struct hv_btf *btf = NULL;
	struct hv_btf_func func;
	uint32_t off;

	if (err)
		return;
	no_btf = hv_btf_new_take(bytes, len_bytes, &btf);
	if (no_btf)
		abort();
	hv_btf_member(btf, "sample", "value.word", &off, NULL);
	hv_btf_func_find(btf, "sample_use", &func);
	hv_btf_free(btf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	HV_AUTO_FD int fd = memfd_create("fuzz", MFD_CLOEXEC);
	const struct hv_vmlinux_file file = {"fuzz", fd};
	hv_cleanup(hv_vmlinux_deinit) struct hv_vmlinux v = {0};
	struct hv_err *err;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	err = hv_vmlinux_open(&file, &v);
	if (!err && !v.btf && v.has_dwarf)
		read_types(fd);
	hv_err_free(err);
	return 0;
}
