/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/hist/hist_sort.h"

#include <string.h>

/* The sort key: the bytes of all keys, or a field. */
struct order {
	const struct hv_hist_spec *spec;
	const struct hv_hist_sort *sort; /* NULL: compare bytes */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a > b ? 1 : a < b ? -1 : 0;
}

/* Reduces the key to the field's size, as a signed or unsigned number. */
static uint64_t narrowed(const struct hv_hist_field *f, const uint8_t *key)
{
	unsigned unused_bits = 64 - 8 * f->size_bytes;
	uint64_t value;

	memcpy(&value, key, sizeof(value));
	if (f->kind != HV_HIST_NUMBER)
		return value;
	value <<= unused_bits;
	return f->is_signed ? (uint64_t)((int64_t)value >> unused_bits) : value >> unused_bits;
}

static int compare_keys(const struct hv_hist_field *f, const uint8_t *a, const uint8_t *b)
{
	/* Adding the bias makes signed numbers compare as unsigned. */
	uint64_t bias = f->is_signed ? UINT64_C(1) << 63 : 0;

	if (f->is_stack)
		return 0;
	if (f->kind == HV_HIST_TEXT)
		return strcmp((const char *)a, (const char *)b);
	return compare_numbers(narrowed(f, a) ^ bias, narrowed(f, b) ^ bias);
}

static int compare(const struct order *o, const struct hv_hist_entry *a,
		   const struct hv_hist_entry *b)
{
	const struct hv_hist_spec *s = o->spec;
	unsigned by;
	int result;

	if (!o->sort)
		return memcmp(a->key, b->key, s->key_bytes);
	by = o->sort->by;
	if (by < s->nr_values)
		result = compare_numbers(a->sums[by], b->sums[by]);
	else
		result = compare_keys(hv_hist_spec_field(s, by),
				      a->key + s->key_off[by - s->nr_values],
				      b->key + s->key_off[by - s->nr_values]);
	return o->sort->descending ? -result : result;
}

static void swap(struct hv_hist_entry *a, struct hv_hist_entry *b)
{
	struct hv_hist_entry kept = *a;

	*a = *b;
	*b = kept;
}

static size_t parent_of(size_t at)
{
	return (at - 1) / 2;
}

/* Moves the entry at ROOT down in a heap of NR: follows the larger children to the bottom, then
 * goes up to the first entry that is not smaller. */
static void sift(const struct order *o, struct hv_hist_entry *e, size_t root, size_t nr)
{
	size_t at = root, child, place;

	for (child = 2 * at + 1; child + 1 < nr; child = 2 * at + 1)
		at = compare(o, &e[child], &e[child + 1]) >= 0 ? child : child + 1;
	if (child + 1 == nr)
		at = child;
	while (at != root && compare(o, &e[root], &e[at]) >= 0)
		at = parent_of(at);
	for (place = at; at != root;) {
		at = parent_of(at);
		swap(&e[at], &e[place]);
	}
}

/* lib/sort.c */
static void heap_sort(const struct order *o, struct hv_hist_entry *e, size_t nr)
{
	for (size_t root = nr / 2; root-- > 0;)
		sift(o, e, root, nr);
	while (nr-- > 1) {
		swap(&e[0], &e[nr]);
		sift(o, e, 0, nr);
	}
}

/* Sorts each run of entries that are equal in the first sort (sort_secondary). */
static void sort_runs(const struct hv_hist_spec *s, struct hv_hist_entry *e, size_t nr)
{
	const struct order first = {s, &s->sorts[0]}, second = {s, &s->sorts[1]};
	size_t start = 0;

	for (size_t i = 1; i <= nr; i++) {
		if (i < nr && compare(&first, &e[start], &e[i]) == 0)
			continue;
		heap_sort(&second, e + start, i - start);
		start = i;
	}
}

void hv_hist_sort(const struct hv_hist_spec *s, struct hv_hist_entry *entries, size_t nr)
{
	const struct order bytes = {s, NULL}, first = {s, &s->sorts[0]};

	heap_sort(&bytes, entries, nr);
	heap_sort(&first, entries, nr);
	if (s->nr_sorts > 1)
		sort_runs(s, entries, nr);
}
