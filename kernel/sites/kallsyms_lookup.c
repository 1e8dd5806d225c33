/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: kernel/kallsyms.c (kallsyms_lookup, get_symbol_pos), kernel/module/kallsyms.c. */
#include "kernel/sites/kallsyms_lookup.h"

/* Returns the table that covers ADDR, and the end of its last symbol. The image includes its init
 * part, as in is_kernel(); modules are never inside it. */
static const struct hv_symbols *symbols_of(const struct hv_kernel_core *core,
					   const struct hv_modules *modules, struct hv_gva addr,
					   const struct hv_module **ret_module, uint64_t *ret_end)
{
	*ret_module = NULL;
	*ret_end = core->image.all.end.v;
	if (hv_gva_in(addr, core->image.all))
		return &core->symbols;
	*ret_module = hv_module_at(modules, addr);
	if (!*ret_module)
		return NULL;
	*ret_end = (*ret_module)->text.end.v;
	return &(*ret_module)->symbols;
}

bool hv_kallsyms_lookup(const struct hv_kernel_core *core, const struct hv_modules *modules,
			struct hv_gva addr, const char **ret_name, const char **ret_module,
			uint64_t *ret_off)
{
	const struct hv_symbol *symbol = NULL;
	const struct hv_symbols *symbols;
	const struct hv_module *module;
	uint64_t end;

	symbols = symbols_of(core, modules, addr, &module, &end);
	if (symbols)
		symbol = hv_symbols_at(symbols, addr);
	if (!symbol)
		return false;
	*ret_name = symbol->name;
	*ret_module = module ? module->name : NULL;
	*ret_off = addr.v - symbol->addr.v;
	return true;
}

/* Returns the first symbol after FIRST and before LAST with a higher address than FIRST, or LAST. A
 * hostile guest can have any number of symbols at one address. */
static const struct hv_symbol *first_above(const struct hv_symbol *first,
					   const struct hv_symbol *last)
{
	const uint64_t addr = first->addr.v;

	if (first + 1 < last && first[1].addr.v > addr) /* the usual case */
		return first + 1;
	while (first < last) {
		const struct hv_symbol *middle = first + (last - first) / 2;

		if (middle->addr.v > addr)
			last = middle;
		else
			first = middle + 1;
	}
	return last;
}

uint64_t hv_kallsyms_lookup_size(const struct hv_kernel_core *core,
				 const struct hv_modules *modules, struct hv_gva addr)
{
	const struct hv_symbol *symbol = NULL, *next;
	const struct hv_symbols *symbols;
	const struct hv_module *module;
	uint64_t end;

	symbols = symbols_of(core, modules, addr, &module, &end);
	if (symbols)
		symbol = hv_symbols_at(symbols, addr);
	if (!symbol)
		return 0;
	next = first_above(symbol, symbols->by_addr + symbols->nr);
	if (next < symbols->by_addr + symbols->nr)
		end = next->addr.v;
	return end - symbol->addr.v;
}
