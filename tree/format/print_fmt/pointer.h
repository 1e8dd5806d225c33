/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints %p with the letters that may follow it, as the kernel's vsnprintf does: hashed pointers,
 * symbols, IP and MAC addresses, UUIDs, bytes in hex, bitmaps, error names.
 * Leaves to others: numbers and strings (printk.h). */
#pragma once

#include "tree/format/print_fmt/print_fmt.h"
#include "tree/format/print_fmt/printk.h"

/* The argument of a %p: an address of the guest, or bytes that we have, whose address is not known.
 */
struct hv_print_pointer {
	struct hv_gva addr;
	const uint8_t *bytes; /* NULL: use ADDR */
	size_t len_bytes;     /* how many may be read from BYTES on */
};

/* False: the text is not known. OUT may have grown then. */
bool hv_print_pointer(struct hv_print_out *out, const struct hv_print_spec *spec,
		      struct hv_print_pointer ptr, const struct hv_print_env *env);

/* Returns the text that printk shows if it does not read from ADDR: "(null)" or "(efault)". NULL:
 * printk reads. */
const char *hv_print_bad_pointer(struct hv_gva addr);
/* Prints such a text as %s, with printk's limit on its length. */
void hv_print_error(struct hv_print_out *out, const struct hv_print_spec *spec, const char *text);

/* Prints NR_BITS bits as 32-bit words in hex, the highest first ("%*pb"), or as ranges ("%*pbl").
 */
void hv_print_bitmap(struct hv_print_out *out, const uint8_t *bytes, unsigned nr_bits);
void hv_print_bitmap_list(struct hv_print_out *out, const uint8_t *bytes, unsigned nr_bits);
