/* The table of symbols: sorting, index by name, look-ups. */
#include "kernel/symbols.h"

#include <string.h>

void hv_symbols_deinit(struct hv_symbols *s)
{
	free(s->by_addr);
	free(s->by_name);
	free(s->names);
	*s = (struct hv_symbols){0};
}

/* A symbol with the place it had in its source: qsort is not stable, the order of aliases matters.
 */
struct ordered {
	struct hv_symbol symbol;
	size_t order;
};

static int by_addr_then_order(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;

	if (a->symbol.addr.v != b->symbol.addr.v)
		return a->symbol.addr.v < b->symbol.addr.v ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_sorted(const struct hv_symbols *s)
{
	for (size_t i = 1; i < s->nr; i++)
		if (s->by_addr[i - 1].addr.v > s->by_addr[i].addr.v)
			return false;
	return true;
}

static void sort_by_addr(struct hv_symbols *s)
{
	HV_AUTO_FREE struct ordered *all = NULL;

	if (is_sorted(s))
		return;
	all = hv_realloc_array(NULL, s->nr, sizeof(*all));
	for (size_t i = 0; i < s->nr; i++)
		all[i] = (struct ordered){s->by_addr[i], i};
	qsort(all, s->nr, sizeof(*all), by_addr_then_order);
	for (size_t i = 0; i < s->nr; i++)
		s->by_addr[i] = all[i].symbol;
}

static int by_name_then_addr(const void *pa, const void *pb, void *symbols)
{
	const struct hv_symbol *by_addr = symbols;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int order = strcmp(by_addr[a].name, by_addr[b].name);

	return order ? order : (a < b ? -1 : a > b);
}

void hv_symbols_index(struct hv_symbols *s)
{
	sort_by_addr(s);
	free(s->by_name);
	s->by_name = NULL;
	if (!s->nr)
		return;
	s->by_name = hv_realloc_array(NULL, s->nr, sizeof(*s->by_name));
	for (size_t i = 0; i < s->nr; i++)
		s->by_name[i] = (uint32_t)i;
	qsort_r(s->by_name, s->nr, sizeof(*s->by_name), by_name_then_addr, s->by_addr);
}

bool hv_symbols_find(const struct hv_symbols *s, const char *name, struct hv_gva *ret)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(s->by_addr[s->by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->nr || strcmp(s->by_addr[s->by_name[low]].name, name) != 0)
		return false;
	*ret = s->by_addr[s->by_name[low]].addr;
	return true;
}

/* The number of symbols below LIMIT; 0..nr. */
static size_t nr_below(const struct hv_symbols *s, uint64_t limit)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->by_addr[middle].addr.v < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct hv_symbol *hv_symbols_at(const struct hv_symbols *s, struct hv_gva addr)
{
	size_t first = nr_below(s, addr.v);

	if (first < s->nr && s->by_addr[first].addr.v == addr.v)
		return &s->by_addr[first];
	if (first == 0)
		return NULL;
	/* get_symbol_pos(): of equal addresses, the first. */
	return &s->by_addr[nr_below(s, s->by_addr[first - 1].addr.v)];
}
