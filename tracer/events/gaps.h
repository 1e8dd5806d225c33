/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records where a ring has missing records, and how many, until the record after them is returned.
 * If there are too many gaps, their numbers are added up: losses are then reported early but never
 * forgotten.
 *
 * ringbuf/ring.h detects losses; merge.h returns records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HV_GAPS_MAX 8

/* LOST records are missing before POSITION. */
struct hv_gap {
	uint64_t position;
	uint64_t lost;
};

/* Zero-initialised: no gaps. */
struct hv_gaps {
	struct hv_gap list[HV_GAPS_MAX]; /* sorted by position */
	unsigned nr;
};

static inline uint64_t hv_add_lost(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Notes that LOST records are missing before POSITION, which must not be before any other gap. */
static inline void hv_gaps_add(struct hv_gaps *g, uint64_t position, uint64_t lost)
{
	struct hv_gap *last = &g->list[HV_GAPS_MAX - 1];

	if (g->nr == HV_GAPS_MAX)
		last->lost = hv_add_lost(last->lost, lost);
	else
		g->list[g->nr++] = (struct hv_gap){position, lost};
}

/* Like hv_gaps_add(), but before all other gaps. */
static inline void hv_gaps_add_first(struct hv_gaps *g, uint64_t position, uint64_t lost)
{
	if (g->nr == HV_GAPS_MAX) {
		g->list[0].lost = hv_add_lost(g->list[0].lost, lost);
		return;
	}
	memmove(g->list + 1, g->list, g->nr * sizeof(*g->list));
	g->list[0] = (struct hv_gap){position, lost};
	g->nr++;
}

/* Returns whether records are missing before the one at POSITION. */
static inline bool hv_gaps_any(const struct hv_gaps *g, uint64_t position)
{
	return g->nr && (int64_t)(position - g->list[0].position) >= 0;
}

/* Returns the number of records missing before the one at POSITION, and forgets them. */
static inline uint64_t hv_gaps_tell(struct hv_gaps *g, uint64_t position)
{
	uint64_t lost = 0;
	unsigned nr = 0;

	while (nr < g->nr && (int64_t)(position - g->list[nr].position) >= 0)
		lost = hv_add_lost(lost, g->list[nr++].lost);
	g->nr -= nr;
	memmove(g->list, g->list + nr, g->nr * sizeof(*g->list));
	return lost;
}

static inline uint64_t hv_gaps_sum(const struct hv_gaps *g)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < g->nr; i++)
		lost = hv_add_lost(lost, g->list[i].lost);
	return lost;
}
