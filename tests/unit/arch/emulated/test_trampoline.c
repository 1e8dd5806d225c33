/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function trampoline of another architecture on an emulated CPU, with the code bytes that a
 * guest gets: the contents of records, the conditions for recording, the registers and memory that
 * must not change, and interrupts, other tasks and other vCPUs before each instruction. The ring's
 * reader reads the records, and they are decoded as in the tracer. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/emulated/disturbances.h"
#include "tests/lib/emulated/world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define EVENTS_MAX 8

static struct emu_world *world;

static const struct hv_decode decode = {
	.arch = &EMU_ARCH,
	.text_base = {EMU_TEXT_BASE},
	.context_bits = {.need = 8},
};

static void set_up(void)
{
	world = emu_new();
	emu_set_up(world, &emu_cases[0]);
}

static void tear_down(void)
{
	emu_free(world);
}

struct events {
	struct hv_event of[EVENTS_MAX];
	unsigned nr, nr_tasks;
	struct hv_record last_task;
};

/* Every record in CPU's ring must be complete. */
static struct events read_events(unsigned cpu)
{
	struct events e = {0};
	struct hv_record record;
	struct hv_ring ring;
	uint64_t lost = 0;

	hv_ring_init(&ring, emu_state(world, cpu), emu_ring(world, cpu), EMU_NR_SLOTS);
	while (hv_ring_read(&ring, 0, &record, &lost) == HV_RING_RECORD) {
		if (hv_record_kind(&record) == HV_RECORD_TASK) {
			e.last_task = record;
			e.nr_tasks++;
			continue;
		}
		ck_assert(hv_record_is_event(&record));
		ck_assert_uint_lt(e.nr, EVENTS_MAX);
		hv_decode_event(&decode, &record, NULL, &e.of[e.nr++]);
	}
	ck_assert_uint_eq(lost, 0);
	ck_assert_uint_eq(ring.position, hv_ring_head(&ring));
	return e;
}

/* Asserts that the function has returned. The registers that the trampoline must keep are
 * unchanged. */
static void check_kept(const struct emu_regs *before)
{
	struct emu_regs after;

	emu_get(world, &after);
	for (unsigned i = 0; i < HV_ARRAY_LEN(after.x); i++)
		if (i == EMU_A0)
			ck_assert_uint_eq(after.x[i], before->x[EMU_A1]); /* the return value */
		else if (!emu_is_free(i))
			ck_assert_uint_eq(after.x[i], before->x[i]);
}

static void call(void)
{
	struct emu_regs before;

	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, emu_sp(0));
	emu_get(world, &before);
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	check_kept(&before);
}

START_TEST(a_record_of_a_call)
{
	const struct emu_task *cat = &emu_tasks(world)->cat;
	struct hv_record *record = emu_ring(world, 0);
	uint64_t key = hv_record_key(0, EMU_NR_SLOTS), time = world->time;
	struct events e;

	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr, 1);
	ck_assert_uint_eq(e.nr_tasks, 0);
	ck_assert_int_eq(e.of[0].kind, HV_EVENT_FUNCTION);
	ck_assert_uint_eq(e.of[0].pid, cat->pid);
	ck_assert_uint_eq(e.of[0].ip.v, emu_gva(EMU_TRACED_OFF) + EMU_SITE);
	ck_assert_uint_eq(e.of[0].parent_ip.v, emu_gva(EMU_CALLER_OFF));
	ck_assert_uint_eq(e.of[0].preempt_depth, 2);
	ck_assert_uint_eq(e.of[0].migrate_depth, 2);
	ck_assert_uint_eq(e.of[0].flags,
			  HV_TRACE_IRQS_OFF | HV_TRACE_SOFTIRQ | HV_TRACE_NEED_RESCHED);
	ck_assert(time ? (record->word[0] ^ key) == time : (record->word[0] ^ key) != 0);
	ck_assert_uint_eq((uint32_t)(record->word[3] ^ key), EMU_COUNT_WORD);
}
END_TEST

START_TEST(interrupts_may_be_on)
{
	world->irqs = EMU_IRQS_ON;
	call();
	ck_assert(!(read_events(0).of[0].flags & HV_TRACE_IRQS_OFF));
}
END_TEST

/* Timestamps must not decrease in the order of calls, through several laps. */
START_TEST(clocks_ascend)
{
	uint64_t last = 0;

	for (unsigned n = 0; n < EMU_NR_SLOTS * 9 / 2; n++) {
		unsigned slot = n % EMU_NR_SLOTS;
		uint64_t tsc;

		call();
		tsc = emu_ring(world, 0)[slot].word[0] ^ hv_record_key(n, EMU_NR_SLOTS);
		ck_assert_uint_ge(tsc, last + (world->time != 0));
		ck_assert_uint_eq(tsc & HV_RECORD_ZEROS, 0);
		last = tsc;
	}
}
END_TEST

static void check_task(const struct hv_record *record, const struct emu_task *task)
{
	char comm[sizeof(task->comm)];
	uint32_t pid;

	hv_decode_task(record, &pid, comm);
	ck_assert_uint_eq(pid, task->pid);
	ck_assert_uint_eq(hv_record_tgid(record), task->tgid);
	ck_assert_str_eq(comm, task->comm);
}

START_TEST(a_task_record_precedes_the_first_call)
{
	struct emu_tasks *tasks = emu_tasks(world);
	struct events e;

	emu_set_current(world, &tasks->dd);
	call();
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr, 2);
	ck_assert_uint_eq(e.nr_tasks, 1);
	check_task(&e.last_task, &tasks->dd);
	ck_assert_uint_eq(e.of[1].pid, tasks->dd.pid);
	ck_assert_uint_eq(e.of[1].preempt_depth, 3);

	emu_set_current(world, &tasks->cat);
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr_tasks, 2);
	check_task(&e.last_task, &tasks->cat);
}
END_TEST

/* A name without a terminating 0 must not set bits that are 0 in all records. */
START_TEST(a_name_of_16_bytes)
{
	struct emu_task *dd = &emu_tasks(world)->dd;

	memset(dd->comm, 0xff, sizeof(dd->comm));
	emu_set_current(world, dd);
	call();
	ck_assert_uint_eq(read_events(0).nr_tasks, 1);
}
END_TEST

/* The mode, the pid filter and the current task determine the records (emu_cases). The trampoline
 * writes only to the ring. */
START_TEST(records_depend_on_mode_pid_and_task)
{
	const struct emu_case *c = &emu_cases[_i];
	static uint8_t before[EMU_STATES_OFF];
	unsigned cpu;
	struct events e;

	emu_set_up(world, c);
	cpu = emu_tasks(world)->cat.cpu_number;
	memcpy(before, world->host, sizeof(before));
	call();
	ck_assert_mem_eq(world->host, before, sizeof(before));
	e = read_events(cpu);
	ck_assert_uint_eq(e.nr, c->nr_function_records);
	ck_assert_uint_eq(e.nr_tasks, c->nr_task_records);
	e = read_events(!cpu);
	ck_assert_uint_eq(e.nr + e.nr_tasks, 0);
}
END_TEST

static const struct emu_case *case_named(const char *name)
{
	for (unsigned i = 0; i < emu_nr_cases; i++)
		if (strcmp(emu_cases[i].name, name) == 0)
			return &emu_cases[i];
	ck_abort_msg("no case %s", name);
	return NULL;
}

START_TEST(migration_and_lazy_counts)
{
	struct events e;

	emu_set_up(world, case_named("record, kernel without migration counts"));
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].migrate_depth, 0);
	ck_assert_uint_eq(e.of[0].pid, 71);

	emu_set_up(world, case_named("record, kernel with lazy preemption counts"));
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].migrate_depth, 2);
	ck_assert_uint_eq(e.of[0].lazy_depth, 0x12);
	ck_assert(e.of[0].flags & HV_TRACE_NEED_RESCHED_LAZY);

	emu_set_up(world, case_named("record, kernel with lazy preemption counts"));
	emu_tasks(world)->cat.lazy_count = 1000;
	emu_tasks(world)->cat.flags = 8;
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].lazy_depth, HV_CALL_LAZY_MAX);
	ck_assert(!(e.of[0].flags & HV_TRACE_NEED_RESCHED_LAZY));
}
END_TEST

START_TEST(soft_interrupts_that_tasks_count)
{
	struct events e;

	emu_set_up(world, case_named("record"));
	call();
	e = read_events(0);
	ck_assert(!(e.of[0].flags & HV_TRACE_BH_OFF));
	ck_assert(e.of[0].flags & HV_TRACE_SOFTIRQ);

	emu_set_up(world, case_named("record, kernel whose tasks count soft interrupts"));
	emu_tasks(world)->cat.preempt_count &= ~UINT64_C(0x100);
	call();
	e = read_events(0);
	ck_assert(e.of[0].flags & HV_TRACE_BH_OFF);
	ck_assert(!(e.of[0].flags & HV_TRACE_SOFTIRQ));
	ck_assert_uint_eq(e.of[0].preempt_depth, 2);
}
END_TEST

/* Whatever the guest writes into a head, the trampoline writes only into its own ring. */
START_TEST(any_head_stays_in_the_ring)
{
	static const uint64_t heads[] = {0, 1, 31, UINT64_MAX, UINT64_MAX - 31, UINT64_C(1) << 63};
	static uint8_t before[EMU_LEN];
	uint64_t first = emu_state_off(0), end = emu_state_off(1);

	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		emu_set_up(world, case_named("record, after another task's"));
		emu_state(world, 0)->head = heads[i];
		memcpy(before, world->host, sizeof(before));
		call();
		ck_assert_uint_eq(emu_state(world, 0)->head, heads[i] + 64);
		ck_assert_mem_eq(world->host, before, first);
		ck_assert_mem_eq(world->host + end, before + end, sizeof(before) - end);
	}
}
END_TEST

/* -- before each instruction ------------------------------------------------------------------- */

static emu_disturbance *const disturbances[] = {emu_interrupt, emu_switch_tasks, emu_migrate};

/* Returns the number of events in both rings for the function at OFF. */
static unsigned count_calls(uint64_t off, uint64_t caller_off)
{
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++) {
		struct events e = read_events(cpu);

		for (unsigned i = 0; i < e.nr; i++)
			if (e.of[i].ip.v == emu_gva(off) + EMU_SITE) {
				ck_assert_uint_eq(e.of[i].parent_ip.v, emu_gva(caller_off));
				nr++;
			}
	}
	return nr;
}

static void check_disturbed(const struct emu_case *c, emu_disturbance *disturb)
{
	unsigned calls = count_calls(EMU_TRACED_OFF, EMU_CALLER_OFF);
	unsigned others = count_calls(EMU_TRACED_OTHER_OFF, EMU_CALLER_OTHER_OFF);
	bool always = emu_control(world)->mode == 0;

	if (disturb != emu_migrate || always)
		ck_assert_uint_eq(calls, c->nr_function_records);
	if (disturb == emu_interrupt || always)
		ck_assert_uint_eq(others, c->nr_function_records);
}

/* Both the call and the call by the disturbance are recorded once and completely. */
START_TEST(disturbed_before_each_instruction)
{
	const struct emu_case *c = &emu_cases[_i];
	static struct emu_moment start;
	struct emu_regs before;
	uint64_t nr;

	emu_set_up(world, c);
	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, emu_sp(0));
	emu_get(world, &before);
	emu_save(world, &start);
	nr = world->nr_done;
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	nr = world->nr_done - nr;
	ck_assert_uint_gt(nr, 5);
	for (unsigned d = 0; d < HV_ARRAY_LEN(disturbances); d++)
		for (uint64_t n = 0; n < nr; n++) {
			emu_come_back(world, &start);
			ck_assert(emu_step(world, n));
			ck_assert(disturbances[d](world));
			ck_assert(emu_run(world, EMU_CALLER_OFF));
			check_kept(&before);
			check_disturbed(c, disturbances[d]);
		}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_record_of_a_call);
	tcase_add_test(tc, interrupts_may_be_on);
	tcase_add_test(tc, clocks_ascend);
	tcase_add_test(tc, a_task_record_precedes_the_first_call);
	tcase_add_test(tc, a_name_of_16_bytes);
	tcase_add_loop_test(tc, records_depend_on_mode_pid_and_task, 0, (int)emu_nr_cases);
	tcase_add_test(tc, migration_and_lazy_counts);
	tcase_add_test(tc, soft_interrupts_that_tasks_count);
	tcase_add_test(tc, any_head_stays_in_the_ring);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, (int)emu_nr_cases);
}

int main(void)
{
	return run_suite("trampoline_" EMU_NAME, add_tests);
}
