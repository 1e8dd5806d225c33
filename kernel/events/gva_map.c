/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/gva_map.h"

#include "base/guard.h"

void hv_gva_map_deinit(struct hv_gva_map *m)
{
	free(m->slots);
	*m = (struct hv_gva_map){0};
}

/* The guest chooses the addresses. The hash depends on the address of the slots in hvtrace's
 * memory, which the guest does not know, so it cannot choose addresses that collide. */
static uint64_t hash_of(const struct hv_gva_map *m, uint64_t at)
{
	at ^= (uintptr_t)m->slots;
	at = (at ^ at >> 33) * UINT64_C(0xff51afd7ed558ccd);
	at = (at ^ at >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return at ^ at >> 33;
}

/* Returns the slot of AT, or the free slot for it. */
static struct hv_gva_slot *slot_of(const struct hv_gva_map *m, uint64_t at)
{
	size_t i = (size_t)hash_of(m, at) & (m->cap - 1);

	while (m->slots[i].at && m->slots[i].at != at)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static void grow(struct hv_gva_map *m)
{
	struct hv_gva_map bigger = {.nr = m->nr, .cap = m->cap ? m->cap * 2 : 1024};

	bigger.slots = hv_alloc(bigger.cap * sizeof(*bigger.slots));
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].at)
			*slot_of(&bigger, m->slots[i].at) = m->slots[i];
	free(m->slots);
	*m = bigger;
}

void *hv_gva_map_find(const struct hv_gva_map *m, struct hv_gva at)
{
	return m->cap && at.v ? slot_of(m, at.v)->value : NULL;
}

void hv_gva_map_add(struct hv_gva_map *m, struct hv_gva at, void *value)
{
	if (m->nr >= m->cap / 2)
		grow(m);
	*slot_of(m, at.v) = (struct hv_gva_slot){at.v, value};
	m->nr++;
}
