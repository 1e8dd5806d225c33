/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for the line in the kernel's strings: ring_buffer_print_page_header() has it in a format
 * string. */
#include "kernel/events/page_header.h"

#include <string.h>

#include "kernel/kernel.h"

#define LINE "\tfield: char overwrite;\t"

/* The image has its strings behind its text. */
bool hv_page_header_has_char(const struct hv_kernel *k)
{
	struct hv_span data = hv_image_at(&k->core.image, k->text.end);

	return data.len_bytes && memmem(data.data, data.len_bytes, LINE, strlen(LINE));
}
