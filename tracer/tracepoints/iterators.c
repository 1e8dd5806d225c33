/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/iterators.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/kernel.h"

#define PREFIX "__traceiter_"

static void add(const struct hv_kernel *k, const struct hv_symbols *symbols,
		struct hv_iterators *to, size_t *cap)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		struct hv_gva at = symbols->by_addr[i].addr;

		if (strncmp(symbols->by_addr[i].name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		to->list = hv_grow(to->list, to->nr, cap, 64, sizeof(*to->list));
		to->list[to->nr++] =
			(struct hv_gva_range){at, hv_gva_add(at, hv_kernel_symbol_size(k, at))};
	}
}

static int by_start(const void *pa, const void *pb)
{
	const struct hv_gva_range *a = pa, *b = pb;

	return a->start.v < b->start.v ? -1 : a->start.v > b->start.v;
}

void hv_iterators_find(const struct hv_kernel *k, struct hv_iterators *ret)
{
	struct hv_iterators found = {0};
	size_t cap = 0;

	add(k, &k->core.symbols, &found, &cap);
	for (size_t i = 0; i < k->modules.nr; i++)
		add(k, &k->modules.list[i].symbols, &found, &cap);
	if (found.nr)
		qsort(found.list, found.nr, sizeof(*found.list), by_start);
	*ret = found;
}

void hv_iterators_deinit(struct hv_iterators *i)
{
	free(i->list);
	*i = (struct hv_iterators){0};
}
