/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line in the format string of ring_buffer_print_page_header(). */
#include "kernel/events/page_header.h"

#include <string.h>

#include "kernel/kernel.h"

#define LINE "\tfield: char overwrite;\t"

/* Strings follow the text in the image. */
bool hv_page_header_has_char(const struct hv_kernel *k)
{
	struct hv_span data = hv_image_at(&k->core.image, k->text.end);

	return data.len_bytes && memmem(data.data, data.len_bytes, LINE, strlen(LINE));
}
