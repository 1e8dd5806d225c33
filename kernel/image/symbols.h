/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A symbol table from kallsyms in memory (kallsyms.h) or a vmlinux (vmlinux.h). Sorted by address;
 * symbols with equal addresses keep the order of their source. Names are untrusted, NUL-terminated
 * bytes; those from guest memory have at most HV_SYMBOL_NAME_MAX bytes. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

#define HV_SYMBOL_NAME_MAX 512 /* including the NUL: KSYM_NAME_LEN since 6.1; 128 before */

/* Packed, because a kernel has 160,000 symbols. */
struct hv_symbol {
	struct hv_gva
		addr;	  /* for per-CPU symbols the offset, like in the kernel's /proc/kallsyms */
	const char *name; /* owned by the table */
	char type;	  /* as in /proc/kallsyms */
} __attribute__((packed));

struct hv_symbols {
	struct hv_symbol *by_addr; /* owned */
	size_t nr;
	/* Owned; a hash table. Entries contain an index into by_addr plus 1, below other bits of
	 * the hash. 0: free. */
	uint32_t *by_name;
	unsigned index_bits;
	size_t nr_buckets; /* size of by_name, a power of two */
	uint64_t seed;	   /* of the hash */
	/* Lookup table for kernel addresses: the number of symbols below STARTS_BASE + (N <<
	 * STARTS_SHIFT). */
	uint32_t *starts; /* owned */
	size_t nr_starts;
	uint64_t starts_base;
	unsigned starts_shift;
	char *names; /* owned */
};

void hv_symbols_deinit(struct hv_symbols *s);
/* Sorts and indexes a table whose by_addr, nr and names are filled. */
void hv_symbols_index(struct hv_symbols *s);
/* Finds the symbol NAME; if there are several, the one with the lowest address. Returns false if
 * not found. */
bool hv_symbols_find(const struct hv_symbols *s, const char *name, struct hv_gva *ret);
/* Returns the last symbol at or below ADDR. If several have the same address, returns the first,
 * like kallsyms_lookup(). Returns NULL if ADDR is below all symbols. */
const struct hv_symbol *hv_symbols_at(const struct hv_symbols *s, struct hv_gva addr);
/* Returns the distance from the symbol at AT to the next address with a symbol; 0 if there is
 * none. */
uint64_t hv_symbols_room(const struct hv_symbols *s, struct hv_gva at);
