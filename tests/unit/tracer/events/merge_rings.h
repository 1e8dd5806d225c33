/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings of up to three vCPUs, filled by the tests, and a merge over them. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tracer/events/decode.h"
#include "tracer/events/merge.h"

#define NR_CPUS 3

static struct hv_state states[NR_CPUS];
static struct hv_record *records[NR_CPUS];
static struct hv_ring rings[NR_CPUS];
static uint64_t nr_slots;
static struct hv_merge *merge;
static struct hv_merge_item item;

#define NO_KIND (HV_RECORD_EVENT + 1) /* a kind of record that does not exist */

static const struct hv_merge_clock tsc_clock = {NULL, NULL};

/* Returns the next position to be reserved. */
static inline uint64_t head(unsigned cpu)
{
	return hv_ring_head(&rings[cpu]);
}

static inline void set_head(unsigned cpu, uint64_t position)
{
	states[cpu].head = hv_ring_head_at(position, nr_slots);
}

/* Reserves a position and returns it. */
static inline uint64_t reserve(unsigned cpu)
{
	set_head(cpu, head(cpu) + 1);
	return head(cpu) - 1;
}

static inline void start(unsigned nr_cpus, uint64_t slots)
{
	nr_slots = slots;
	memset(states, 0, sizeof(states));
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		records[cpu] = hv_alloc(slots * sizeof(**records));
		hv_ring_init(&rings[cpu], &states[cpu], records[cpu], slots);
		set_head(cpu, 0);
	}
	merge = hv_merge_new(rings, 0, nr_cpus, NULL, tsc_clock);
}

/* Takes one of the records that the merge shows. Returns false if it shows none. */
static inline bool take_shown(void)
{
	size_t nr;
	const struct hv_kept *first = hv_merge_run(merge, SIZE_MAX, &item.cpu, &nr);

	if (!first)
		return false;
	ck_assert_uint_gt(nr, 0);
	item.record = first->record;
	item.position = first->position;
	item.run = first->run;
	item.time_ns = first->time_ns;
	item.lost_before = 0;
	hv_merge_take_run(merge, 1);
	return true;
}

/* All ways to take a record give equal results, so the tests use them in turn. */
static inline bool next_item(uint64_t now_ns, enum hv_merge_until until)
{
	static unsigned nr_asked;

	nr_asked++;
	return (nr_asked % 3 == 1 && hv_merge_take(merge, &item)) ||
	       (nr_asked % 3 == 2 && take_shown()) || hv_merge_next(merge, now_ns, until, &item);
}

static inline void teardown(void)
{
	hv_merge_free(merge);
	merge = NULL;
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
		free(records[cpu]);
		records[cpu] = NULL;
	}
}

static inline void store(unsigned cpu, uint64_t position, unsigned i, uint64_t word)
{
	records[cpu][position % nr_slots].word[i] = word ^ hv_record_key(position, nr_slots);
}

static inline void write_at(unsigned cpu, uint64_t position, unsigned kind, uint64_t tsc)
{
	store(cpu, position, 0, tsc);
	store(cpu, position, 1, 0);
	store(cpu, position, 2, 0);
	store(cpu, position, 3, (uint64_t)kind << HV_RECORD_KIND_SHIFT);
}

static inline void add_kind(unsigned cpu, unsigned kind, uint64_t tsc)
{
	write_at(cpu, reserve(cpu), kind, tsc);
}

static inline void add(unsigned cpu, uint64_t tsc)
{
	add_kind(cpu, HV_RECORD_FUNCTION, tsc);
}

static inline void expect_at(uint64_t now_ns, enum hv_merge_until until, unsigned cpu, uint64_t tsc)
{
	ck_assert(next_item(now_ns, until));
	ck_assert_uint_eq(item.time_ns, tsc);
	ck_assert_uint_eq(item.cpu, cpu);
}

static inline void expect(unsigned cpu, uint64_t tsc)
{
	expect_at(0, HV_MERGE_LIVE, cpu, tsc);
}

static inline void expect_none(void)
{
	ck_assert(!next_item(0, HV_MERGE_LIVE));
}
