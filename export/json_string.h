/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of JSON of which only ASCII characters are written, whatever bytes they are made of.
 * Pure. */
#pragma once

#include "base/text.h"

/* Adds the bytes as a string with its quotes. A byte that is not ASCII becomes the character of the
 * same number. */
void hv_json_add_string(struct hv_text *out, const char *bytes, size_t len_bytes);
