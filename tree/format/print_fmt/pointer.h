/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints %p and its extensions, as the kernel's vsnprintf does: hashed pointers, symbols, IP and
 * MAC addresses, UUIDs, hex bytes, bitmaps, error names. printk.h prints numbers and strings. */
#pragma once

#include <stdint.h>

#include "tree/format/print_fmt/print_fmt.h"
#include "tree/format/print_fmt/printk.h"

/* The argument of a %p: a guest address, or bytes whose address is unknown. */
struct hv_print_pointer {
	struct hv_gva addr;
	const uint8_t *bytes; /* NULL: use ADDR */
	size_t len_bytes;     /* number of readable bytes at BYTES */
};

/* Returns false if the text is unknown. OUT may contain part of it. */
bool hv_print_pointer(struct hv_print_out *out, const struct hv_print_spec *spec,
		      struct hv_print_pointer ptr, const struct hv_print_env *env);

/* Returns the text that printk shows instead of reading from ADDR, "(null)" or "(efault)", or NULL
 * if printk reads. */
const char *hv_print_bad_pointer(struct hv_gva addr);
/* Prints such a text as %s, with printk's length limit. */
void hv_print_error(struct hv_print_out *out, const struct hv_print_spec *spec, const char *text);

/* Print NR_BITS bits as 32-bit hex words, the highest first ("%*pb"), or as ranges ("%*pbl"). */
void hv_print_bitmap(struct hv_print_out *out, const uint8_t *bytes, unsigned nr_bits);
void hv_print_bitmap_list(struct hv_print_out *out, const uint8_t *bytes, unsigned nr_bits);

/* -- hashed pointers --------------------------------------------------------------------------- */

/* The number that the kernel shows for a hashed %p: the low 32 bits of SipHash-2-4 of the pointer,
 * keyed by ptr_key (lib/vsprintf.c; "SipHash: a fast short-input PRF", Aumasson and Bernstein,
 * 2012). Pure. */

/* KEY: two words. */
uint64_t hv_print_hash(uint64_t pointer, const uint64_t *key);

/* -- names of errors --------------------------------------------------------------------------- */

/* The names of the kernel's errors, as %pe shows them (lib/errname.c). Pure. */

/* Returns the name of an error, "ENOENT" for 2, or NULL. */
const char *hv_print_errname(int number);
