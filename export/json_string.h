/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON strings from arbitrary bytes. The output is ASCII. Pure. */
#pragma once

#include "base/text.h"

/* Adds the bytes as a quoted string. A byte above 127 becomes the character with that number. */
void hv_json_add_string(struct hv_text *out, const char *bytes, size_t len_bytes);
