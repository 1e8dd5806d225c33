/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds a stack that a program may have made, by the call frame information of a file that it may have
 * made, of which some pages are missing. Each caller must be above its callee, in the copy. */
#include <stdlib.h>
#include <string.h>

#include "kernel/programs/unwind.h"

#define PAGE	   64 /* small, so that small files have several */
#define FRAMES_MAX 127
#define COPY_MAX   4096

/* The input: a byte, which chooses the missing pages, the length of the copy (16 bits), the copy, and
 * the file. Addresses of code are offsets in the file. */
struct input {
	const uint8_t *data;
	size_t size;
	uint8_t missing;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_input(void *ctx, uint64_t off, void *buf, size_t len_bytes)
{
	const struct input *in = ctx;

	if (off > in->size || len_bytes > in->size - off)
		abort(); /* the parser checks the length */
	if (in->missing && off / PAGE % 8 == in->missing % 8)
		return false;
	memcpy(buf, in->data + off, len_bytes);
	return true;
}

static void unwind(struct hv_cfi *cfi, struct hv_user_frame *f)
{
	uint64_t start = f->start, len = f->stack.len_bytes;

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		uint64_t cfa = f->cfa;
		struct hv_cfi_row row;

		if (!hv_cfi_find(cfi, hv_user_frame_ip(f) - !f->is_exact, &row) ||
		    hv_unwind_user(f, &row) != HV_USER_UNWOUND_CALLER)
			return;
		if (f->cfa <= cfa || f->cfa < start || f->cfa - start > len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_user_frame f;
	struct hv_cfi *cfi;
	struct hv_elf_file file;
	struct input in;
	uint16_t len;

	if (size < 3)
		return 0;
	memcpy(&len, data + 1, sizeof(len));
	if (len > COPY_MAX || len > size - 3)
		return 0;
	in = (struct input){data + 3 + len, size - 3 - len, data[0]};
	file = (struct hv_elf_file){.read = read_input, .ctx = &in, .len_bytes = in.size};
	cfi = hv_cfi_new(&file);
	if (cfi && hv_user_frame_init(&f, &hv_dwarf_regs_x86_64, (struct hv_span){data + 3, len}))
		unwind(cfi, &f);
	hv_cfi_free(cfi);
	return 0;
}
