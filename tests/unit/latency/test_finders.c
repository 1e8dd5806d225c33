/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stalls that each analyser must find in a list of events, and those it must not find. */
#include <check.h>

#include "latency/finders.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/latency/planted.h"

static struct hv_stalls stalls;
static struct hv_finders finders;

static void begin(void)
{
	stalls = (struct hv_stalls){0};
	hv_finders_init(&finders, 2, 10 * MS, &stalls);
}

static void end(void)
{
	hv_finders_deinit(&finders);
	hv_stalls_deinit(&stalls);
}

static void see(const struct hv_moment *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hv_finders_see(&finders, &list[i]);
}
#define SEE(...)                                                                                   \
	do {                                                                                       \
		const struct hv_moment list[] = {__VA_ARGS__};                                     \
		see(list, HV_ARRAY_LEN(list));                                                     \
	} while (0)

/* Asserts that there is one stall: of KIND, from FROM to TO, of PID. */
static const struct hv_stall *only(enum hv_stall_kind kind, uint64_t from, uint64_t to,
				   uint32_t pid)
{
	ck_assert_uint_eq(stalls.nr, 1);
	ck_assert_int_eq(stalls.list[0].kind, kind);
	ck_assert_uint_eq(stalls.list[0].from_ns, from * MS);
	ck_assert_uint_eq(stalls.list[0].to_ns, to * MS);
	ck_assert_uint_eq(stalls.list[0].task.pid, pid);
	return &stalls.list[0];
}

START_TEST(a_task_waits_while_another_runs)
{
	const struct hv_stall *s;

	SEE(sw(0, 1, 0, 0, 99), wake(0, 5, 99, 7), sw(0, 30, 99, 1, 7));
	s = only(HV_STALL_RUNQUEUE, 5, 30, 7);
	ck_assert_uint_eq(s->by.pid, 99);
	ck_assert_int_eq(s->by_prio, 49);
	ck_assert_uint_eq(s->by_ns, 25 * MS);
}
END_TEST

START_TEST(the_task_that_ran_longest_is_named)
{
	SEE(sw(0, 1, 0, 0, 5), wake(0, 2, 5, 7), sw(0, 4, 5, 1, 6), sw(0, 20, 6, 1, 5),
	    sw(0, 22, 5, 1, 7));
	ck_assert_uint_eq(only(HV_STALL_RUNQUEUE, 2, 22, 7)->by.pid, 6);
	ck_assert_uint_eq(stalls.list[0].by_ns, 16 * MS);
}
END_TEST

/* The wakeup is the vCPU's first event, and its task has run since before the measurement. */
START_TEST(a_task_that_has_not_switched_yet_is_named)
{
	const struct hv_stall *s;

	SEE(sw(0, 1, 0, 0, 5), wake(1, 5, 99, 7), sw(1, 30, 99, 1, 7));
	s = only(HV_STALL_RUNQUEUE, 5, 30, 7);
	ck_assert_uint_eq(s->by.pid, 99);
	ck_assert_uint_eq(s->by_ns, 25 * MS);
}
END_TEST

/* The group 0x1000 may run 10 ms in each 100 ms. */
static void set_group(void)
{
	hv_limits_set_group(finders.limits, &(struct hv_limit_group){.key = 0x1000,
								     .path = "/web",
								     .quota_ns = 10 * MS,
								     .period_ns = 100 * MS});
}

START_TEST(a_group_has_used_up_its_time)
{
	set_group();
	SEE(sw(0, 1, 0, 0, 7), throttle(0, 10, 7, 0x1000), sw(0, 10, 7, 0, 0),
	    unthrottle(0, 100, 0x1000), sw(0, 101, 0, 0, 7));
	ck_assert_uint_eq(stalls.nr, 2);
	ck_assert_int_eq(stalls.list[0].kind, HV_STALL_LIMIT);
	ck_assert_uint_eq(stalls.list[0].from_ns, 10 * MS);
	ck_assert_uint_eq(stalls.list[0].to_ns, 100 * MS);
	ck_assert_uint_eq(stalls.list[0].number, 0x1000);
	ck_assert_uint_eq(stalls.list[0].cpu, 0);
	ck_assert_uint_eq(stalls.list[0].task.pid, 7);
	ck_assert_int_eq(stalls.list[1].kind, HV_STALL_RUNQUEUE);
	ck_assert_uint_eq(stalls.list[1].number, 0x1000);
}
END_TEST

/* Two groups, one of them on both vCPUs. */
START_TEST(several_groups_have_used_up_their_time)
{
	SEE(sw(0, 1, 0, 0, 7), throttle(0, 10, 7, 0x1000), throttle(1, 20, 8, 0x1000),
	    throttle(0, 30, 9, 0x2000), unthrottle(0, 60, 0x1000), unthrottle(1, 70, 0x1000),
	    unthrottle(0, 80, 0x2000));
	ck_assert_uint_eq(stalls.nr, 3);
	ck_assert_uint_eq(stalls.list[0].length_ns, 50 * MS);
	ck_assert_uint_eq(stalls.list[1].length_ns, 50 * MS);
	ck_assert_uint_eq(stalls.list[1].cpu, 1);
	ck_assert_uint_eq(stalls.list[2].length_ns, 50 * MS);
	ck_assert_uint_eq(stalls.list[2].number, 0x2000);
}
END_TEST

/* The kernel finds runtime for the group after all, so the first throttling has no effect. */
START_TEST(a_group_that_was_not_stopped)
{
	set_group();
	SEE(sw(0, 1, 0, 0, 7), throttle(0, 10, 7, 0x1000), throttle(0, 80, 7, 0x1000),
	    unthrottle(0, 100, 0x1000), throttle(0, 110, 7, 0x1000));
	ck_assert_uint_eq(only(HV_STALL_LIMIT, 80, 100, 7)->number, 0x1000);
	hv_finders_end(&finders, 400 * MS);
	ck_assert_uint_eq(stalls.nr, 1);
}
END_TEST

START_TEST(a_group_is_stopped_until_the_end)
{
	set_group();
	SEE(sw(0, 1, 0, 0, 8), throttle(0, 10, 0, 0x1000));
	hv_finders_end(&finders, 90 * MS);
	only(HV_STALL_LIMIT, 10, 90, 0);
}
END_TEST

/* The group was throttled before the recording began. */
START_TEST(a_group_is_stopped_since_the_beginning)
{
	SEE(sw(0, 1, 8, 0, 0), unthrottle(0, 70, 0x1000));
	ck_assert_uint_eq(only(HV_STALL_LIMIT, 1, 70, 0)->number, 0x1000);
}
END_TEST

START_TEST(limits_after_events_were_lost)
{
	SEE(sw(0, 1, 0, 0, 7), throttle(0, 10, 7, 0x1000));
	hv_finders_lose(&finders, 1);
	SEE(sw(1, 80, 0, 0, 8), unthrottle(0, 100, 0x1000));
	only(HV_STALL_LIMIT, 80, 100, 0);
}
END_TEST

START_TEST(the_tables_of_limits_are_bounded)
{
	SEE(sw(0, 1, 0, 0, 7));
	for (uint64_t i = 0; i < 2 * HV_LIMIT_THROTTLED_MAX; i++) {
		hv_limits_set_group(finders.limits, &(struct hv_limit_group){.key = i});
		SEE(throttle(0, 10, 7, i));
	}
	ck_assert_uint_eq(finders.limits->nr_groups, HV_LIMIT_GROUPS_MAX);
	ck_assert_uint_eq(finders.limits->nr_throttled, HV_LIMIT_THROTTLED_MAX);
	ck_assert_ptr_null(hv_limits_group(finders.limits, HV_LIMIT_GROUPS_MAX));
}
END_TEST

/* Only a limit makes the scheduler run a lower class before a real-time task. */
START_TEST(a_realtime_task_has_used_up_its_time)
{
	const struct hv_stall *s;

	SEE(sw(0, 1, 0, 0, 99), sw(0, 950, 99, 0, 7), sw(0, 1000, 7, 0, 99));
	s = only(HV_STALL_LIMIT, 950, 1000, 99);
	ck_assert_uint_eq(s->flags, HV_LIMIT_REALTIME);
	ck_assert_uint_eq(s->by.pid, 7);
}
END_TEST

START_TEST(a_deadline_task_has_used_up_its_time)
{
	struct hv_moment m = sw(0, 10, 6, 0, 0);

	m.prio = -1;
	SEE(sw(0, 1, 0, 0, 6), m, sw(0, 100, 0, 0, 6));
	ck_assert_uint_eq(only(HV_STALL_LIMIT, 10, 100, 6)->flags, HV_LIMIT_DEADLINE);
}
END_TEST

/* The task sleeps, and the running task has preemption off. */
START_TEST(a_realtime_task_that_is_woken_is_not_limited)
{
	SEE(sw(0, 1, 0, 0, 99), sw(0, 5, 99, 1, 7), wake(0, 10, 7, 99), sw(0, 30, 7, 0, 99));
	only(HV_STALL_RUNQUEUE, 10, 30, 99);
}
END_TEST

/* Two tasks alternate on CPU, a millisecond each, until all earlier slices are forgotten. */
static void go_on(unsigned cpu, uint64_t from_ms)
{
	for (uint64_t i = 0; i <= 2 * HV_SLICES_MAX; i += 2)
		SEE(sw(cpu, from_ms + i, 50, 0, 51), sw(cpu, from_ms + i + 1, 51, 0, 50));
}

/* The tasks before a stall are copied with it because the verdict is read late. */
START_TEST(tasks_before_a_stall_are_copied)
{
	const struct hv_stall *s;

	SEE(sw(0, 1, 0, 0, 5), sw(0, 3, 5, 1, 8), wake(0, 7, 8, 7), sw(0, 30, 8, 1, 7),
	    sw(0, 31, 7, 1, 50));
	go_on(0, 40);
	s = only(HV_STALL_RUNQUEUE, 7, 30, 7);
	ck_assert_uint_eq(s->nr_before, 2);
	ck_assert_uint_eq(s->before[0].task.pid, 8); /* until the start of the stall, not its end */
	ck_assert_uint_eq(s->before[0].ns, 4 * MS);
	ck_assert_uint_eq(s->before[1].task.pid, 5);
	ck_assert_uint_eq(s->before[1].ns, 2 * MS);
}
END_TEST

/* If more tasks ran in the stall than are remembered, none is reported. */
START_TEST(too_many_tasks_before_a_stall_are_dropped)
{
	SEE(sw(0, 1, 0, 0, 5), sw(0, 3, 5, 2, 50));
	go_on(0, 4);
	SEE(wake(1, 2000, 9, 5));
	ck_assert_uint_eq(only(HV_STALL_SLEEP, 3, 2000, 5)->nr_before, 0);
}
END_TEST

START_TEST(a_preempted_task_waits)
{
	SEE(sw(0, 1, 0, 0, 7), sw(0, 5, 7, HV_LEFT_PREEMPTED, 8), sw(0, 25, 8, 1, 7));
	ck_assert_uint_eq(only(HV_STALL_RUNQUEUE, 5, 25, 7)->by.pid, 8);
}
END_TEST

START_TEST(an_unfinished_wait_counts)
{
	SEE(sw(0, 1, 0, 0, 7), sw(0, 5, 7, HV_LEFT_RUNNABLE, 8));
	ck_assert_uint_eq(stalls.nr, 0);
	hv_finders_end(&finders, 50 * MS);
	only(HV_STALL_RUNQUEUE, 5, 50, 7);
}
END_TEST

START_TEST(intended_sleeps_are_no_stalls)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL, 0, 2, 7, 35), sw(0, 3, 7, 1, 0),
	    wake(0, 900, 0, 7), sw(0, 901, 0, 0, 7),
	    numbered(HV_MOMENT_SYSCALL_END, 0, 902, 7, 35));
	hv_finders_end(&finders, 903 * MS);
	ck_assert_uint_eq(stalls.nr, 0);
}
END_TEST

START_TEST(an_unknown_task_that_runs_does_not_wait)
{
	SEE(sw(1, 1, 0, 0, 8), wake(0, 2, 0, 7), sw(0, 500, 7, 1, 0));
	ck_assert_uint_eq(stalls.nr, 0);
}
END_TEST

START_TEST(a_sleep_that_no_signal_ends)
{
	SEE(sw(0, 1, 0, 0, 7), sw(0, 3, 7, HV_LEFT_UNINTERRUPTIBLE, 0), wake(1, 90, 3, 7),
	    sw(0, 91, 0, 0, 7));
	only(HV_STALL_SLEEP, 3, 90, 7);
}
END_TEST

/* 4 ms and 17 ms on the vCPU, with 900 ms of sleep between them. */
START_TEST(a_system_call_counts_on_the_cpu_only)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL, 0, 2, 7, 1), sw(0, 6, 7, 1, 0),
	    wake(0, 906, 0, 7), sw(0, 906, 0, 0, 7), numbered(HV_MOMENT_SYSCALL_END, 0, 923, 7, 1));
	ck_assert_uint_eq(only(HV_STALL_SYSCALL, 2, 923, 7)->length_ns, 21 * MS);
	ck_assert_uint_eq(stalls.list[0].nr_pieces, 2);
	ck_assert_uint_eq(stalls.list[0].pieces[0].to_ns, 6 * MS);
	ck_assert_uint_eq(stalls.list[0].pieces[1].from_ns, 906 * MS);
	ck_assert_uint_eq(stalls.list[0].number, 1);
}
END_TEST

START_TEST(handlers)
{
	SEE(numbered(HV_MOMENT_SOFTIRQ, 0, 1, 7, 3), numbered(HV_MOMENT_IRQ, 0, 2, 7, 11),
	    numbered(HV_MOMENT_IRQ_END, 0, 4, 7, 11), numbered(HV_MOMENT_SOFTIRQ_END, 0, 21, 7, 3));
	ck_assert_uint_eq(only(HV_STALL_SOFTIRQ, 1, 21, 7)->number, 3);
	hv_stalls_clear(&stalls);
	SEE(numbered(HV_MOMENT_IRQ, 1, 30, 7, 11), numbered(HV_MOMENT_IRQ_END, 1, 55, 7, 11));
	ck_assert_uint_eq(only(HV_STALL_IRQ, 30, 55, 7)->number, 11);
}
END_TEST

START_TEST(requests)
{
	SEE(numbered(HV_MOMENT_IO_QUEUED, 0, 1, 7, 800),
	    numbered(HV_MOMENT_IO_ISSUED, 0, 15, 3, 800),
	    numbered(HV_MOMENT_IO_ISSUED, 0, 16, 8, 900),
	    numbered(HV_MOMENT_IO_DONE, 0, 18, 0, 800));
	only(HV_STALL_IO_QUEUE, 1, 15, 7);
	hv_stalls_clear(&stalls);
	SEE(numbered(HV_MOMENT_IO_DONE, 1, 266, 0, 900));
	ck_assert_uint_eq(only(HV_STALL_IO_DEVICE, 16, 266, 8)->device, 0x800010);
}
END_TEST

/* The kernel issues a flush at sector 0 and completes it at sector -1. */
START_TEST(a_flush_is_completed)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_IO_ISSUED, 0, 2, 7, 0),
	    numbered(HV_MOMENT_IO_DONE, 0, 5, 7, UINT64_MAX));
	hv_finders_end(&finders, 500 * MS);
	ck_assert_uint_eq(stalls.nr, 0);
}
END_TEST

START_TEST(waits_in_the_kernel)
{
	struct hv_moment spins;

	SEE(numbered(HV_MOMENT_LOCK, 0, 1, 7, 0xabc), numbered(HV_MOMENT_LOCK, 0, 6, 7, 0xabc),
	    numbered(HV_MOMENT_LOCK_END, 0, 21, 7, 0xabc));
	ck_assert_uint_eq(only(HV_STALL_LOCK, 1, 21, 7)->number, 0xabc);
	hv_stalls_clear(&stalls);
	/* A mutex: the task spins first, then sleeps. */
	spins = numbered(HV_MOMENT_LOCK, 0, 22, 7, 0xabc);
	spins.state = HV_LOCK_SPINS;
	SEE(spins, numbered(HV_MOMENT_LOCK, 0, 24, 7, 0xabc),
	    numbered(HV_MOMENT_LOCK_END, 0, 42, 7, 0xabc));
	ck_assert_uint_eq(only(HV_STALL_LOCK, 22, 42, 7)->flags & HV_LOCK_SPINS, 0);
	hv_stalls_clear(&stalls);
	SEE(at(HV_MOMENT_RECLAIM, 0, 30, 7), at(HV_MOMENT_RECLAIM_END, 1, 60, 7));
	hv_finders_end(&finders, 65 * MS);
	ck_assert_uint_eq(only(HV_STALL_RECLAIM, 30, 60, 7)->number, 0);
	hv_stalls_clear(&stalls);
	SEE(at(HV_MOMENT_COMPACT, 0, 70, 7), at(HV_MOMENT_COMPACT_END, 1, 90, 7));
	ck_assert_uint_eq(stalls.nr, 0); /* more may follow */
	hv_finders_end(&finders, 95 * MS);
	ck_assert_uint_eq(only(HV_STALL_RECLAIM, 70, 90, 7)->number, 1);
}
END_TEST

/* Task 7 searches for memory at each of the times, for 2 ms. */
static void search(const uint64_t *at_ms, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		SEE(at(HV_MOMENT_RECLAIM, 0, at_ms[i], 7),
		    at(HV_MOMENT_RECLAIM_END, 0, at_ms[i] + 2, 7));
}

START_TEST(frequent_reclaims_are_one_stall)
{
	const uint64_t often[] = {1, 5, 9, 19, 29, 39, 49}, seldom[] = {100, 120, 140, 160, 180};
	const struct hv_stall *s;

	search(often, HV_ARRAY_LEN(often));
	ck_assert_uint_eq(stalls.nr, 0);
	search(seldom, HV_ARRAY_LEN(seldom));
	hv_finders_end(&finders, 500 * MS);
	s = only(HV_STALL_RECLAIM, 1, 51, 7);
	ck_assert_uint_eq(s->length_ns, 14 * MS);
	ck_assert_uint_eq(s->longest_ns, 2 * MS);
	ck_assert_uint_eq(s->nr, 7);
}
END_TEST

START_TEST(reclaims_that_do_not_end)
{
	for (uint64_t ms = 1; ms < 6000; ms += 5) {
		search(&ms, 1);
		ck_assert_int_eq(hv_finders_have_long_series(&finders, (ms + 2) * MS),
				 ms + 2 >= 5001);
	}
	ck_assert_uint_eq(stalls.nr, 0);
	SEE(at(HV_MOMENT_RECLAIM, 0, 20000, 7));
	ck_assert(!hv_finders_have_long_series(&finders, 20000 * MS));
	ck_assert_uint_eq(only(HV_STALL_RECLAIM, 1, 5998, 7)->length_ns, 2400 * MS);
}
END_TEST

/* A task that exits or starts something else will not search for memory again soon. */
START_TEST(searches_end_with_their_task)
{
	const uint64_t times[] = {1, 4, 7, 10, 13, 16};

	SEE(sw(0, 0, 0, 0, 7));
	search(times, HV_ARRAY_LEN(times));
	SEE(sw(0, 19, 7, 1, 9));
	ck_assert_uint_eq(stalls.nr, 0);
	SEE(sw(0, 20, 9, 1, 7), sw(0, 90, 7, 1, 9));
	only(HV_STALL_RECLAIM, 1, 18, 7);
	hv_stalls_clear(&stalls);
	SEE(sw(0, 100, 9, 1, 7));
	for (uint64_t ms = 100; ms < 120; ms += 3)
		search(&ms, 1);
	SEE(sw(0, 121, 7, 0x10, 9));
	only(HV_STALL_RECLAIM, 100, 120, 7);
}
END_TEST

/* Time that a system call spends searching for memory is not part of the call's stall. */
START_TEST(a_system_call_without_its_searches)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL, 0, 5, 7, 9));
	SEE(at(HV_MOMENT_RECLAIM, 0, 10, 7), at(HV_MOMENT_RECLAIM_END, 0, 30, 7),
	    numbered(HV_MOMENT_SYSCALL_END, 0, 37, 7, 9));
	ck_assert_uint_eq(only(HV_STALL_SYSCALL, 5, 37, 7)->length_ns, 12 * MS);
}
END_TEST

/* PID sleeps 4 of every 5 ms from FROM on, NR times, and no signal wakes it. */
static void sleep_at(uint32_t pid, uint64_t from, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		SEE(sw(0, from + 5 * i, pid, HV_LEFT_UNINTERRUPTIBLE, 0),
		    wake(0, from + 5 * i + 4, 0, pid), sw(0, from + 5 * i + 4, 0, 0, pid));
}

START_TEST(page_faults_of_a_program)
{
	const struct hv_stall *s;

	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL_END, 0, 2, 7, 1));
	sleep_at(7, 3, 5);
	SEE(sw(0, 28, 7, 0x10, 0));
	s = only(HV_STALL_FAULTS, 3, 27, 7);
	ck_assert_uint_eq(s->length_ns, 20 * MS);
	ck_assert_uint_eq(s->longest_ns, 4 * MS);
	ck_assert_uint_eq(s->nr, 5);
	ck_assert_uint_eq(s->flags, 0);
}
END_TEST

START_TEST(page_faults_under_pressure)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL_END, 0, 2, 7, 1));
	sleep_at(7, 3, 2);
	SEE(at(HV_MOMENT_RECLAIM, 1, 12, 9), at(HV_MOMENT_RECLAIM_END, 1, 13, 9));
	sleep_at(7, 13, 3);
	SEE(sw(0, 28, 7, 0x10, 0));
	ck_assert_uint_eq(only(HV_STALL_FAULTS, 3, 27, 7)->flags, HV_SERIES_PRESSED);
}
END_TEST

/* In a system call, while searching for memory, in the kernel, and with unknown state. */
START_TEST(sleeps_that_are_no_page_faults)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL_END, 0, 1, 7, 1),
	    numbered(HV_MOMENT_SYSCALL, 0, 2, 7, 1));
	sleep_at(7, 3, 5);
	SEE(numbered(HV_MOMENT_SYSCALL_END, 0, 29, 7, 1), at(HV_MOMENT_RECLAIM, 0, 30, 7));
	sleep_at(7, 31, 1);
	SEE(at(HV_MOMENT_RECLAIM_END, 0, 36, 7), sw(0, 37, 7, 0x10, 8));
	sleep_at(8, 40, 5);
	hv_finders_miss_syscalls(&finders);
	SEE(sw(0, 100, 8, 1, 9), numbered(HV_MOMENT_SYSCALL_END, 0, 101, 9, 1));
	sleep_at(9, 102, 5);
	hv_finders_end(&finders, 200 * MS);
	ck_assert_uint_eq(stalls.nr, 0);
}
END_TEST

START_TEST(a_worker_of_the_kernel_looks_for_memory)
{
	struct hv_moment begin_moment = at(HV_MOMENT_RECLAIM, 0, 1, 7);

	strcpy(begin_moment.comm, "kworker/0:1");
	SEE(begin_moment, at(HV_MOMENT_RECLAIM_END, 0, 21, 7));
	hv_finders_end(&finders, 200 * MS);
	ck_assert(only(HV_STALL_RECLAIM, 1, 21, 7)->flags & HV_SERIES_WORKERS);
}
END_TEST

START_TEST(losses_reset_open_stalls)
{
	SEE(sw(0, 1, 0, 0, 99), wake(0, 5, 99, 7), numbered(HV_MOMENT_SOFTIRQ, 0, 6, 99, 3));
	hv_finders_lose(&finders, 0);
	SEE(numbered(HV_MOMENT_SOFTIRQ_END, 0, 40, 99, 3), sw(0, 41, 99, 1, 7));
	ck_assert_uint_eq(stalls.nr, 0);
}
END_TEST

START_TEST(no_task_stalls_without_switches)
{
	SEE(wake(0, 5, 99, 7), numbered(HV_MOMENT_SYSCALL, 0, 6, 9, 1));
	hv_finders_end(&finders, 500 * MS);
	ck_assert_uint_eq(stalls.nr, 0);
}
END_TEST

/* Adds the event M, and then the stack CALLER. */
static void see_with_stack(struct hv_moment m, uint64_t caller)
{
	struct hv_stall_stack stack = {{caller, caller + 1}};

	SEE(m);
	hv_finders_stack(&finders, &m, &stack);
}

START_TEST(where_tasks_sleep_and_wait)
{
	struct hv_moment late = sw(0, 3, 7, HV_LEFT_UNINTERRUPTIBLE, 0);
	struct hv_stall_stack stack = {{300}};

	SEE(sw(0, 1, 0, 0, 7));
	see_with_stack(late, 100);
	SEE(wake(1, 90, 3, 7), sw(0, 91, 0, 0, 7));
	ck_assert_uint_eq(only(HV_STALL_SLEEP, 3, 90, 7)->stack.callers[0], 100);
	ck_assert_uint_eq(stalls.list[0].stack.callers[1], 101);
	hv_stalls_clear(&stalls);
	/* The next sleep has no stack. A stack that arrives now belongs to the first sleep. */
	SEE(sw(0, 103, 7, HV_LEFT_UNINTERRUPTIBLE, 0));
	hv_finders_stack(&finders, &late, &stack);
	SEE(wake(1, 190, 3, 7), sw(0, 191, 0, 0, 7));
	ck_assert_uint_eq(only(HV_STALL_SLEEP, 103, 190, 7)->stack.callers[0], 0);
	hv_stalls_clear(&stalls);
	/* A task that waits for a mutex spins first. */
	see_with_stack(numbered(HV_MOMENT_LOCK, 0, 200, 7, 0xffff), 400);
	see_with_stack(numbered(HV_MOMENT_LOCK, 0, 202, 7, 0xffff), 500);
	SEE(numbered(HV_MOMENT_LOCK_END, 0, 230, 7, 0xffff));
	ck_assert_uint_eq(only(HV_STALL_LOCK, 200, 230, 7)->stack.callers[0], 400);
	hv_stalls_clear(&stalls);
	SEE(numbered(HV_MOMENT_LOCK, 0, 240, 7, 0xffff),
	    numbered(HV_MOMENT_LOCK_END, 0, 260, 7, 0xffff));
	ck_assert_uint_eq(only(HV_STALL_LOCK, 240, 260, 7)->stack.callers[0], 0);
}
END_TEST

/* The stack of the longest of several searches counts. */
START_TEST(the_stack_of_the_longest_reclaim)
{
	SEE(sw(0, 1, 0, 0, 7));
	see_with_stack(at(HV_MOMENT_RECLAIM, 0, 2, 7), 100);
	SEE(at(HV_MOMENT_RECLAIM_END, 0, 4, 7));
	see_with_stack(at(HV_MOMENT_RECLAIM, 0, 5, 7), 200);
	SEE(at(HV_MOMENT_RECLAIM_END, 0, 15, 7));
	see_with_stack(at(HV_MOMENT_RECLAIM, 0, 16, 7), 300);
	SEE(at(HV_MOMENT_RECLAIM_END, 0, 18, 7));
	hv_finders_end(&finders, 20 * MS);
	ck_assert_uint_eq(stalls.nr, 1);
	ck_assert_uint_eq(stalls.list[0].stack.callers[0], 200);
}
END_TEST

/* The stack shows where the task lost the vCPU or slept before. */
START_TEST(where_a_task_waits_for_a_vcpu)
{
	SEE(sw(0, 1, 0, 0, 7));
	see_with_stack(sw(0, 5, 7, HV_LEFT_PREEMPTED, 8), 100);
	SEE(sw(0, 25, 8, 1, 7));
	ck_assert_uint_eq(only(HV_STALL_RUNQUEUE, 5, 25, 7)->stack.callers[0], 100);
	hv_stalls_clear(&stalls);
	see_with_stack(sw(0, 26, 7, HV_LEFT_UNINTERRUPTIBLE, 8), 200);
	SEE(wake(0, 27, 8, 7), sw(0, 50, 8, 1, 7));
	ck_assert_uint_eq(only(HV_STALL_RUNQUEUE, 27, 50, 7)->stack.callers[0], 200);
	hv_stalls_clear(&stalls);
	SEE(sw(0, 51, 7, 1, 8), wake(0, 52, 8, 7), sw(0, 70, 8, 1, 7));
	ck_assert_uint_eq(only(HV_STALL_RUNQUEUE, 52, 70, 7)->stack.callers[0], 0);
}
END_TEST

/* The stack shows where the task gave up the vCPU in this system call, not where it slept, nor
 * where it was in the previous call. */
START_TEST(where_a_system_call_kept_the_vcpu)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL, 0, 2, 7, 1));
	see_with_stack(sw(0, 15, 7, HV_LEFT_RUNNABLE, 8), 100);
	SEE(sw(0, 16, 8, 1, 7));
	see_with_stack(sw(0, 17, 7, HV_LEFT_UNINTERRUPTIBLE, 8), 200);
	SEE(wake(0, 18, 8, 7), sw(0, 19, 8, 1, 7), numbered(HV_MOMENT_SYSCALL_END, 0, 20, 7, 1));
	ck_assert_uint_eq(only(HV_STALL_SYSCALL, 2, 20, 7)->stack.callers[0], 100);
	hv_stalls_clear(&stalls);
	SEE(numbered(HV_MOMENT_SYSCALL, 0, 21, 7, 1), numbered(HV_MOMENT_SYSCALL_END, 0, 40, 7, 1));
	ck_assert_uint_eq(only(HV_STALL_SYSCALL, 21, 40, 7)->stack.callers[0], 0);
}
END_TEST

static void is_due(unsigned cpu, uint32_t pid, uint64_t ms, enum hv_moment_kind kind,
		   struct hv_due_stacks *d)
{
	const struct hv_moment *m = hv_due_stacks_take(d, cpu, pid, ms * MS);

	if (kind == HV_NR_MOMENTS)
		ck_assert_ptr_null(m);
	else
		ck_assert_int_eq(m->kind, kind);
}

START_TEST(stacks_are_of_the_last_event_of_their_task)
{
	const struct hv_moment sleeps = sw(0, 1, 7, HV_LEFT_UNINTERRUPTIBLE, 0);
	const struct hv_moment waits = numbered(HV_MOMENT_LOCK, 0, 2, 7, 5);
	const struct hv_moment idles = sw(0, 1, 7, 1, 0), nobody = sw(0, 1, 0, 0, 7);
	const struct hv_moment gives_up = sw(0, 1, 7, HV_LEFT_RUNNABLE, 0);
	const struct hv_moment loses = sw(0, 1, 7, HV_LEFT_PREEMPTED, 0);
	const struct hv_moment others = numbered(HV_MOMENT_LOCK, 0, 2, 8, 5);
	struct hv_due_stacks d;

	hv_due_stacks_init(&d, 1);
	hv_due_stacks_see(&d, &sleeps);
	is_due(0, 7, 1, HV_NR_MOMENTS, &d); /* no kind of event has stacks */
	d.kinds = 1u << HV_MOMENT_SWITCH | 1u << HV_MOMENT_LOCK;
	hv_due_stacks_see(&d, &sleeps);
	hv_due_stacks_see(&d, &waits);
	is_due(1, 7, 2, HV_NR_MOMENTS, &d);
	is_due(0, 7, 2, HV_MOMENT_LOCK, &d);
	is_due(0, 7, 2, HV_MOMENT_SWITCH, &d);
	is_due(0, 7, 2, HV_NR_MOMENTS, &d);
	hv_due_stacks_see(&d, &idles);
	is_due(0, 7, 2, HV_NR_MOMENTS, &d);
	hv_due_stacks_see(&d, &nobody);
	is_due(0, 0, 2, HV_NR_MOMENTS, &d);
	hv_due_stacks_see(&d, &gives_up);
	is_due(0, 7, 2, HV_MOMENT_SWITCH, &d);
	hv_due_stacks_see(&d, &loses);
	is_due(0, 7, 2, HV_MOMENT_SWITCH, &d);
	hv_due_stacks_see(&d, &sleeps);
	hv_due_stacks_see(&d, &others);
	is_due(0, 7, 2, HV_MOMENT_SWITCH, &d);
	hv_due_stacks_see(&d, &sleeps);
	hv_due_stacks_lose(&d, 0);
	is_due(0, 7, 2, HV_NR_MOMENTS, &d);
	hv_due_stacks_see(&d, &sleeps);
	is_due(0, 7, 20, HV_NR_MOMENTS, &d); /* the stack of a section's end */
	for (unsigned i = 0; i < 10; i++)
		hv_due_stacks_see(&d, &waits);
	for (unsigned i = 0; i < HV_DUE_STACKS_MAX; i++)
		is_due(0, 7, 2, HV_MOMENT_LOCK, &d);
	is_due(0, 7, 2, HV_NR_MOMENTS, &d);
	hv_due_stacks_deinit(&d);
}
END_TEST

START_TEST(tables_are_bounded)
{
	for (uint32_t pid = 1; pid < 300000; pid++) {
		struct hv_moment m = sw(0, pid, pid, 0, pid + 1);
		struct hv_moment io = numbered(HV_MOMENT_IO_ISSUED, 0, pid, pid, pid);

		hv_finders_see(&finders, &m);
		hv_finders_see(&finders, &io);
	}
	SEE(sw(77, 300001, 1, 0, 2));
	hv_finders_end(&finders, 400000 * MS);
	ck_assert_uint_le(stalls.nr, HV_STALLS_MAX);
	ck_assert_uint_gt(stalls.nr_dropped, 0);
	ck_assert_uint_gt(stalls.nr, HV_STALLS_MAX / 2 - 1);
}
END_TEST

static uint64_t hundreds(const void *data hv_unused, uint64_t address)
{
	return address / 0x100;
}

static void tick(unsigned cpu, uint64_t ms, uint32_t pid, uint64_t address, uint64_t caller)
{
	const struct hv_moment m = at(HV_MOMENT_TICK, cpu, ms, pid);

	SEE(m);
	hv_finders_stack(&finders, &m, &(struct hv_stall_stack){{address, caller}});
}

/* Most samples of the call are in one function, at different addresses. */
START_TEST(where_a_system_call_spends_its_time)
{
	const struct hv_stall *s;

	finders.ticks.function_of = hundreds;
	SEE(sw(0, 1, 0, 0, 7), sw(1, 1, 0, 0, 8));
	tick(0, 2, 7, 0x401, 0x900);
	tick(0, 3, 7, 0x402, 0x900);
	SEE(numbered(HV_MOMENT_SYSCALL, 0, 4, 7, 5));
	tick(0, 8, 7, 0x200, 0x910);
	tick(1, 9, 8, 0x401, 0x900);
	tick(0, 12, 7, 0x301, 0x920);
	tick(0, 16, 7, 0x302, 0x930);
	tick(0, 20, 7, 0x210, 0x910);
	tick(0, 24, 7, 0x303, 0x940);
	SEE(numbered(HV_MOMENT_SYSCALL_END, 0, 30, 7, 5));
	s = only(HV_STALL_SYSCALL, 4, 30, 7);
	ck_assert_uint_eq(s->nr_samples, 5);
	ck_assert_uint_eq(s->nr_most, 3);
	ck_assert_uint_eq(s->most, 0x303);
	ck_assert_uint_eq(s->most_caller, 0x940);
	ck_assert_uint_eq(s->stack.callers[0], 0x303);
}
END_TEST

START_TEST(a_system_call_without_samples)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL, 0, 4, 7, 5),
	    numbered(HV_MOMENT_SYSCALL_END, 0, 30, 7, 5));
	ck_assert_uint_eq(only(HV_STALL_SYSCALL, 4, 30, 7)->nr_samples, 0);
}
END_TEST

/* The last samples are kept. */
START_TEST(samples_are_bounded)
{
	SEE(sw(0, 1, 0, 0, 7), numbered(HV_MOMENT_SYSCALL, 0, 4, 7, 5));
	for (uint64_t i = 0; i < 3 * HV_TICKS_MAX; i++)
		tick(0, 5 + i, 7, 0x1000 + i, 0);
	SEE(numbered(HV_MOMENT_SYSCALL_END, 0, 5 + 3 * HV_TICKS_MAX, 7, 5));
	ck_assert_uint_eq(stalls.list[0].nr_samples, HV_TICKS_MAX);
	ck_assert_uint_eq(stalls.list[0].nr_most, 1);
}
END_TEST

/* -- samples of programs ----------------------------------------------------------------------- */

static struct hv_moment sample(unsigned cpu, uint64_t ms, uint32_t pid, uint64_t address)
{
	struct hv_moment m = at(HV_MOMENT_SAMPLE, cpu, ms, pid);

	m.address = address;
	return m;
}

/* File 3 is mapped at 0x400000. */
static bool find_file(void *ctx hv_unused, uint32_t pid hv_unused, const char *comm hv_unused,
		      uint64_t address, uint32_t *ret_file, uint64_t *ret_off)
{
	*ret_file = 3;
	*ret_off = address - 0x400000;
	return address >= 0x400000 && address < 0x500000;
}

/* Returns the samples of S at OFF in FILE. */
static unsigned nr_at(const struct hv_stall *s, uint32_t file, uint64_t off)
{
	for (unsigned i = 0; i < s->nr_places; i++)
		if (s->places[i].file == file && s->places[i].off == off)
			return s->places[i].nr;
	return 0;
}

/* Only samples of the task that ran, on that vCPU and during the wait, count. */
START_TEST(functions_of_the_program_that_ran)
{
	const struct hv_stall *s;

	finders.programs.find = find_file;
	SEE(sw(0, 1, 0, 0, 99), sample(0, 3, 99, 0x400100), wake(0, 5, 99, 7),
	    sample(0, 9, 99, 0x400100), sample(0, 13, 99, 0x400200), sample(1, 13, 99, 0x400100),
	    sample(0, 17, 99, 0x400100), sample(0, 18, 99, 0), sample(0, 19, 5, 0x400100),
	    sample(0, 21, 99, 0x7f0000), sample(2, 22, 99, 0x400100), sw(0, 30, 99, 1, 7),
	    sample(0, 31, 99, 0x400100));
	s = only(HV_STALL_RUNQUEUE, 5, 30, 7);
	ck_assert_uint_eq(s->nr_places, 3);
	ck_assert_uint_eq(nr_at(s, 3, 0x100), 2);
	ck_assert_uint_eq(nr_at(s, 3, 0x200), 1);
	ck_assert_uint_eq(nr_at(s, 0, 0x7f0000), 1);
}
END_TEST

/* The newest samples count until there is no room for another address, so that the shares are of the
 * counted samples. */
START_TEST(samples_of_programs_are_bounded)
{
	const struct hv_stall *s;

	SEE(sw(0, 1, 0, 0, 99), wake(0, 5, 99, 7));
	for (uint64_t i = 0; i < 3 * HV_PROGRAM_TICKS_MAX; i++)
		SEE(sample(0, 6 + i, 99, 0x1000 + i / 2));
	SEE(sw(0, 10 + 3 * HV_PROGRAM_TICKS_MAX, 99, 1, 7));
	s = &stalls.list[0];
	ck_assert_uint_eq(finders.programs.cpus[0].nr, HV_PROGRAM_TICKS_MAX);
	ck_assert_uint_eq(s->nr_places, HV_STALL_PLACES);
	for (unsigned i = 0; i < HV_STALL_PLACES; i++) {
		ck_assert_uint_eq(s->places[i].nr, 2);
		ck_assert_uint_eq(s->places[i].off, 0x1000 + 3 * HV_PROGRAM_TICKS_MAX / 2 - 1 - i);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_task_waits_while_another_runs);
	tcase_add_test(tc, functions_of_the_program_that_ran);
	tcase_add_test(tc, samples_of_programs_are_bounded);
	tcase_add_test(tc, the_task_that_ran_longest_is_named);
	tcase_add_test(tc, a_task_that_has_not_switched_yet_is_named);
	tcase_add_test(tc, tasks_before_a_stall_are_copied);
	tcase_add_test(tc, too_many_tasks_before_a_stall_are_dropped);
	tcase_add_test(tc, a_preempted_task_waits);
	tcase_add_test(tc, an_unfinished_wait_counts);
	tcase_add_test(tc, intended_sleeps_are_no_stalls);
	tcase_add_test(tc, an_unknown_task_that_runs_does_not_wait);
	tcase_add_test(tc, a_sleep_that_no_signal_ends);
	tcase_add_test(tc, a_system_call_counts_on_the_cpu_only);
	tcase_add_test(tc, handlers);
	tcase_add_test(tc, requests);
	tcase_add_test(tc, a_flush_is_completed);
	tcase_add_test(tc, waits_in_the_kernel);
	tcase_add_test(tc, frequent_reclaims_are_one_stall);
	tcase_add_test(tc, reclaims_that_do_not_end);
	tcase_add_test(tc, searches_end_with_their_task);
	tcase_add_test(tc, a_system_call_without_its_searches);
	tcase_add_test(tc, page_faults_of_a_program);
	tcase_add_test(tc, page_faults_under_pressure);
	tcase_add_test(tc, sleeps_that_are_no_page_faults);
	tcase_add_test(tc, a_worker_of_the_kernel_looks_for_memory);
	tcase_add_test(tc, losses_reset_open_stalls);
	tcase_add_test(tc, no_task_stalls_without_switches);
	tcase_add_test(tc, where_tasks_sleep_and_wait);
	tcase_add_test(tc, the_stack_of_the_longest_reclaim);
	tcase_add_test(tc, where_a_task_waits_for_a_vcpu);
	tcase_add_test(tc, where_a_system_call_kept_the_vcpu);
	tcase_add_test(tc, stacks_are_of_the_last_event_of_their_task);
	tcase_add_test(tc, tables_are_bounded);
	tcase_add_test(tc, where_a_system_call_spends_its_time);
	tcase_add_test(tc, a_system_call_without_samples);
	tcase_add_test(tc, samples_are_bounded);
	tcase_add_test(tc, a_group_has_used_up_its_time);
	tcase_add_test(tc, several_groups_have_used_up_their_time);
	tcase_add_test(tc, a_group_that_was_not_stopped);
	tcase_add_test(tc, a_group_is_stopped_until_the_end);
	tcase_add_test(tc, a_group_is_stopped_since_the_beginning);
	tcase_add_test(tc, limits_after_events_were_lost);
	tcase_add_test(tc, the_tables_of_limits_are_bounded);
	tcase_add_test(tc, a_realtime_task_has_used_up_its_time);
	tcase_add_test(tc, a_deadline_task_has_used_up_its_time);
	tcase_add_test(tc, a_realtime_task_that_is_woken_is_not_limited);
}

int main(void)
{
	return run_suite("finders", add_tests);
}
