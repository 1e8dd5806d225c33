/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fast decimal formatting for lines that are rendered per event. The caller provides the space; no
 * NUL is written. */
#pragma once

#include <stdint.h>
#include <string.h>

#define HV_DIGITS_MAX 20 /* for a uint64_t */

/* Writes VALUE, which must have at most NR digits, padded with zeros to NR. Returns the end. */
static inline char *hv_put_digits(char *at, uint64_t value, unsigned nr)
{
	for (unsigned i = nr; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + nr;
}

/* Writes VALUE right-aligned in at least WIDTH characters. Returns the end. */
static inline char *hv_put_number(char *at, uint64_t value, unsigned width)
{
	unsigned nr = 1;

	for (uint64_t rest = value; rest >= 10; rest /= 10)
		nr++;
	for (; width > nr; width--)
		*at++ = ' ';
	return hv_put_digits(at, value, nr);
}
