/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All interleavings of reading one or two records with a guest that laps the reader: the guest acts
 * between any two loads of the reader. This file includes ring.c and replaces its loads by one that
 * calls a hook. */
#include <check.h>
#include <stdint.h>

static uint64_t load(const uint64_t *at);
#define __atomic_load_n(at, order) load(at)
#include "ringbuf/ring.c"
#include "tests/lib/run_suite.h"
#undef __atomic_load_n

#define NR_SLOTS   4
#define NR_LOADS   6  /* head, four words, head */
#define RUN_LOADS  10 /* head, eight words, head */
#define NR_ACTIONS 40

static struct hv_state state;
static struct hv_record records[NR_SLOTS];
static unsigned nr_loads;
/* before this load, the writer of the previous lap stores some words */
static unsigned late_at, late_from, late_until;
static unsigned act_at[2]; /* the guest advances before these loads */
static int action[2];

static void store(uint64_t position, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		records[position % NR_SLOTS].word[i] =
			(position * 4 + i) ^ hv_record_key(position, NR_SLOTS);
}

/* The guest advances by LAPS laps and stores all records on the way. Of the new record in the slot
 * being read, it stores the first WORDS words. */
static void go_on(unsigned laps, unsigned words)
{
	for (unsigned i = 0; i < laps * NR_SLOTS; i++) {
		uint64_t position = state.head / sizeof(struct hv_record) - NR_SLOTS;

		__atomic_store_n(&state.head, hv_ring_head_at(position + 1, NR_SLOTS),
				 __ATOMIC_RELEASE);
		if (position % NR_SLOTS != 1 || i + NR_SLOTS < laps * NR_SLOTS)
			store(position, 0, 4);
		else
			store(position, 0, words);
	}
}

static uint64_t load(const uint64_t *at)
{
	for (unsigned i = 0; i < 2; i++)
		if (nr_loads == act_at[i])
			go_on((unsigned)action[i] / 5, (unsigned)action[i] % 5);
	if (nr_loads == late_at)
		store(1, late_from, late_until);
	nr_loads++;
	return *at;
}

static bool read_is_right(void)
{
	struct hv_record record;
	struct hv_ring ring;
	uint64_t lost;

	for (uint64_t p = 0; p < 6; p++)
		store(p, 0, 4);
	state.head = hv_ring_head_at(6, NR_SLOTS);
	hv_ring_init(&ring, &state, records, NR_SLOTS);
	ring.position = 5;
	nr_loads = 0;
	if (hv_ring_read(&ring, 0, &record, &lost) != HV_RING_RECORD)
		return true;
	for (unsigned i = 0; i < 4; i++)
		if (record.word[i] != 5 * 4 + i)
			return false;
	return true;
}

/* Reads positions 4 and 5 as a run and checks them. */
static bool run_is_right(void)
{
	struct hv_record run[2];
	struct hv_ring ring;
	size_t nr;

	for (uint64_t p = 0; p < 6; p++)
		store(p, 0, 4);
	state.head = hv_ring_head_at(6, NR_SLOTS);
	hv_ring_init(&ring, &state, records, NR_SLOTS);
	ring.position = 4;
	nr_loads = 0;
	nr = hv_ring_read_run(&ring, 2, run, sizeof(*run));
	for (unsigned i = 0; i < 4 * nr; i++)
		if (run[i / 4].word[i % 4] != 4 * 4 + i)
			return false;
	return nr <= 2 && ring.position == 4 + nr;
}

/* _i: the guest's first action (laps * 5 + words) */
START_TEST(an_overwritten_record_is_never_mixed)
{
	action[0] = _i;
	late_at = NR_LOADS;
	for (act_at[0] = 0; act_at[0] <= NR_LOADS; act_at[0]++)
		for (act_at[1] = 0; act_at[1] <= NR_LOADS; act_at[1]++)
			for (action[1] = 0; action[1] < NR_ACTIONS; action[1]++)
				ck_assert(read_is_right());
}
END_TEST

START_TEST(an_overwritten_run_is_never_mixed)
{
	action[0] = _i;
	late_at = RUN_LOADS;
	for (act_at[0] = 0; act_at[0] <= RUN_LOADS; act_at[0]++)
		for (act_at[1] = 0; act_at[1] <= RUN_LOADS; act_at[1]++)
			for (action[1] = 0; action[1] < NR_ACTIONS; action[1]++)
				ck_assert(run_is_right());
}
END_TEST

START_TEST(a_run_has_only_complete_records)
{
	act_at[0] = act_at[1] = late_at = RUN_LOADS;
	ck_assert(run_is_right());
	ck_assert_uint_eq(nr_loads, RUN_LOADS);
}
END_TEST

/* _i % 4 and _i / 4: the first and the last word that the late writer stores */
START_TEST(a_late_writer_never_mixes_a_record)
{
	late_from = (unsigned)_i % 4;
	late_until = (unsigned)_i / 4 + 1;
	act_at[1] = NR_LOADS;
	for (late_at = 0; late_at < NR_LOADS; late_at++)
		for (act_at[0] = 0; act_at[0] <= NR_LOADS; act_at[0]++)
			for (action[0] = 0; action[0] < NR_ACTIONS; action[0]++)
				ck_assert(read_is_right());
}
END_TEST

START_TEST(a_late_writer_never_mixes_a_run)
{
	late_from = (unsigned)_i % 4;
	late_until = (unsigned)_i / 4 + 1;
	act_at[1] = RUN_LOADS;
	for (late_at = 0; late_at < RUN_LOADS; late_at++)
		for (act_at[0] = 0; act_at[0] <= RUN_LOADS; act_at[0]++)
			for (action[0] = 0; action[0] < NR_ACTIONS; action[0]++)
				ck_assert(run_is_right());
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, an_overwritten_record_is_never_mixed, 0, NR_ACTIONS);
	tcase_add_loop_test(tc, a_late_writer_never_mixes_a_record, 0, 16);
	tcase_add_test(tc, a_run_has_only_complete_records);
	tcase_add_loop_test(tc, an_overwritten_run_is_never_mixed, 0, NR_ACTIONS);
	tcase_add_loop_test(tc, a_late_writer_never_mixes_a_run, 0, 16);
}

int main(void)
{
	return run_suite("ring_steps", add_tests);
}
