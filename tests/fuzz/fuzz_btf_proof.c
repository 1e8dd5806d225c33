/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves BTF files against kernels without BTF. The first byte of the input is the number of bytes
 * that change the correct file (a 2-byte offset and a value each); the rest changes words of the
 * kernel's data (changes.h). The proof must end. Members that it accepts must have the properties
 * that trampolines rely on. */
#include <string.h>

#include "tests/unit/kernel/core/fake_untyped.h"

#include "kernel/core/btf_members.h"
#include "tests/fuzz/changes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *changes;
static size_t nr_changes;

static struct hv_err *open_changed(void *ctx hv_unused, const char *release hv_unused,
				   struct hv_btf_given *ret)
{
	HV_AUTO_TEXT struct hv_text bytes = {0};
	HV_AUTO_FD int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint64_t copy_bytes;

	write_types();
	bytes = assemble();
	for (size_t i = 0; i + 3 <= nr_changes; i += 3) {
		/* the file begins with its types; names are longer */
		size_t at = ((size_t)changes[i] | (size_t)changes[i + 1] << 8) % bytes.len_bytes;

		bytes.data[at] = (char)changes[i + 2];
	}
	if (write(fd, bytes.data, bytes.len_bytes) != (ssize_t)bytes.len_bytes)
		abort();
	*ret = (struct hv_btf_given){.path = hv_strdup("x.btf")};
	return hv_btf_copy_make(fd, &ret->fd, &copy_bytes);
}

/* Checks that pid and tgid, if they are proved, are 0 in init_task. */
static void check_proved(void)
{
	static const char *const zero[] = {"pid", "tgid"};

	for (size_t i = 0; i < HV_ARRAY_LEN(zero); i++) {
		HV_AUTO_ERR struct hv_err *err =
			hv_btf_need_proof(&fk.k.core, "task_struct", zero[i]);
		uint32_t off, value = 1;

		if (err)
			continue;
		if (!hv_btf_member(fk.k.core.btf, "task_struct", zero[i], &off, NULL))
			abort();
		hv_err_free(hv_read_u32(&fk.k.core.as, hv_gva(init_task + off), &value));
		if (value)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hv_btf_files files = {open_changed, NULL};
	static struct saved saved;
	struct hv_err *err;

	if (!size)
		return 0;
	if (!saved.data) {
		setup();
		save(&fk, &saved);
	}
	nr_changes = data[0] < size - 1 ? data[0] : size - 1;
	changes = data + 1;
	change(&fk, data + 1 + nr_changes, size - 1 - nr_changes);
	err = hv_types_find(&fk.k.core, &(struct hv_type_files){NULL, &files}, &id);
	if (!err && fk.k.core.btf)
		check_proved();
	hv_err_free(err);
	hv_btf_free(hv_take(fk.k.core.btf));
	hv_err_free(hv_take(fk.k.core.no_types));
	free(fk.k.core.types.path);
	fk.k.core.types = (struct hv_types){0};
	restore(&fk, &saved);
	return 0;
}
