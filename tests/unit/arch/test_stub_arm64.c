/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function stub of arm64, the very bytes that a guest gets, on an emulated CPU: what a record
 * says, what is recorded, which registers and memory are kept, and interrupts, other tasks and
 * other vCPUs before each instruction. What was written is read by the ring's reader and decoded as
 * the tracer does. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/arm64_world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define EVENTS_MAX	8
#define INTERRUPT_FRAME 0x150 /* as much as the kernel pushes */
#define HARDIRQ		0x10000
#define FIRST_FREE	9 /* of the registers that a stub may change */
#define LAST_FREE	17

static struct arm64_world *world;

static const struct hv_decode decode = {
	.arch = &hv_arch_arm64,
	.text_base = {ARM64_WORLD_TEXT_BASE},
	.resched = {.need = 8},
};

static void set_up(void)
{
	world = arm64_world_new();
	arm64_world_set_up(world, &arm64_cases[0]);
}

static void tear_down(void)
{
	arm64_world_free(world);
}

static uint64_t sp_of(unsigned stack)
{
	return arm64_world_stack_end(stack) - 0x100;
}

/* What was read of a ring. */
struct events {
	struct hv_event of[EVENTS_MAX];
	unsigned nr, nr_tasks;
	struct hv_record last_task;
};

/* Everything in the ring of CPU must be complete. */
static struct events read_events(unsigned cpu)
{
	struct events e = {0};
	struct hv_record record;
	struct hv_ring ring;
	uint64_t lost = 0;

	hv_ring_init(&ring, arm64_world_state(world, cpu), arm64_world_ring(world, cpu),
		     ARM64_WORLD_NR_SLOTS);
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

/* The function has returned, and all registers are what they were but those that are free. */
static void check_kept(const struct arm64_regs *before)
{
	struct arm64_regs after;

	arm64_world_get(world, &after);
	ck_assert_uint_eq(after.x[0], before->x[1]); /* what the function returns */
	for (unsigned i = 1; i < HV_ARRAY_LEN(after.x); i++)
		if (i < FIRST_FREE || i > LAST_FREE)
			ck_assert_uint_eq(after.x[i], before->x[i]);
	ck_assert_uint_eq(after.sp, before->sp);
}

static void call(void)
{
	struct arm64_regs before;

	arm64_world_enter(world, ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF, sp_of(0));
	arm64_world_get(world, &before);
	ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OFF));
	check_kept(&before);
}

START_TEST(a_record_of_a_call)
{
	const struct arm64_task *cat = &arm64_world_tasks(world)->cat;
	struct hv_record *record = arm64_world_ring(world, 0);
	struct events e;
	uint64_t key = hv_record_key(0, ARM64_WORLD_NR_SLOTS);

	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr, 1);
	ck_assert_uint_eq(e.nr_tasks, 0);
	ck_assert_int_eq(e.of[0].kind, HV_EVENT_FUNCTION);
	ck_assert_uint_eq(e.of[0].pid, cat->pid);
	ck_assert_uint_eq(e.of[0].ip.v, arm64_world_gva(ARM64_WORLD_TRACED_OFF) + ARM64_WORLD_SITE);
	ck_assert_uint_eq(e.of[0].parent_ip.v, arm64_world_gva(ARM64_WORLD_CALLER_OFF));
	ck_assert_uint_eq(e.of[0].preempt_depth, 2);
	ck_assert_uint_eq(e.of[0].migrate_depth, 2);
	ck_assert_uint_eq(e.of[0].flags,
			  HV_TRACE_IRQS_OFF | HV_TRACE_SOFTIRQ | HV_TRACE_NEED_RESCHED);
	ck_assert_uint_ne((record->word[0] ^ key) & ~HV_RECORD_ZEROS, 0);
	ck_assert_uint_eq((uint32_t)(record->word[3] ^ key), 0x80000102);
}
END_TEST

/* In the order of calls, so that the clock never goes back. */
START_TEST(clocks_ascend)
{
	uint64_t last = 0;

	for (unsigned n = 0; n < ARM64_WORLD_NR_SLOTS * 9 / 2; n++) {
		unsigned slot = n % ARM64_WORLD_NR_SLOTS;
		uint64_t tsc;

		call();
		tsc = arm64_world_ring(world, 0)[slot].word[0] ^
		      hv_record_key(n, ARM64_WORLD_NR_SLOTS);
		ck_assert_uint_ge(tsc, last);
		ck_assert_uint_eq(tsc & HV_RECORD_ZEROS, 0);
		last = tsc;
	}
}
END_TEST

static void check_task(const struct hv_record *record, const struct arm64_task *task)
{
	char comm[sizeof(task->comm)];
	uint32_t pid;

	hv_decode_task(record, &pid, comm);
	ck_assert_uint_eq(pid, task->pid);
	ck_assert_uint_eq(hv_record_tgid(record), task->tgid);
	ck_assert_str_eq(comm, task->comm);
}

START_TEST(a_task_is_told_before_its_first_record)
{
	struct arm64_tasks *tasks = arm64_world_tasks(world);
	struct events e;

	arm64_world_set_current(world, &tasks->dd);
	call();
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr, 2);
	ck_assert_uint_eq(e.nr_tasks, 1);
	check_task(&e.last_task, &tasks->dd);
	ck_assert_uint_eq(e.of[1].pid, tasks->dd.pid);
	ck_assert(e.of[1].flags & HV_TRACE_IRQS_OFF);
	ck_assert_uint_eq(e.of[1].preempt_depth, 3);

	arm64_world_set_current(world, &tasks->cat);
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr_tasks, 2);
	check_task(&e.last_task, &tasks->cat);
}
END_TEST

/* By the mode, the pid filter and who is current: see the cases. Nothing but the ring is written.
 */
START_TEST(what_is_recorded)
{
	const struct arm64_case *c = &arm64_cases[_i];
	static uint8_t before[ARM64_WORLD_STATES_OFF];
	unsigned cpu;
	struct events e;

	arm64_world_set_up(world, c);
	cpu = arm64_world_tasks(world)->cat.cpu_number;
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

static const struct arm64_case *case_named(const char *name)
{
	for (unsigned i = 0; i < arm64_nr_cases; i++)
		if (strcmp(arm64_cases[i].name, name) == 0)
			return &arm64_cases[i];
	ck_abort_msg("no case %s", name);
	return NULL;
}

START_TEST(migration_and_lazy_counts)
{
	struct events e;

	arm64_world_set_up(world, case_named("record, kernel without migration counts"));
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].migrate_depth, 0);
	ck_assert_uint_eq(e.of[0].pid, 71);

	arm64_world_set_up(world, case_named("record, kernel with lazy preemption counts"));
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].migrate_depth, 2);
	ck_assert_uint_eq(e.of[0].lazy_depth, 0x12);
	ck_assert(e.of[0].flags & HV_TRACE_NEED_RESCHED_LAZY);

	arm64_world_set_up(world, case_named("record, kernel with lazy preemption counts"));
	arm64_world_tasks(world)->cat.lazy_count = 1000;
	arm64_world_tasks(world)->cat.flags = 8;
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].lazy_depth, HV_CALL_LAZY_MAX);
	ck_assert(!(e.of[0].flags & HV_TRACE_NEED_RESCHED_LAZY));
}
END_TEST

/* Whatever the guest writes into a head, the stub writes into its own ring only. */
START_TEST(heads_of_the_guest_stay_in_the_ring)
{
	static const uint64_t heads[] = {0, 1, 31, UINT64_MAX, UINT64_MAX - 31, UINT64_C(1) << 63};
	static uint8_t before[ARM64_WORLD_LEN];
	uint64_t first = arm64_world_state_off(0), end = arm64_world_state_off(1);

	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		arm64_world_set_up(world, case_named("record, after another task's"));
		arm64_world_state(world, 0)->head = heads[i];
		memcpy(before, world->host, sizeof(before));
		call();
		ck_assert_uint_eq(arm64_world_state(world, 0)->head, heads[i] + 64);
		ck_assert_mem_eq(world->host, before, first);
		ck_assert_mem_eq(world->host + end, before + end, sizeof(before) - end);
	}
}
END_TEST

/* -- before each instruction -------------------------------------------------------------------
 */

/* Calls the other traced function, as an interrupt's handler would, on STACK. */
static void call_other(uint64_t sp)
{
	arm64_world_enter(world, ARM64_WORLD_TRACED_OTHER_OFF, ARM64_WORLD_CALLER_OTHER_OFF, sp);
	ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OTHER_OFF));
}

static void interrupt(void)
{
	struct arm64_task *task = &arm64_world_tasks(world)->cat;
	struct arm64_regs regs;

	arm64_world_get(world, &regs);
	task->preempt_count += HARDIRQ;
	call_other(regs.sp - INTERRUPT_FRAME);
	task->preempt_count -= HARDIRQ;
	arm64_world_set(world, &regs);
}

/* The other task runs and calls the other function. */
static void switch_tasks(void)
{
	struct arm64_tasks *tasks = arm64_world_tasks(world);
	struct arm64_regs regs;

	arm64_world_get(world, &regs);
	arm64_world_set_current(world, &tasks->dd);
	tasks->dd.cpu_number = tasks->cat.cpu_number;
	call_other(sp_of(1));
	arm64_world_set_current(world, &tasks->cat);
	arm64_world_set(world, &regs);
}

/* Likewise, and the task goes on on the other vCPU. */
static void migrate(void)
{
	switch_tasks();
	arm64_world_tasks(world)->cat.cpu_number ^= 1;
}

static void (*const disturbances[])(void) = {interrupt, switch_tasks, migrate};

/* Counts the events of both rings whose function is at OFF. */
static unsigned count_calls(uint64_t off, uint64_t caller_off)
{
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < ARM64_WORLD_NR_CPUS; cpu++) {
		struct events e = read_events(cpu);

		for (unsigned i = 0; i < e.nr; i++)
			if (e.of[i].ip.v == arm64_world_gva(off) + ARM64_WORLD_SITE) {
				ck_assert_uint_eq(e.of[i].parent_ip.v, arm64_world_gva(caller_off));
				nr++;
			}
	}
	return nr;
}

static void check_disturbed(const struct arm64_case *c, void (*disturb)(void))
{
	unsigned calls = count_calls(ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF);
	unsigned others = count_calls(ARM64_WORLD_TRACED_OTHER_OFF, ARM64_WORLD_CALLER_OTHER_OFF);
	bool always = arm64_world_control(world)->mode == 0;

	if (disturb != migrate || always)
		ck_assert_uint_eq(calls, c->nr_function_records);
	if (disturb == interrupt || always)
		ck_assert_uint_eq(others, c->nr_function_records);
}

/* The call is recorded once, whole, and so is that of what came in between. */
START_TEST(disturbed_before_each_instruction)
{
	const struct arm64_case *c = &arm64_cases[_i];
	static struct arm64_moment start;
	struct arm64_regs before;
	uint64_t nr;

	arm64_world_set_up(world, c);
	arm64_world_enter(world, ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF, sp_of(0));
	arm64_world_get(world, &before);
	arm64_world_save(world, &start);
	nr = world->nr_done;
	ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OFF));
	nr = world->nr_done - nr;
	ck_assert_uint_gt(nr, 5);
	for (unsigned d = 0; d < HV_ARRAY_LEN(disturbances); d++)
		for (uint64_t n = 0; n < nr; n++) {
			arm64_world_come_back(world, &start);
			ck_assert(arm64_world_step(world, n));
			disturbances[d]();
			ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OFF));
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
	tcase_add_test(tc, clocks_ascend);
	tcase_add_test(tc, a_task_is_told_before_its_first_record);
	tcase_add_loop_test(tc, what_is_recorded, 0, (int)arm64_nr_cases);
	tcase_add_test(tc, migration_and_lazy_counts);
	tcase_add_test(tc, heads_of_the_guest_stay_in_the_ring);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, (int)arm64_nr_cases);
}

int main(void)
{
	return run_suite("stub_arm64", add_tests);
}
