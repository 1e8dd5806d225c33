/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/hist_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/events/comms.h"
#include "tree/instance/hist_sort.h"

#define STEPS_MAX  256
#define FIRST_ROOM 128
#define WORD	   sizeof(uint64_t)
#define COMM_BYTES ((size_t)HV_COMM_LEN)
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/* An entry is its sums, the name of its task, and its key. */
struct hv_hist_table {
	unsigned nr_refs;
	uint32_t size;	   /* of entries; a power of two */
	size_t sums_bytes; /* of an entry */
	size_t key_bytes;  /* likewise */
	uint8_t *entries;  /* owned */
	uint32_t nr, room; /* of entries, used and allocated */
	uint32_t *places;  /* owned; 2 * size of them: index of an entry, and one more */
	uint64_t hits, drops;
};

static size_t entry_bytes(const struct hv_hist_table *t)
{
	return t->sums_bytes + COMM_BYTES + t->key_bytes;
}

static uint8_t *entry_at(const struct hv_hist_table *t, uint32_t index)
{
	return t->entries + index * entry_bytes(t);
}

static uint8_t *key_of(const struct hv_hist_table *t, uint8_t *entry)
{
	return entry + t->sums_bytes + COMM_BYTES;
}

uint64_t hv_hist_table_bytes(const struct hv_hist_spec *s)
{
	uint64_t one = s->nr_values * WORD + COMM_BYTES + s->key_bytes + 2 * sizeof(uint32_t);

	return s->size * one;
}

struct hv_hist_table *hv_hist_table_new(const struct hv_hist_spec *s)
{
	struct hv_hist_table *t = hv_alloc(sizeof(*t));

	t->nr_refs = 1;
	t->size = s->size;
	t->sums_bytes = s->nr_values * WORD;
	t->key_bytes = s->key_bytes;
	t->places = hv_alloc(2 * (size_t)t->size * sizeof(*t->places));
	return t;
}

struct hv_hist_table *hv_hist_table_ref(struct hv_hist_table *t)
{
	t->nr_refs++;
	return t;
}

void hv_hist_table_unref(struct hv_hist_table *t)
{
	if (!t || --t->nr_refs)
		return;
	free(t->entries);
	free(t->places);
	free(t);
}

void hv_hist_table_clear(struct hv_hist_table *t)
{
	memset(t->places, 0, 2 * (size_t)t->size * sizeof(*t->places));
	t->nr = 0;
	t->hits = 0;
	t->drops = 0;
}

/* -- counting ---------------------------------------------------------------------------------- */

static uint32_t place_of(const struct hv_hist_table *t, const uint8_t *key)
{
	uint64_t hash = 0, word;

	for (size_t at = 0; at < t->key_bytes; at += WORD) {
		memcpy(&word, key + at, WORD);
		hash = (hash ^ word) * MULTIPLIER;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash & (2 * t->size - 1);
}

static uint8_t *append(struct hv_hist_table *t, const uint8_t *key, const char *comm)
{
	uint8_t *entry;

	if (t->nr == t->room) {
		t->room = t->room ? 2 * t->room : FIRST_ROOM;
		t->entries = hv_realloc_array(t->entries, t->room, entry_bytes(t));
	}
	entry = entry_at(t, t->nr++);
	memset(entry, 0, t->sums_bytes);
	memcpy(entry + t->sums_bytes, comm, COMM_BYTES);
	memcpy(key_of(t, entry), key, t->key_bytes);
	return entry;
}

/* NULL: there is no room. */
static uint8_t *find_or_append(struct hv_hist_table *t, const uint8_t *key, const char *comm)
{
	uint32_t place = place_of(t, key);

	for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
		uint32_t *at = &t->places[(place + steps) & (2 * t->size - 1)];
		uint8_t *entry = *at ? entry_at(t, *at - 1) : NULL;

		if (entry && memcmp(key_of(t, entry), key, t->key_bytes) == 0)
			return entry;
		if (entry)
			continue;
		if (t->nr == t->size)
			return NULL;
		entry = append(t, key, comm);
		*at = t->nr;
		return entry;
	}
	return NULL;
}

void hv_hist_table_add(struct hv_hist_table *t, const struct hv_hist_spec *s,
		       const struct hv_hist_record *record, const char *comm)
{
	uint8_t key[HV_HIST_KEY_BYTES_MAX], *entry;

	hv_hist_spec_key(s, record, key);
	entry = find_or_append(t, key, comm);
	if (!entry) {
		t->drops++;
		return;
	}
	t->hits++;
	for (unsigned i = 0; i < s->nr_values; i++) {
		uint64_t sum;

		memcpy(&sum, entry + i * WORD, WORD);
		sum += hv_hist_field_value(s->values[i], record);
		memcpy(entry + i * WORD, &sum, WORD);
	}
}

/* -- showing ----------------------------------------------------------------------------------- */

static void entries_of(const struct hv_hist_table *t, struct hv_hist_entry *ret)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		uint8_t *entry = entry_at(t, i);

		/* All parts of an entry are multiples of words. */
		ret[i] = (struct hv_hist_entry){
			.key = key_of(t, entry),
			.comm = (const char *)entry + t->sums_bytes,
			.sums = (const uint64_t *)(const void *)entry,
		};
	}
}

static void sum_up(const struct hv_hist_entry *entries, uint32_t nr, unsigned nr_values,
		   struct hv_hist_names *names)
{
	for (unsigned v = 0; v < nr_values; v++) {
		names->max[v] = 0;
		names->total[v] = 0;
		for (uint32_t i = 0; i < nr; i++) {
			names->total[v] += entries[i].sums[v];
			if (names->max[v] < entries[i].sums[v])
				names->max[v] = entries[i].sums[v];
		}
	}
}

void hv_hist_table_text(const struct hv_hist_table *t, const struct hv_hist_spec *s,
			struct hv_hist_names *names, struct hv_text *ret)
{
	HV_AUTO_FREE struct hv_hist_entry *entries = hv_alloc((t->nr + 1) * sizeof(*entries));

	entries_of(t, entries);
	sum_up(entries, t->nr, s->nr_values, names);
	hv_hist_names_find_syscalls(names);
	hv_hist_sort(s, entries, t->nr);
	for (uint32_t i = 0; i < t->nr; i++)
		hv_hist_text_entry(s, names, &entries[i], ret);
	hv_text_printf(ret,
		       "\nTotals:\n    Hits: %" PRIu64 "\n    Entries: %" PRIu32
		       "\n    Dropped: %" PRIu64 "\n",
		       t->hits, t->nr, t->drops);
}
