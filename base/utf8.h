/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Characters of UTF-8 in bytes that anybody may have written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns how many of the LEFT bytes at AT, at least one, are a character that is no control
 * character, those from U+0080 to U+009F included. 0: they are none. */
size_t hv_utf8_safe(const char *at, size_t left);
/* Returns whether the LEFT bytes at AT are the beginning of a character, and not all of it. */
bool hv_utf8_is_begin(const char *at, size_t left);
