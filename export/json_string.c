/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/json_string.h"

/* Returns how many of the LEFT bytes at AT need no escape. */
static size_t plain_len(const char *at, size_t left)
{
	size_t len = 0;

	while (len < left && at[len] >= ' ' && at[len] <= '~' && at[len] != '"' && at[len] != '\\')
		len++;
	return len;
}

void hv_json_add_string(struct hv_text *out, const char *bytes, size_t len_bytes)
{
	hv_text_add_char(out, '"');
	for (size_t i = 0; i < len_bytes;) {
		size_t plain = plain_len(bytes + i, len_bytes - i);
		unsigned char c = (unsigned char)bytes[i];

		if (plain)
			hv_text_add_bytes(out, bytes + i, plain);
		else if (c == '"' || c == '\\')
			hv_text_printf(out, "\\%c", c);
		else
			hv_text_printf(out, "\\u%04x", c);
		i += plain ? plain : 1;
	}
	hv_text_add_char(out, '"');
}
