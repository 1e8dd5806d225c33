/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring reader races with producers that write like the trampoline: one interlocked add, four
 * stores. The words of a record are computed from its position and writer, so the test detects an
 * accepted record that is torn or stale. At the end every position must have been read or counted
 * as lost. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ringbuf/ring.h"
#include "tests/lib/run_suite.h"

#define NR_PRODUCERS 3
#define RUN_NS	     400000000
#define ENOUGH	     1000	 /* records to read, however long it takes */
#define DRAIN_NS     20000000000 /* it takes far less, but the machine may be busy */

struct variant {
	uint64_t nr_slots;
	bool late; /* producer 0 sometimes stops for one to two laps between two stores */
	bool slow; /* the reader sleeps now and then, so it is overrun */
};

static const struct variant variants[] = {
	{.nr_slots = 4096},
	{.nr_slots = 256, .slow = true},
	{.nr_slots = 256, .late = true},
	{.nr_slots = 4096, .late = true, .slow = true},
};
#define NR_VARIANTS (int)(sizeof(variants) / sizeof(*variants))

static struct variant variant;
static struct hv_state state;
static struct hv_record *records;
static atomic_bool stop;
/* A lower bound of the position that a producer is about to write; UINT64_MAX: it is not
 * writing. */
static _Atomic uint64_t writing[NR_PRODUCERS];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t head(void)
{
	return __atomic_load_n(&state.head, __ATOMIC_ACQUIRE) / sizeof(struct hv_record) -
	       variant.nr_slots;
}

static uint64_t word_of(uint64_t position, uint64_t producer, unsigned i)
{
	uint64_t mixed = (position * 8 + producer + i * 0x1234567) * UINT64_C(0x9e3779b97f4a7c15);

	return (i == 0 ? position : i == 1 ? producer : mixed) & ~HV_RECORD_ZEROS;
}

/* How far the ring may advance past a position that is being written. The lap bits limit it: less
 * than one lap, or less than two for the late producer. */
static uint64_t allowed(unsigned producer)
{
	return variant.late && producer == 0 ? variant.nr_slots * 7 / 4 : variant.nr_slots / 2;
}

static bool too_far(void)
{
	uint64_t at = head();

	for (unsigned i = 0; i < NR_PRODUCERS; i++) {
		uint64_t position = atomic_load(&writing[i]);

		if (position != UINT64_MAX && at > position && at - position > allowed(i))
			return true;
	}
	return false;
}

static void pause_in_the_middle(unsigned producer, uint64_t position)
{
	if (variant.late && producer == 0)
		while (head() - position < variant.nr_slots * 5 / 4 && !atomic_load(&stop))
			sched_yield();
	else
		sched_yield();
}

static void write_one(unsigned producer, unsigned pause_after)
{
	uint64_t position, key;
	struct hv_record *slot;

	atomic_store(&writing[producer], head());
	position =
		__atomic_fetch_add(&state.head, sizeof(*slot), __ATOMIC_SEQ_CST) / sizeof(*slot) -
		variant.nr_slots;
	slot = &records[position % variant.nr_slots];
	key = hv_record_key(position, variant.nr_slots);
	for (unsigned i = 0; i < 4; i++) {
		__atomic_store_n(&slot->word[i], word_of(position, producer, i) ^ key,
				 __ATOMIC_RELEASE);
		if (i + 1 == pause_after)
			pause_in_the_middle(producer, position);
	}
	atomic_store(&writing[producer], UINT64_MAX);
}

static void *produce(void *arg)
{
	unsigned producer = (unsigned)(uintptr_t)arg;
	unsigned random = producer + 1;

	while (!atomic_load(&stop)) {
		random = random * 1664525 + 1013904223;
		while (too_far() && !atomic_load(&stop))
			sched_yield();
		write_one(producer, random >> 24 ? 0 : 1 + (random >> 16) % 3);
	}
	return NULL;
}

struct count {
	uint64_t read;
	uint64_t lost;
	uint64_t wrong;
};

static bool is_of(const struct hv_record *record, uint64_t position, uint64_t producer)
{
	for (unsigned i = 0; i < 4; i++)
		if (record->word[i] != word_of(position, producer, i))
			return false;
	return true;
}

static void check(const struct hv_record *record, uint64_t position, struct count *count)
{
	uint64_t producer = record->word[1];

	if (producer >= NR_PRODUCERS || !is_of(record, position, producer))
		count->wrong++;
}

/* Reads a record, with a clock a thousand times as fast, so that the test can wait for stalled
 * positions. */
static enum hv_ring_result read_one(struct hv_ring *ring, struct count *count)
{
	struct hv_record record;
	uint64_t lost;
	enum hv_ring_result result = hv_ring_read(ring, now() * 1000, &record, &lost);

	if (result == HV_RING_LOST)
		count->lost += lost;
	if (result != HV_RING_RECORD)
		return result;
	count->read++;
	check(&record, ring->position - 1, count);
	return result;
}

static void read_run(struct hv_ring *ring, struct count *count)
{
	struct hv_record run[7];
	uint64_t position = ring->position;
	size_t nr = hv_ring_read_run(ring, 7, run, sizeof(*run));

	for (size_t i = 0; i < nr; i++)
		check(&run[i], position + i, count);
	count->read += nr;
}

static void read_while_running(struct hv_ring *ring, struct count *count)
{
	uint64_t end = now() + RUN_NS;

	for (unsigned n = 0; now() < end || count->read < ENOUGH; n++) {
		if (n / 1024 % 2)
			read_run(ring, count);
		if (read_one(ring, count) == HV_RING_EMPTY)
			sched_yield();
		if (variant.slow && n % 65536 == 65535)
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

START_TEST(nothing_torn_is_accepted_and_all_is_counted)
{
	pthread_t threads[NR_PRODUCERS];
	struct count count = {0};
	struct hv_ring ring;
	uint64_t end;

	variant = variants[_i];
	records = calloc(variant.nr_slots, sizeof(*records));
	state = (struct hv_state){.head = hv_ring_head_at(0, variant.nr_slots)};
	atomic_store(&stop, false);
	hv_ring_init(&ring, &state, records, variant.nr_slots);
	for (unsigned i = 0; i < NR_PRODUCERS; i++)
		atomic_store(&writing[i], UINT64_MAX);
	for (unsigned i = 0; i < NR_PRODUCERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, (void *)(uintptr_t)i),
				 0);
	read_while_running(&ring, &count);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < NR_PRODUCERS; i++)
		pthread_join(threads[i], NULL);

	/* The last record that a late writer tore stays unwritten. One more record lets the reader
	 * skip it. */
	write_one(1, 0);
	end = now() + DRAIN_NS;
	while (ring.position != head() && now() < end)
		read_one(&ring, &count);
	printf("%s%s: %lu read, %lu lost of %lu\n", variant.late ? "late " : "",
	       variant.slow ? "slow" : "", (unsigned long)count.read, (unsigned long)count.lost,
	       (unsigned long)head());
	ck_assert_uint_eq(count.wrong, 0);
	ck_assert_uint_eq(count.read + count.lost, head());
	ck_assert_uint_eq(count.lost, ring.lost);
	free(records);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, nothing_torn_is_accepted_and_all_is_counted, 0, NR_VARIANTS);
}

int main(void)
{
	return run_suite("ring_race", add_tests);
}
