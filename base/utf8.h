/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Validates UTF-8 in untrusted bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the character at AT. Returns 0 if it is invalid or a control character
 * (including U+0080 to U+009F). LEFT, the number of bytes available, is at least 1. */
size_t hv_utf8_safe(const char *at, size_t left);
/* Returns whether the LEFT bytes at AT are an incomplete but so far valid character. */
bool hv_utf8_is_begin(const char *at, size_t left);
