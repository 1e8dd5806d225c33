/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number that the kernel shows for a hashed %p: the low 32 bits of SipHash-2-4 of the pointer,
 * keyed by ptr_key (lib/vsprintf.c; "SipHash: a fast short-input PRF", Aumasson and Bernstein,
 * 2012). Pure. */
#pragma once

#include <stdint.h>

/* KEY: two words. */
uint64_t hv_print_hash(uint64_t pointer, const uint64_t *key);
