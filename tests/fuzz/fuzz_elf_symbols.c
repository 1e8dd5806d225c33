/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds names of functions and the build id in an ELF file of a guest; some of its pages are
 * missing. They must occur in the file. */
#include <stdlib.h>
#include <string.h>

#include "kernel/programs/elf_symbols.h"

#define PAGE	  64 /* small, so that small files have several */
#define NR_PLACES 4

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data + 1, size - 1, size ? data[0] : 0};
	struct hv_elf_file file = {.read = read_input, .ctx = &in, .len_bytes = in.size};
	struct hv_elf_place places[NR_PLACES] = {{0}};
	uint8_t id[HV_ELF_BUILD_ID_MAX];
	size_t len;

	if (size < 2)
		return 0;
	for (size_t i = 0; i < NR_PLACES; i++)
		places[i].off = in.size / NR_PLACES * i;
	hv_elf_find_functions(&file, places, NR_PLACES);
	for (size_t i = 0; i < NR_PLACES; i++) {
		if (places[i].name &&
		    !memmem(in.data, in.size, places[i].name, strlen(places[i].name)))
			abort();
		free(places[i].name);
	}
	len = hv_elf_build_id(&file, id);
	if (len > sizeof(id) || (len && !memmem(in.data, in.size, id, len)))
		abort();
	return 0;
}
