/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/image/symbols.h"

#include <string.h>
#include <sys/random.h>

#include "base/bisect.h"

#define KERNEL_HALF    (UINT64_C(1) << 63)
#define SYMBOLS_A_PART 4

void hv_symbols_deinit(struct hv_symbols *s)
{
	free(s->by_addr);
	free(s->by_name);
	free(s->names);
	free(s->starts);
	*s = (struct hv_symbols){0};
}

/* A symbol and its position in the source. The order of aliases matters, and qsort() is not
 * stable. */
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

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The guest does not know the seed, so it cannot choose names that collide. Hashes eight bytes at a
 * time for speed, because each name of the kernel is hashed; the last eight may overlap the
 * previous ones. */
static uint64_t hash_name(const struct hv_symbols *s, const char *name)
{
	const size_t len = strlen(name);
	uint64_t hash = s->seed ^ len, word = 0;

	for (size_t at = 0; at + 8 < len; at += 8) {
		memcpy(&word, name + at, 8);
		hash = mix(hash ^ word, s->seed);
	}
	if (len >= 8)
		memcpy(&word, name + len - 8, 8);
	for (size_t i = 0; len < 8 && i < len; i++)
		word |= (uint64_t)(uint8_t)name[i] << 8 * i;
	return mix(hash ^ word, s->seed);
}

/* An entry contains, above the index, as many bits of the hash as fit. So names are hardly ever
 * compared with different names. */
static uint32_t tag_of(const struct hv_symbols *s, uint64_t hash)
{
	return (uint32_t)(hash >> 32) >> s->index_bits << s->index_bits;
}

static size_t index_at(const struct hv_symbols *s, uint32_t bucket)
{
	return (bucket & ((UINT32_C(1) << s->index_bits) - 1)) - 1;
}

/* Returns the entry of NAME, which has the hash HASH, or the free entry for it. */
static uint32_t *find_bucket(const struct hv_symbols *s, const char *name, uint64_t hash)
{
	const uint32_t tag = tag_of(s, hash);
	size_t at = hash & (s->nr_buckets - 1);

	while (s->by_name[at] && (tag != tag_of(s, (uint64_t)s->by_name[at] << 32) ||
				  strcmp(s->by_addr[index_at(s, s->by_name[at])].name, name) != 0))
		at = (at + 1) & (s->nr_buckets - 1);
	return &s->by_name[at];
}

static void index_names(struct hv_symbols *s)
{
	s->nr_buckets = 2;
	while (s->nr_buckets <= s->nr + s->nr / 4)
		s->nr_buckets *= 2;
	s->index_bits = 1;
	while (s->index_bits < 31 && s->nr >> s->index_bits)
		s->index_bits++;
	free(s->by_name);
	s->by_name = hv_alloc(s->nr_buckets * sizeof(*s->by_name));
	hv_populate(s->by_name, s->nr_buckets * sizeof(*s->by_name));
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) < 0)
		s->seed = (uintptr_t)s->by_name;
	s->seed |= 1;
	for (size_t i = 0; i < s->nr; i++) {
		uint64_t hash = hash_name(s, s->by_addr[i].name);
		uint32_t *bucket = find_bucket(s, s->by_addr[i].name, hash);

		if (!*bucket)
			*bucket = tag_of(s, hash) | (uint32_t)(i + 1);
	}
}

/* Returns LOW plus the number of symbols below LIMIT between LOW and HIGH. */
static size_t search(const struct hv_symbols *s, size_t low, size_t high, uint64_t limit)
{
	return low + HV_BISECT(i, high - low, s->by_addr[low + i].addr.v < limit);
}

/* Divides the addresses from the first kernel symbol to the last into equal parts with a few
 * symbols each. Per-CPU symbols are offsets, far below. */
static void index_addresses(struct hv_symbols *s)
{
	size_t first = search(s, 0, s->nr, KERNEL_HALF), at = first;
	uint64_t span;

	free(s->starts);
	s->starts = NULL;
	s->nr_starts = 0;
	if (first == s->nr)
		return;
	s->starts_base = s->by_addr[first].addr.v;
	span = s->by_addr[s->nr - 1].addr.v - s->starts_base;
	s->starts_shift = 4;
	while (span >> s->starts_shift > (s->nr - first) / SYMBOLS_A_PART)
		s->starts_shift++;
	s->nr_starts = (size_t)(span >> s->starts_shift) + 2;
	s->starts = hv_realloc_array(NULL, s->nr_starts, sizeof(*s->starts));
	for (size_t part = 0; part < s->nr_starts; part++) {
		while (at < s->nr &&
		       (s->by_addr[at].addr.v - s->starts_base) >> s->starts_shift < part)
			at++;
		s->starts[part] = (uint32_t)at;
	}
}

void hv_symbols_index(struct hv_symbols *s)
{
	sort_by_addr(s);
	index_names(s);
	index_addresses(s);
}

bool hv_symbols_find(const struct hv_symbols *s, const char *name, struct hv_gva *ret)
{
	uint32_t bucket = s->nr ? *find_bucket(s, name, hash_name(s, name)) : 0;

	if (bucket)
		*ret = s->by_addr[index_at(s, bucket)].addr;
	return bucket != 0;
}

/* Returns the number of symbols below LIMIT. */
static size_t nr_below(const struct hv_symbols *s, uint64_t limit)
{
	size_t part = (size_t)((limit - s->starts_base) >> s->starts_shift);

	if (limit < s->starts_base || part + 1 >= s->nr_starts)
		return search(s, 0, s->nr, limit);
	return search(s, s->starts[part], s->starts[part + 1], limit);
}

const struct hv_symbol *hv_symbols_at(const struct hv_symbols *s, struct hv_gva addr)
{
	size_t first = nr_below(s, addr.v);

	if (first < s->nr && s->by_addr[first].addr.v == addr.v)
		return &s->by_addr[first];
	if (first == 0)
		return NULL;
	/* Of equal addresses use the first, like get_symbol_pos(). */
	if (first > 1 && s->by_addr[first - 2].addr.v == s->by_addr[first - 1].addr.v)
		first = nr_below(s, s->by_addr[first - 1].addr.v) + 1;
	return &s->by_addr[first - 1];
}

uint64_t hv_symbols_room(const struct hv_symbols *s, struct hv_gva at)
{
	size_t next = HV_BISECT(i, s->nr, s->by_addr[i].addr.v <= at.v);

	return next < s->nr ? s->by_addr[next].addr.v - at.v : 0;
}
