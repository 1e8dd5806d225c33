/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of symbols: of kallsyms in memory (kallsyms.h) or of a vmlinux (vmlinux.h). It is sorted
 * by address; symbols with equal addresses keep the order of their source. Names are hostile bytes,
 * NUL-terminated; those of a guest's memory have at most HV_SYMBOL_NAME_MAX bytes. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

#define HV_SYMBOL_NAME_MAX 512 /* with the NUL: KSYM_NAME_LEN since 6.1; 128 before */

struct hv_symbol {
	struct hv_gva
		addr; /* per-CPU symbols: the offset, as the kernel's own /proc/kallsyms shows it */
	const char *name; /* owned by the table */
	char type;	  /* as in /proc/kallsyms */
};

struct hv_symbols {
	struct hv_symbol *by_addr; /* owned */
	size_t nr;
	/* Owned; a hash table of indices into by_addr, plus 1, each below other bits of the hash;
	 * 0: free. */
	uint32_t *by_name;
	unsigned index_bits;
	size_t nr_places; /* of by_name, a power of two */
	uint64_t seed;	  /* of the hash */
	/* Of kernel addresses: how many symbols are below STARTS_BASE + (N << STARTS_SHIFT). */
	uint32_t *starts; /* owned */
	size_t nr_starts;
	uint64_t starts_base;
	unsigned starts_shift;
	char *names; /* owned */
};

void hv_symbols_deinit(struct hv_symbols *s);
/* Sorts and indexes a table whose by_addr, nr and names are filled. */
void hv_symbols_index(struct hv_symbols *s);
/* Finds the symbol with that name, of several the one with the lowest address; false when there is
 * none. */
bool hv_symbols_find(const struct hv_symbols *s, const char *name, struct hv_gva *ret);
/* The last symbol at or below ADDR. Of several with the same address it is the first, which
 * kallsyms_lookup() chooses. NULL when ADDR is below all symbols. */
const struct hv_symbol *hv_symbols_at(const struct hv_symbols *s, struct hv_gva addr);
