/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a number in the text of the monitor's `info registers`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Parses the hexadecimal number after NAME, which must start a word: "CR3=0000000000a4c002".
 * Returns false if NAME is not found. */
bool hv_register_in(const char *text, const char *name, uint64_t *ret);
