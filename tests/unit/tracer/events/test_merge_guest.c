/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merge of a simulated guest. Its records are written with every nesting and interleaving that
 * interrupts and migrations cause, and read while they are being written. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/merge_rings.h"

#define DEPTH_MAX 6

/* A running trampoline: its reservation and its progress. */
struct writer {
	unsigned cpu;
	uint64_t position;
	uint64_t tsc;
	unsigned step; /* 0 reserved, 1 has its time, 2..5 words stored */
};

static struct writer running[NR_CPUS][DEPTH_MAX]; /* interrupts nest */
static unsigned depth[NR_CPUS];
static struct writer preempted[2]; /* tasks; they may continue on another vCPU */
static unsigned nr_preempted;
static uint64_t tsc_now;
static uint64_t random_state;
static bool ends; /* running trampolines finish, and no new ones begin */

static unsigned chance(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static void step_writer(struct writer *w)
{
	if (w->step == 0)
		w->tsc = ++tsc_now;
	else
		store(w->cpu, w->position, w->step - 1,
		      w->step == 1   ? w->tsc
		      : w->step == 4 ? (uint64_t)HV_RECORD_FUNCTION << HV_RECORD_KIND_SHIFT
				     : 0);
	w->step++;
}

static void step_guest(unsigned cpu)
{
	struct writer *top = depth[cpu] ? &running[cpu][depth[cpu] - 1] : NULL;

	if (!ends && (!top || (depth[cpu] < DEPTH_MAX && chance(12) == 0))) {
		running[cpu][depth[cpu]++] = (struct writer){cpu, reserve(cpu), 0, 0};
	} else if (!top && nr_preempted) {
		running[cpu][depth[cpu]++] = preempted[--nr_preempted];
	} else if (top && !ends && depth[cpu] == 1 && nr_preempted < 2 && chance(40) == 0) {
		preempted[nr_preempted++] = *top;
		depth[cpu]--;
	} else if (top) {
		step_writer(top);
		if (top->step == 5)
			depth[cpu]--;
	}
	if (nr_preempted && !depth[cpu] && chance(20) == 0)
		running[cpu][depth[cpu]++] = preempted[--nr_preempted];
}

static uint64_t nr_heads(void)
{
	return head(0) + head(1) + head(2);
}

static bool all_written(void)
{
	return !nr_preempted && !depth[0] && !depth[1] && !depth[2];
}

/* The guest continues between any two records that the merge reads. */
static void stepping_clock(void *ctx, unsigned cpu, uint64_t *times, size_t nr)
{
	(void)ctx;
	(void)cpu;
	(void)times;
	for (; nr > 0; nr--)
		for (unsigned i = chance(8); i > 0; i--)
			step_guest(chance(NR_CPUS));
}

/* _i: seed */
START_TEST(a_guest_read_while_it_writes_is_in_order)
{
	uint64_t last = 0, nr = 0, early;

	random_state = (uint64_t)_i;
	start(NR_CPUS, 1 << 13);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, NR_CPUS, NULL,
			     (struct hv_merge_clock){stepping_clock, NULL});
	for (unsigned n = 0; n < 60000; n++) {
		step_guest(chance(NR_CPUS));
		if (chance(50))
			continue;
		for (unsigned i = chance(30); i > 0; i--) {
			if (!next_item(0, HV_MERGE_LIVE))
				break;
			ck_assert_uint_gt(item.time_ns, last);
			last = item.time_ns;
			nr++;
		}
	}
	early = nr;
	ends = true;
	while (!all_written())
		step_guest(chance(NR_CPUS));
	while (next_item(0, HV_MERGE_LIVE)) {
		ck_assert_uint_gt(item.time_ns, last);
		last = item.time_ns;
		nr++;
	}
	ck_assert_uint_eq(nr, nr_heads());
	ck_assert_uint_gt(early, nr / 2);
	ck_assert_uint_eq(hv_merge_lost(merge), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, a_guest_read_while_it_writes_is_in_order, 0, 5);
}

int main(void)
{
	return run_suite_in(CK_FORK, "merge_guest", add_tests);
}
