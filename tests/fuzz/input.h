/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of a fuzzer, read from its beginning. Reads past the end return zeros. */
#pragma once

#include "base/text.h"

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static inline unsigned next_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* Returns a text, which the caller frees. The next byte is the number of bytes to use; each of these
 * adds one of NR words, or itself. */
static inline char *next_words(struct input *in, const char *const *words, size_t nr)
{
	struct hv_text text = {0};

	for (unsigned left = next_byte(in); left; left--) {
		unsigned byte = next_byte(in);

		if (byte < nr)
			hv_text_add(&text, words[byte]);
		else if (byte)
			hv_text_add_char(&text, (char)byte);
	}
	hv_text_add(&text, "");
	return hv_text_take(&text);
}
