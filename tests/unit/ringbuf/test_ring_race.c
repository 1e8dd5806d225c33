/* The ring reader racing with producers that write as the stub does: one interlocked add, four
 * stores. Each record's words follow from its position and its writer, so that a torn or stale one
 * that is accepted is seen; at the end every position was either read or counted as lost.
 * The one mixture that lap bits cannot tell (docs/ring.md) needs a writer that is late by a lap; it
 * is recognised and counted apart. */
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
#define ENOUGH	     1000	 /* records read, however long that takes */
#define DRAIN_NS     20000000000 /* it takes far less, but the machine may be busy */
#define LAP_BIT	     (UINT64_C(1) << HV_LAP_BIT)

struct variant {
	uint64_t nr_slots;
	bool late; /* producer 0 sometimes stops between two stores for more than a lap, less than
		      two */
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
/* No later than the position that a producer is about to write; UINT64_MAX: not writing */
static _Atomic uint64_t writing[NR_PRODUCERS];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t head(void)
{
	return __atomic_load_n(&state.head, __ATOMIC_ACQUIRE);
}

static uint64_t word_of(uint64_t position, uint64_t producer, unsigned i)
{
	uint64_t mixed = (position * 8 + producer + i * 0x1234567) * UINT64_C(0x9e3779b97f4a7c15);

	return (i == 0 ? position : i == 1 ? producer : mixed) & ~LAP_BIT;
}

/* How far the ring may run past a position that is being written: what lap bits can tell, that is
 * less than a lap, or for the late producer less than two. */
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
	uint64_t position, lap;
	struct hv_record *slot;

	atomic_store(&writing[producer], head());
	position = __atomic_fetch_add(&state.head, 1, __ATOMIC_SEQ_CST);
	slot = &records[position % variant.nr_slots];
	lap = position / variant.nr_slots & 1 ? 0 : LAP_BIT;
	for (unsigned i = 0; i < 4; i++) {
		__atomic_store_n(&slot->word[i], word_of(position, producer, i) | lap,
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
	uint64_t second_lap; /* wrong in the one way that docs/ring.md tells of */
};

static bool is_of(const struct hv_record *record, unsigned first, unsigned end, uint64_t position,
		  uint64_t producer)
{
	for (unsigned i = first; i < end; i++)
		if (record->word[i] != word_of(position, producer, i))
			return false;
	return true;
}

/* A writer that was late by a lap left words of two laps ago, whose lap bits are this lap's, and
 * this position's writer had stored its first words over them. */
static bool is_second_lap(const struct hv_record *record, uint64_t position)
{
	for (unsigned n = 0; variant.late && n < 3 * NR_PRODUCERS * NR_PRODUCERS; n++) {
		unsigned stored = 1 + n % 3;

		if (is_of(record, 0, stored, position, n / 3 % NR_PRODUCERS) &&
		    is_of(record, stored, 4, position - 2 * variant.nr_slots, n / 3 / NR_PRODUCERS))
			return true;
	}
	return false;
}

static void check(const struct hv_record *record, uint64_t position, struct count *count)
{
	uint64_t producer = record->word[1];

	if (producer < NR_PRODUCERS && is_of(record, 0, 4, position, producer))
		return;
	if (is_second_lap(record, position))
		count->second_lap++;
	else
		count->wrong++;
}

/* A thousand times the time, so that waiting for stalled positions fits in the test. */
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

static void read_while_running(struct hv_ring *ring, struct count *count)
{
	uint64_t end = now() + RUN_NS;

	for (unsigned n = 0; now() < end || count->read < ENOUGH; n++) {
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
	memset(&state, 0, sizeof(state));
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

	/* What a late writer tore last stays unwritten: one more record makes the ring move on. */
	write_one(1, 0);
	end = now() + DRAIN_NS;
	while (ring.position != head() && now() < end)
		read_one(&ring, &count);
	printf("%s%s: %lu read (%lu second lap), %lu lost of %lu\n", variant.late ? "late " : "",
	       variant.slow ? "slow" : "", (unsigned long)count.read,
	       (unsigned long)count.second_lap, (unsigned long)count.lost, (unsigned long)head());
	ck_assert_uint_eq(count.wrong, 0);
	ck_assert_uint_eq(count.read + count.lost, head());
	ck_assert_uint_eq(count.lost, ring.lost);
	ck_assert_uint_lt(count.second_lap, count.read / 100);
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
	return run_suite("ring race", add_tests);
}
