/* A table of symbols, wherever it came from: kallsyms in memory (kallsyms.h), vmlinux (vmlinux.h).
 * Sorted by address; equal addresses keep the source's order. Names are hostile bytes,
 * NUL-terminated. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_symbol {
	struct hv_gva
		addr; /* per-CPU symbols: the offset, as the kernel's own /proc/kallsyms shows it */
	const char *name; /* owned by the table */
	char type;	  /* as in /proc/kallsyms */
};

struct hv_symbols {
	struct hv_symbol *by_addr; /* owned */
	size_t nr;
	uint32_t *by_name; /* owned; indices into by_addr, by name then address */
	char *names;	   /* owned */
};

void hv_symbols_deinit(struct hv_symbols *s);
/* Sorts and indexes what by_addr/nr/names were filled with. */
void hv_symbols_index(struct hv_symbols *s);
/* First symbol of that name; false when there is none. */
bool hv_symbols_find(const struct hv_symbols *s, const char *name, struct hv_gva *ret);
/* The symbol that ADDR is in or after, as kallsyms_lookup chooses among aliases (the first of equal
 * addresses); NULL when ADDR is below all. */
const struct hv_symbol *hv_symbols_at(const struct hv_symbols *s, struct hv_gva addr);
