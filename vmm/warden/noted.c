/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/noted.h"

#include <string.h>

#include "base/guard.h"

/* An open-addressed hash table. The key of a place is its cell: the aligned eight bytes in which it
 * begins. The home of a cell is the entry to which it hashes; the search continues from there. A
 * range can only overlap places of at most three cells. Cells of a page have neighboring homes, so
 * a list of writes, which is sorted by address, touches few pages of the table. */
#define CELL_SHIFT  3
#define PAGE_SHIFT  12
#define HOMES_SHIFT 6 /* a page's cells have 2^6 different home entries */
#define SLOTS_MIN   1024u
#define ROOM_MIN    2048u /* places that can be added after hv_noted_tidy() before the table grows */

static uint64_t cell_of(struct hv_gpa gpa)
{
	return gpa.v >> CELL_SHIFT;
}

static size_t home(const struct hv_noted *p, uint64_t cell)
{
	uint64_t page = cell >> (PAGE_SHIFT - CELL_SHIFT);
	uint64_t in_page =
		cell >> (PAGE_SHIFT - CELL_SHIFT - HOMES_SHIFT) & ((1 << HOMES_SHIFT) - 1);

	return (size_t)((page * 0x9e3779b97f4a7c15u >> 20 << HOMES_SHIFT) + in_page) &
	       (p->nr_slots - 1);
}

void hv_noted_deinit(struct hv_noted *p)
{
	free(p->table);
	*p = (struct hv_noted){0};
}

/* Returns the entry of GPA, or the unused entry where it would be added. */
static struct hv_noted_place *entry_of(const struct hv_noted *p, struct hv_gpa gpa)
{
	size_t at = home(p, cell_of(gpa));

	while (p->table[at].len_bytes && p->table[at].gpa.v != gpa.v)
		at = (at + 1) & (p->nr_slots - 1);
	return &p->table[at];
}

struct hv_noted_place *hv_noted_find(const struct hv_noted *p, struct hv_gpa gpa)
{
	struct hv_noted_place *found = p->nr_slots ? entry_of(p, gpa) : NULL;

	return found && found->len_bytes ? found : NULL;
}

/* Touches each page now, because the first write to a page faults, and that must not happen in a
 * hold. */
static struct hv_noted_place *make_table(size_t nr_slots)
{
	struct hv_noted_place *table = hv_alloc(nr_slots * sizeof(*table));

	for (size_t at = 0; at < nr_slots; at += 4096 / sizeof(*table))
		*(volatile uint8_t *)&table[at].len_bytes = 0;
	return table;
}

static void rebuild(struct hv_noted *p, size_t nr_slots,
		    bool (*keep)(const struct hv_noted_place *))
{
	struct hv_noted old = *p;

	*p = (struct hv_noted){.table = make_table(nr_slots), .nr_slots = nr_slots};
	for (size_t i = 0; i < old.nr_slots; i++)
		if (old.table[i].len_bytes && (!keep || keep(&old.table[i]))) {
			*entry_of(p, old.table[i].gpa) = old.table[i];
			p->nr++;
		}
	hv_noted_deinit(&old);
}

void hv_noted_reserve(struct hv_noted *p, size_t nr)
{
	size_t nr_slots = p->nr_slots ? p->nr_slots : SLOTS_MIN;

	while (2 * (p->nr + nr) > nr_slots)
		nr_slots *= 2;
	if (nr_slots > p->nr_slots)
		rebuild(p, nr_slots, NULL);
}

struct hv_noted_place *hv_noted_add(struct hv_noted *p, struct hv_gpa gpa, uint32_t len_bytes)
{
	struct hv_noted_place *place;

	hv_noted_reserve(p, 1);
	place = entry_of(p, gpa);
	if (!place->len_bytes) {
		*place = (struct hv_noted_place){.gpa = gpa, .len_bytes = (uint8_t)len_bytes};
		p->nr++;
	}
	return place;
}

/* The upper half of *NEXT is the number of the cell, from the first one that can overlap; the lower
 * half is the number of the entry, from the cell's home. Skips a cell with the same home as the one
 * before it, because its entries were searched already. */
struct hv_noted_place *hv_noted_overlapping(const struct hv_noted *p, struct hv_gpa gpa,
					    uint32_t len_bytes, uint64_t *next)
{
	uint64_t first = gpa.v < HV_SITE_LEN_MAX ? 0 : cell_of(hv_gpa(gpa.v - HV_SITE_LEN_MAX + 1));
	uint64_t last = cell_of(hv_gpa_add(gpa, len_bytes - 1));

	while (p->nr_slots && first + (*next >> 32) <= last) {
		uint64_t cell = first + (*next >> 32);
		size_t start = home(p, cell), at = (start + (uint32_t)*next) & (p->nr_slots - 1);
		struct hv_noted_place *place = &p->table[at];

		if (!place->len_bytes || (cell > first && start == home(p, cell - 1))) {
			*next = ((*next >> 32) + 1) << 32;
			continue;
		}
		++*next;
		if (place->gpa.v < gpa.v + len_bytes && gpa.v < place->gpa.v + place->len_bytes)
			return place;
	}
	return NULL;
}

void hv_noted_tidy(struct hv_noted *p, bool (*keep)(const struct hv_noted_place *place))
{
	size_t nr_slots = SLOTS_MIN;

	if (p->nr_slots && 2 * (p->nr + ROOM_MIN / 2) < p->nr_slots)
		return;
	if (p->nr_slots)
		rebuild(p, p->nr_slots, keep);
	while (4 * p->nr + 2 * ROOM_MIN > nr_slots)
		nr_slots *= 2;
	if (nr_slots > p->nr_slots)
		rebuild(p, nr_slots, NULL);
}
