/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest values, apart from record contents, that the text of an event can refer to. They come from
 * guest memory and BTF and are untrusted. kernel.h resolves symbols; tree/format/print_fmt/
 * evaluates print_fmts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "kernel/events/catalogue.h"

struct hv_kernel;

/* -- values of a print_fmt --------------------------------------------------------------------- */

/* Functions return false and leave the result unchanged if the value does not exist or cannot be
 * read. */

/* Copies the string at ADDR with its NUL, or its first MAX bytes. */
bool hv_print_value_string(const struct hv_kernel *k, struct hv_gva addr, char *ret,
			   size_t max_bytes);
/* Reads the current value of an 8-byte variable: vmemmap_base, jiffies. */
bool hv_print_value_variable(const struct hv_kernel *k, const char *name, uint64_t *ret);
bool hv_print_value_enumerator(const struct hv_kernel *k, const char *name, int64_t *ret);
bool hv_print_value_size(const struct hv_kernel *k, const char *type, uint32_t *ret_bytes);
bool hv_print_value_member(const struct hv_kernel *k, const char *type, const char *member,
			   uint32_t *ret_off_bits, uint32_t *ret_nr_bits);
/* Returns CONFIG_HZ, or 0 if unknown. */
unsigned hv_print_value_hz(const struct hv_kernel *k);

/* How the kernel prints pointers with %p. */
struct hv_print_hashing {
	bool is_off; /* not hashed: no_hash_pointers, or the kernel's default (5.10) */
	bool has_key;
	uint64_t key[2]; /* of the hash; secret within the guest */
};
void hv_print_hashing_read(const struct hv_kernel *k, struct hv_print_hashing *ret);

/* -- strings ----------------------------------------------------------------------------------- */

/* Guest strings that event records only point to: the formats of trace_printk() and the strings of
 * tracepoint_string(). The file printk_formats lists them for programs that read such records. */

struct hv_print_string {
	struct hv_gva at;
	const char *string; /* may contain any bytes */
};

struct hv_print_strings {
	struct hv_print_string *list; /* owned, in the order of the guest's printk_formats */
	size_t nr;
	struct hv_store store;
};

/* Returns no strings if the kernel lacks the symbols of its lists. */
struct hv_err *hv_print_strings_read(const struct hv_kernel *k,
				     struct hv_print_strings *ret) hv_must_use;
void hv_print_strings_deinit(struct hv_print_strings *s);
