/* Any file as a kernel: what is accepted lies inside the file and inside some memory. */
#include "vmm/own_image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_own_image image;
	struct hv_err *err = hv_own_image_parse((struct hv_span){data, size}, &image);

	if (err) {
		hv_err_free(err);
		return 0;
	}
	if (image.start.v >= image.end.v || image.end.v - image.start.v > UINT64_C(1) << 47)
		abort();
	for (size_t i = 0; i < image.nr_pieces; i++) {
		const struct hv_own_piece *p = &image.pieces[i];

		if (!hv_span_has((struct hv_span){data, size}, p->file_off, p->file_len_bytes) ||
		    p->file_len_bytes > p->len_bytes || p->gpa.v < image.start.v ||
		    p->gpa.v + p->len_bytes > image.end.v)
			abort();
	}
	return 0;
}
