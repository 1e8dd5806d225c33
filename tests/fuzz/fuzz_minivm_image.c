/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads any file as a kernel. If it is accepted, all parts must be inside the file and inside a
 * bounded range of memory. The first byte selects whether the input is the whole file, or changes the
 * setup header of a valid bzImage or the headers of a valid ELF file, so that the fuzzer need not
 * guess magic numbers. The last two bytes truncate a changed file. */
#include "vmm/minivm/image.h"

#include "tests/unit/vmm/minivm/boot_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct hv_span file)
{
	struct hv_minivm_image image;
	struct hv_err *err = hv_minivm_image_parse(file, &image);

	if (err) {
		hv_err_free(err);
		return;
	}
	if (image.start.v >= image.end.v || image.end.v - image.start.v > UINT64_C(1) << 47)
		abort();
	if (image.setup_header.len_bytes &&
	    !hv_span_has(file, (uint64_t)(image.setup_header.data - file.data),
			 image.setup_header.len_bytes))
		abort();
	for (size_t i = 0; i < image.nr_pieces; i++) {
		const struct hv_minivm_piece *p = &image.pieces[i];

		if (!hv_span_has(file, p->file_off, p->file_len_bytes) ||
		    p->file_len_bytes > p->len_bytes || p->gpa.v < image.start.v ||
		    p->gpa.v + p->len_bytes > image.end.v)
			abort();
	}
}

/* Combines DATA with the valid FILE of LEN bytes, by XOR from offset AT on, and checks the
 * result. */
static void check_changed(uint8_t *file, size_t len, size_t at, struct hv_span data)
{
	HV_AUTO_FREE uint8_t *exact = NULL;

	if (data.len_bytes >= 2) {
		data.len_bytes -= 2;
		len -= (data.data[data.len_bytes] | data.data[data.len_bytes + 1] << 8) % len;
	}
	for (size_t i = 0; i < data.len_bytes && at + i < len; i++)
		file[at + i] ^= data.data[i];
	exact = hv_alloc(len); /* so that a read beyond its end is detected */
	memcpy(exact, file, len);
	check((struct hv_span){exact, len});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	HV_AUTO_FREE uint8_t *bzimage = of_bzimage();
	HV_AUTO_FREE uint8_t *elf = of_elf();
	struct hv_span rest = {data + !!size, size - !!size};

	if (size && data[0] % 4 == 1)
		check_changed(bzimage, OF_LEN, OF_SETUP, rest);
	else if (size && data[0] % 4 == 2)
		check_changed(elf, OF_ELF_LEN, 0, rest);
	else
		check((struct hv_span){data, size});
	return 0;
}
