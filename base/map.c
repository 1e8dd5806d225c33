/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/map.h"

#include <stdlib.h>

#include "base/guard.h"

void hv_map_deinit(struct hv_map *m)
{
	free(m->entries);
	*m = (struct hv_map){0};
}

/* The hash depends on the address of the entries in hvtrace's memory, which the guest does not
 * know, so it cannot choose keys that collide. */
static uint64_t hash_of(const struct hv_map *m, uint64_t key)
{
	key ^= (uintptr_t)m->entries;
	key = (key ^ key >> 33) * UINT64_C(0xff51afd7ed558ccd);
	key = (key ^ key >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return key ^ key >> 33;
}

/* Returns the entry of KEY, or the unused entry for it. */
static struct hv_map_entry *entry_of(const struct hv_map *m, uint64_t key)
{
	size_t i = (size_t)hash_of(m, key) & (m->cap - 1);

	while (m->entries[i].key && m->entries[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->entries[i];
}

static void grow(struct hv_map *m)
{
	struct hv_map bigger = {.nr = m->nr, .cap = m->cap ? m->cap * 2 : 1024};

	bigger.entries = hv_alloc(bigger.cap * sizeof(*bigger.entries));
	for (size_t i = 0; i < m->cap; i++)
		if (m->entries[i].key)
			*entry_of(&bigger, m->entries[i].key) = m->entries[i];
	free(m->entries);
	*m = bigger;
}

void *hv_map_find(const struct hv_map *m, uint64_t key)
{
	return m->cap && key ? entry_of(m, key)->value : NULL;
}

void hv_map_add(struct hv_map *m, uint64_t key, void *value)
{
	if (!key)
		return;
	if (m->nr >= m->cap / 2)
		grow(m);
	*entry_of(m, key) = (struct hv_map_entry){key, value};
	m->nr++;
}
