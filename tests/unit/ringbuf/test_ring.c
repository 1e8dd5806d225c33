/* The ring reader against a guest that writes by the rules, late, or lies. */
#include <check.h>
#include <stdlib.h>

#include "ringbuf/ring.h"
#include "ringbuf/writer.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS 8
#define LAP_BIT	 (UINT64_C(1) << HV_LAP_BIT)

static struct hv_state *state;
static struct hv_record *records; /* exactly NR_SLOTS: the sanitizer sees every step outside */
static struct hv_ring ring;
static struct hv_record record;
static uint64_t lost;

static void setup(void)
{
	state = calloc(1, sizeof(*state));
	records = calloc(NR_SLOTS, sizeof(*records));
	hv_ring_init(&ring, state, records, NR_SLOTS);
	lost = 0;
}

static void teardown(void)
{
	free(state);
	free(records);
}

static uint64_t lap_of(uint64_t position)
{
	return position / NR_SLOTS & 1 ? 0 : LAP_BIT;
}

static void write_word(uint64_t position, unsigned i)
{
	records[position % NR_SLOTS].word[i] = (position * 4 + i) | lap_of(position);
}

static void write_record(uint64_t position)
{
	for (unsigned i = 0; i < 4; i++)
		write_word(position, i);
}

static void write_until(uint64_t head)
{
	while (state->head < head)
		write_record(state->head++);
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
		state->head = p + 1;
		for (unsigned w = 0; w < 4; w++)
			if (w != (unsigned)_i)
				write_word(p, w);
		ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
		write_word(p, (unsigned)_i);
		read_expect(p);
	}
}
END_TEST

START_TEST(results_are_untouched_when_there_is_none)
{
	struct hv_record before = {{1, 2, 3, 4}};

	record = before;
	lost = 77;
	hv_ring_read(&ring, 0, &record, &lost);
	state->head = 1;
	hv_ring_read(&ring, 0, &record, &lost);
	ck_assert_mem_eq(&record, &before, sizeof(record));
	ck_assert_uint_eq(lost, 77);
}
END_TEST

START_TEST(a_lap_behind_is_lost_and_counted)
{
	write_until(NR_SLOTS + 1);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1 + NR_SLOTS / 8);
	ck_assert_uint_eq(ring.lost, lost);
	for (uint64_t p = lost; p < state->head; p++)
		read_expect(p);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
}
END_TEST

START_TEST(what_does_not_count_is_lost)
{
	ring.nr_kept = 5;
	write_until(5);
	for (unsigned i = 0; i < 5; i++)
		read_expect(i);
	write_until(10);
	read_expect(5);
	write_until(11);
	read_expect(6);
	/* Six behind the head: it is still in its slot, and too old. */
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
	state->head = 1 << 20;
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, (1 << 20) - (1 << 16) + 1024);
	free(many);
}
END_TEST

/* The writer of position 2 was held up for a lap and then wrote its last two words. */
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

START_TEST(a_stalled_position_is_passed_when_its_time_is_up)
{
	state->head = 1;
	ck_assert_int_eq(hv_ring_read(&ring, 1000, &record, &lost), HV_RING_EMPTY);
	/* nothing after it: nothing to win by passing it */
	ck_assert_int_eq(hv_ring_read(&ring, 1000 + 2 * HV_RING_STALL_NS, &record, &lost),
			 HV_RING_EMPTY);
	state->head = 2;
	write_record(1);
	ck_assert_int_eq(hv_ring_read(&ring, 999 + HV_RING_STALL_NS, &record, &lost),
			 HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 1000 + HV_RING_STALL_NS, &record, &lost),
			 HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	read_expect(1);
}
END_TEST

START_TEST(the_wait_begins_anew_for_the_next_position)
{
	state->head = 2;
	hv_ring_read(&ring, 0, &record, &lost);
	write_record(0);
	read_expect(0);
	state->head = 3;
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 2 * HV_RING_STALL_NS - 1, &record, &lost),
			 HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 2 * HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
}
END_TEST

/* 0 to 2 are unwritten since the beginning, 3 is written, 4 unwritten: only 0 to 2 go at once. */
START_TEST(one_wait_passes_all_that_waited_as_long)
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

/* 1 and 2 were reserved only after the wait for 0 began. */
START_TEST(one_wait_does_not_pass_what_came_later)
{
	state->head = 1;
	hv_ring_read(&ring, 0, &record, &lost);
	state->head = 3;
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
}
END_TEST

START_TEST(one_wait_passes_nothing_beyond_the_head)
{
	state->head = 5;
	hv_ring_read(&ring, 0, &record, &lost);
	state->head = 3;
	ck_assert_int_eq(hv_ring_read(&ring, HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 3);
}
END_TEST

START_TEST(a_clock_that_runs_backwards_waits_anew)
{
	state->head = 2;
	hv_ring_read(&ring, 500, &record, &lost);
	ck_assert_int_eq(hv_ring_read(&ring, 100, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 99 + HV_RING_STALL_NS, &record, &lost), HV_RING_EMPTY);
	ck_assert_int_eq(hv_ring_read(&ring, 100 + HV_RING_STALL_NS, &record, &lost), HV_RING_LOST);
}
END_TEST

START_TEST(a_head_that_runs_backwards_costs_one)
{
	write_until(6);
	for (uint64_t p = 0; p < 6; p++)
		read_expect(p);
	state->head = 2;
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 1);
	ck_assert_uint_eq(ring.position, 2);
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	state->head = 3;
	read_expect(2);
}
END_TEST

static const uint64_t lies[] = {
	0,
	1,
	NR_SLOTS,
	NR_SLOTS + 1,
	1 << 20,
	1ull << 32,
	(1ull << 62),
	(1ull << 63) - 1,
	(1ull << 63),
	(1ull << 63) + 1,
	UINT64_MAX,
	UINT64_MAX - 1,
	UINT64_MAX - NR_SLOTS,
	UINT64_MAX - NR_SLOTS - 1,
};
#define NR_LIES (int)(sizeof(lies) / sizeof(*lies))

/* Whatever the head says and said before, a few laps of calls at one head come to an end, each loss
 * is told. */
START_TEST(lying_heads_end)
{
	for (int second = 0; second < NR_LIES; second++) {
		const uint64_t heads[] = {lies[_i], lies[second], lies[_i], 0, 3};

		hv_ring_init(&ring, state, records, NR_SLOTS);
		for (unsigned i = 0; i < 5; i++) {
			uint64_t now = 0;
			unsigned calls = 0;

			state->head = heads[i];
			while (ring.position != heads[i]) {
				enum hv_ring_result result;

				now += HV_RING_STALL_NS;
				result = hv_ring_read(&ring, now, &record, &lost);
				if (result == HV_RING_LOST)
					ck_assert_uint_gt(lost, 0);
				/* the last position may stay unwritten for ever */
				if (result == HV_RING_EMPTY && ring.position + 1 == heads[i])
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
	state->head = 1ull << 62;
	hv_ring_read(&ring, 0, &record, &lost);
	ck_assert_uint_eq(ring.lost, UINT64_MAX);
}
END_TEST

START_TEST(a_ring_of_one_slot_works)
{
	hv_ring_init(&ring, state, records, 1);
	records[0] = (struct hv_record){{LAP_BIT | 1, LAP_BIT | 2, LAP_BIT, LAP_BIT}};
	state->head = 1;
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
	state->head = 2;
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_EMPTY);
	records[0] = (struct hv_record){{1, 2, 3, 4}};
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
	state->head = 9;
	ck_assert_int_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_LOST);
	ck_assert_uint_eq(lost, 6);
}
END_TEST

/* The host is one more writer: lap after lap. */
START_TEST(the_host_writes_too)
{
	for (uint64_t i = 0; i < 5 * NR_SLOTS; i++) {
		struct hv_record put = {{i, ~i, i << 32, i * 3}};

		hv_ring_put(state, records, NR_SLOTS, &put);
		ck_assert_uint_eq(hv_ring_read(&ring, 0, &record, &lost), HV_RING_RECORD);
		for (unsigned word = 0; word < 4; word++)
			ck_assert_uint_eq(record.word[word] & ~LAP_BIT, put.word[word] & ~LAP_BIT);
	}
	ck_assert_uint_eq(state->head, 5 * NR_SLOTS);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, empty_stays_empty);
	tcase_add_test(tc, what_does_not_count_is_lost);
	tcase_add_test(tc, the_host_writes_too);
	tcase_add_test(tc, records_come_in_order_over_laps);
	tcase_add_test(tc, a_full_lap_is_readable);
	tcase_add_loop_test(tc, a_record_waits_for_each_of_its_words, 0, 4);
	tcase_add_test(tc, results_are_untouched_when_there_is_none);
	tcase_add_test(tc, a_lap_behind_is_lost_and_counted);
	tcase_add_test(tc, the_margin_is_bounded);
	tcase_add_test(tc, a_writer_one_lap_late_is_seen);
	tcase_add_test(tc, a_stalled_position_is_passed_when_its_time_is_up);
	tcase_add_test(tc, the_wait_begins_anew_for_the_next_position);
	tcase_add_test(tc, one_wait_passes_all_that_waited_as_long);
	tcase_add_test(tc, one_wait_does_not_pass_what_came_later);
	tcase_add_test(tc, one_wait_passes_nothing_beyond_the_head);
	tcase_add_test(tc, a_clock_that_runs_backwards_waits_anew);
	tcase_add_test(tc, a_head_that_runs_backwards_costs_one);
	tcase_add_loop_test(tc, lying_heads_end, 0, NR_LIES);
	tcase_add_test(tc, the_count_of_losses_does_not_wrap);
	tcase_add_test(tc, a_ring_of_one_slot_works);
}

int main(void)
{
	return run_suite("ring", add_tests);
}
