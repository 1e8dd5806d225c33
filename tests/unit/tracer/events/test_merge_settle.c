/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merge of vCPUs whose heads become visible some time after the times of their records, as from
 * a CPU that delays its stores. */
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "ringbuf/writer.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/merge_rings.h"

#define NR_SLOTS   4096
#define NR_PAIRS   40000
#define LATE_NS	   2500			      /* delay of a head */
#define EXCUSED_NS (HV_MERGE_SETTLE_NS - 500) /* later than this: the host stopped the writer */

static enum verdict { UNKNOWN, IN_TIME, EXCUSED } verdicts[NR_PAIRS];

static void put(unsigned cpu, uint64_t time)
{
	struct hv_record record = {
		{time, 0, 0, (uint64_t)HV_RECORD_FUNCTION << HV_RECORD_KIND_SHIFT}};

	hv_ring_put(&states[cpu], records[cpu], NR_SLOTS, &record, 1);
}

/* Reader and writer each get a CPU if there are enough; otherwise nothing arrives late. */
static void use_cpu(unsigned which)
{
	cpu_set_t all, one;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && which-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one))
		ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Of two records, vCPU 1's is older and arrives later. */
static void *write_pairs(void *unused)
{
	use_cpu(1);
	for (uint64_t i = 0; i < NR_PAIRS; i++) {
		uint64_t began_ns = hv_now_ns();

		put(0, 2 * i + 1);
		while (hv_now_ns() - began_ns < LATE_NS)
			;
		put(1, 2 * i);
		__atomic_store_n(&verdicts[i],
				 hv_now_ns() - began_ns > EXCUSED_NS ? EXCUSED : IN_TIME,
				 __ATOMIC_RELEASE);
		while (hv_now_ns() - began_ns < 2 * LATE_NS)
			;
	}
	return unused;
}

static enum verdict verdict_of(uint64_t pair)
{
	enum verdict verdict;

	do
		verdict = __atomic_load_n(&verdicts[pair], __ATOMIC_ACQUIRE);
	while (verdict == UNKNOWN);
	return verdict;
}

START_TEST(heads_that_arrive_late)
{
	uint64_t nr = 0, last = 0, nr_excused = 0;
	pthread_t writer;

	start(2, NR_SLOTS);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_pairs, NULL), 0);
	use_cpu(0);
	while (nr < 2 * NR_PAIRS) {
		if (!next_item(hv_now_ns(), HV_MERGE_LIVE))
			continue;
		nr += 1 + item.lost_before;
		if (item.time_ns < last) {
			ck_assert_int_eq(verdict_of(item.time_ns / 2), EXCUSED);
			nr_excused++;
		} else {
			last = item.time_ns;
		}
	}
	pthread_join(writer, NULL);
	ck_assert_uint_lt(nr_excused, NR_PAIRS / 2);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, heads_that_arrive_late);
}

int main(void)
{
	return run_suite("merge_settle", add_tests);
}
