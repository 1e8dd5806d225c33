/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring reader with guests that write correctly, write late, or write invalid data. */
#include <check.h>
#include <stdlib.h>

#include "ringbuf/ring.h"
#include "ringbuf/writer.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS 8

static struct hv_state *state;
static struct hv_record *records; /* exactly NR_SLOTS: the sanitizer sees all accesses outside */
static struct hv_ring ring;
static struct hv_record record;
static uint64_t lost;

/* POSITION is the next one to be reserved. */
static void set_head(uint64_t position)
{
	state->head = hv_ring_head_at(position, NR_SLOTS);
}

static void setup(void)
{
	state = calloc(1, sizeof(*state));
	records = calloc(NR_SLOTS, sizeof(*records));
	hv_ring_init(&ring, state, records, NR_SLOTS);
	set_head(0);
	lost = 0;
}

static void teardown(void)
{
	free(state);
	free(records);
}

static uint64_t head(void)
{
	return hv_ring_head(&ring);
}

static void write_word(uint64_t position, unsigned i)
{
	records[position % NR_SLOTS].word[i] =
		(position * 4 + i) ^ hv_record_key(position, NR_SLOTS);
}

static void write_record(uint64_t position)
{
	for (unsigned i = 0; i < 4; i++)
		write_word(position, i);
}

static void write_until(uint64_t end)
{
	while (hv_ring_head(&ring) != end) {
		write_record(hv_ring_head(&ring));
		set_head(hv_ring_head(&ring) + 1);
	}
}

static void read_expect(uint64_t position)
{
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(record.word[i], position * 4 + i);
	ck_assert_uint_eq(ring.position, position + 1);
}

START_TEST(empty_stays_empty)
{
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, UINT64_MAX, &record, &lost), HV_RING_EMPTY);
	ck_assert_uint_eq(ring.position, 0);
	ck_assert_uint_eq(ring.lost, 0);
}
END_TEST

START_TEST(records_come_in_order_over_laps)
{
	for (uint64_t p = 0; p < 5 * NR_SLOTS + 3; p++) {
		write_until(p + 1);
		read_expect(p);
		ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	}
	ck_assert_uint_eq(ring.lost, 0);
}
END_TEST

START_TEST(a_full_lap_is_readable)
{
	write_until(NR_SLOTS + 3);
	ring.position = 3;
	for (uint64_t p = 3; p < NR_SLOTS + 3; p++)
		read_expect(p);
}
END_TEST

/* _i: the word that is not written yet */
START_TEST(a_record_waits_for_each_of_its_words)
{
	for (uint64_t p = 0; p < 3 * NR_SLOTS; p++) {
		set_head(p + 1);
		for (unsigned w = 0; w < 4; w++)
			if (w != (unsigned)_i)
				write_word(p, w);
		ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
		write_word(p, (unsigned)_i);
		read_expect(p);
	}
}
END_TEST

START_TEST(a_read_that_returns_no_record_counts_no_loss)
{
	lost = 77;
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	set_head(1);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	ck_assert_uint_eq(lost, 77);
}
END_TEST

START_TEST(a_record_overwritten_by_the_next_lap_is_lost_and_counted)
{
	write_until(NR_SLOTS + 1);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1 + NR_SLOTS / 8);
	ck_assert_uint_eq(ring.lost, lost);
	for (uint64_t p = lost; p < head(); p++)
		read_expect(p);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
}
END_TEST

START_TEST(records_beyond_the_kept_number_are_lost)
{
	ring.nr_kept = 5;
	write_until(5);
	for (unsigned i = 0; i < 5; i++)
		read_expect(i);
	write_until(10);
	read_expect(5);
	write_until(11);
	read_expect(6);
	/* Position 7 is six before the head: its slot still contains it, but only five are kept. */
	write_until(13);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	read_expect(8);
}
END_TEST

START_TEST(the_margin_is_bounded)
{
	struct hv_record *many = calloc(1 << 16, sizeof(*many));

	hv_ring_init(&ring, state, many, 1 << 16);
	state->head = hv_ring_head_at(1 << 20, 1 << 16);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, (1 << 20) - (1 << 16) + 1024);
	free(many);
}
END_TEST

/* The writer of position 2 was delayed for a lap and then wrote its last two words. */
START_TEST(a_writer_one_lap_late_is_seen)
{
	write_until(NR_SLOTS + 3);
	ring.position = 4;
	for (uint64_t p = 4; p < NR_SLOTS + 2; p++)
		read_expect(p);
	write_word(2, 2);
	write_word(2, 3);
	write_until(NR_SLOTS + 4);
	ck_assert_int_eq(hv_ring_read(&ring, 5, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 5 + HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	read_expect(NR_SLOTS + 3);
}
END_TEST

START_TEST(a_stalled_position_is_skipped_after_a_timeout)
{
	set_head(1);
	ck_assert_int_eq(hv_ring_read(&ring, 1000, &record, &lost), HV_RING_EMPTY);
	/* nothing follows it, so there is no reason to skip it */
	ck_assert_int_eq(hv_ring_read(&ring, 1000 + 2 * HV_RING_STALL_NS, &record, &lost),
			 HV_RING_EMPTY);
	/* The vCPU continues with an interrupt. */
	set_head(2);
	write_record(1);
	ck_assert_int_eq(hv_ring_read(&ring, 1000 + 3 * HV_RING_STALL_NS, &record, &lost),
			 HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 999 + 4 * HV_RING_STALL_NS, &record, &lost),
			 HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 1000 + 4 * HV_RING_STALL_NS, &record, &lost),
			 HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	read_expect(1);
}
END_TEST

START_TEST(the_timeout_restarts_for_each_position)
{
	set_head(2);
	hv_ring_read(&ring, 0, &record, &lost);
	write_record(0);
	read_expect(0);
	set_head(3);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 2 * HV_RING_STALL_NS - 1, &record, &lost),
			 HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 2 * HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
}
END_TEST

/* 0 to 2 are unwritten since the beginning, 3 is written, 4 is unwritten. Only 0 to 2 are skipped
 * together. */
START_TEST(one_timeout_skips_all_older_positions)
{
	write_until(5);
	for (unsigned p = 0; p < 3; p++)
		records[p] = (struct hv_record){0};
	records[4] = (struct hv_record){0};
	hv_ring_read(&ring, 0, &record, &lost);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 3);
	read_expect(3);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
}
END_TEST

/* 2 and 3 were reserved only after the wait for 0 began. */
START_TEST(one_timeout_keeps_later_positions)
{
	set_head(2);
	hv_ring_read(&ring, 0, &record, &lost);
	set_head(4);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 2);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
}
END_TEST

START_TEST(one_timeout_skips_nothing_after_the_head)
{
	set_head(5);
	hv_ring_read(&ring, 0, &record, &lost);
	set_head(3);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 3);
}
END_TEST

START_TEST(a_backward_clock_restarts_the_timeout)
{
	set_head(2);
	hv_ring_read(&ring, 500, &record, &lost);
	ck_assert_int_eq(hv_ring_read(&ring, 100, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 99 + HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 100 + HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
}
END_TEST

START_TEST(a_head_that_runs_backwards_loses_one_record)
{
	write_until(6);
	for (uint64_t p = 0; p < 6; p++)
		read_expect(p);
	set_head(2);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	ck_assert_uint_eq(ring.position, 2);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	set_head(3);
	read_expect(2);
}
END_TEST

static const uint64_t lies[] = {
	0,
	1,
	31,
	32,
	NR_SLOTS * 32 - 1,
	NR_SLOTS * 32,
	NR_SLOTS * 32 + 1,
	NR_SLOTS * 32 + 33,
	2 * NR_SLOTS * 32 + 32,
	1 << 20,
	1ull << 32,
	(1ull << 62),
	(1ull << 63) - 1,
	(1ull << 63),
	(1ull << 63) + 1,
	UINT64_MAX,
	UINT64_MAX - 1,
	UINT64_MAX - NR_SLOTS * 32,
	UINT64_MAX - NR_SLOTS * 32 - 1,
};
#define NR_LIES (int)(sizeof(lies) / sizeof(*lies))

/* Whatever the previous and the present head are, a limited number of calls reads up to the head,
 * and each loss is reported. */
START_TEST(reading_ends_for_any_head)
{
	for (int second = 0; second < NR_LIES; second++) {
		const uint64_t heads[] = {lies[_i], lies[second], lies[_i],
					  hv_ring_head_at(0, NR_SLOTS),
					  hv_ring_head_at(3, NR_SLOTS)};

		hv_ring_init(&ring, state, records, NR_SLOTS);
		for (unsigned i = 0; i < 5; i++) {
			uint64_t now = 0;
			unsigned calls = 0;

			state->head = heads[i];
			while (ring.position != head()) {
				enum hv_ring_result result;

				now += HV_RING_STALL_NS;
				result = hv_ring_read(&ring, now, &record, &lost);
				if (result == HV_RING_LOST)
					ck_assert_uint_gt(lost, 0);
				/* the last position may stay unwritten forever */
				if (result == HV_RING_EMPTY && ring.position + 1 == head())
					break;
				ck_assert_uint_lt(calls++, 2 * NR_SLOTS + 2);
			}
		}
	}
}
END_TEST

START_TEST(the_count_of_losses_does_not_wrap)
{
	ring.lost = UINT64_MAX - 1;
	set_head(1ull << 58);
	hv_ring_read(&ring, 0, &record, &lost);
	ck_assert_uint_eq(ring.lost, UINT64_MAX);
}
END_TEST

START_TEST(a_ring_of_one_slot_works)
{
	hv_ring_init(&ring, state, records, 1);
	for (uint64_t p = 0; p < 20; p++) {
		state->head = hv_ring_head_at(p + 1, 1);
		ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
		for (unsigned i = 0; i < 4; i++)
			records[0].word[i] = (p + i) ^ hv_record_key(p, 1);
		ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
		ck_assert_uint_eq(record.word[3], p + 3);
	}
	state->head = hv_ring_head_at(27, 1);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 6);
}
END_TEST

/* A late writer is recognized by its lap number, except one that is four or eight laps late. */
START_TEST(words_of_other_laps_are_seen)
{
	for (unsigned late = 1; late <= 8; late++)
		for (unsigned i = 0; i < 4; i++) {
			set_head(0);
			hv_ring_init(&ring, state, records, NR_SLOTS);
			write_until(8 * NR_SLOTS + 1);
			ring.position = 8 * NR_SLOTS;
			write_word((8 - late) * NR_SLOTS, i);
			ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost),
					 late % 4 ? HV_RING_EMPTY : HV_RING_RECORD);
		}
}
END_TEST

/* The host writes into a ring itself, for several laps. */
START_TEST(the_host_can_be_the_writer)
{
	for (uint64_t i = 0; i < 5 * NR_SLOTS; i++) {
		struct hv_record put = {{i, ~i, i << 32, i * 3}};

		hv_ring_put(state, records, NR_SLOTS, &put, 1);
		ck_assert_uint_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
		for (unsigned word = 0; word < 4; word++)
			ck_assert_uint_eq(record.word[word], put.word[word] & ~HV_RECORD_ZEROS);
	}
	ck_assert_uint_eq(head(), 5 * NR_SLOTS);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, empty_stays_empty);
	tcase_add_test(tc, records_beyond_the_kept_number_are_lost);
	tcase_add_test(tc, the_host_can_be_the_writer);
	tcase_add_test(tc, records_come_in_order_over_laps);
	tcase_add_test(tc, a_full_lap_is_readable);
	tcase_add_loop_test(tc, a_record_waits_for_each_of_its_words, 0, 4);
	tcase_add_test(tc, a_read_that_returns_no_record_counts_no_loss);
	tcase_add_test(tc, a_record_overwritten_by_the_next_lap_is_lost_and_counted);
	tcase_add_test(tc, the_margin_is_bounded);
	tcase_add_test(tc, a_writer_one_lap_late_is_seen);
	tcase_add_test(tc, a_stalled_position_is_skipped_after_a_timeout);
	tcase_add_test(tc, the_timeout_restarts_for_each_position);
	tcase_add_test(tc, one_timeout_skips_all_older_positions);
	tcase_add_test(tc, one_timeout_keeps_later_positions);
	tcase_add_test(tc, one_timeout_skips_nothing_after_the_head);
	tcase_add_test(tc, a_backward_clock_restarts_the_timeout);
	tcase_add_test(tc, a_head_that_runs_backwards_loses_one_record);
	tcase_add_loop_test(tc, reading_ends_for_any_head, 0, NR_LIES);
	tcase_add_test(tc, the_count_of_losses_does_not_wrap);
	tcase_add_test(tc, a_ring_of_one_slot_works);
	tcase_add_test(tc, words_of_other_laps_are_seen);
}

int main(void)
{
	return run_suite("ring", add_tests);
}
