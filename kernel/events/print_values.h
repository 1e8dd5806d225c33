/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the guest on which the texts of its events depend, besides the entries: what the
 * print_fmt of an event may name. They are read from guest memory and from types, and are hostile.
 * Functions return false for what the kernel does not have or what cannot be read, and leave the
 * result untouched then. Leaves to others: symbols of addresses (kernel.h), print_fmts
 * (tree/format/print_fmt/). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct hv_kernel;

/* Copies the text at ADDR with its NUL, or the first MAX bytes of it. */
bool hv_print_value_string(const struct hv_kernel *k, struct hv_gva addr, char *ret,
			   size_t max_bytes);
/* What a variable of 8 bytes has now: vmemmap_base, jiffies. */
bool hv_print_value_variable(const struct hv_kernel *k, const char *name, uint64_t *ret);
bool hv_print_value_enumerator(const struct hv_kernel *k, const char *name, int64_t *ret);
bool hv_print_value_size(const struct hv_kernel *k, const char *type, uint32_t *ret_bytes);
bool hv_print_value_member(const struct hv_kernel *k, const char *type, const char *member,
			   uint32_t *ret_off_bits, uint32_t *ret_nr_bits);
/* CONFIG_HZ; 0: not known. */
unsigned hv_print_value_hz(const struct hv_kernel *k);

/* How the kernel shows pointers by %p. */
struct hv_print_hashing {
	bool is_off; /* as they are: no_hash_pointers, or the kernel's way (5.10) */
	bool has_key;
	uint64_t key[2]; /* of the hash. Secret within the guest */
};
void hv_print_hashing_read(const struct hv_kernel *k, struct hv_print_hashing *ret);
