/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function stub of riscv64, the very bytes that a guest would get, on an emulated CPU: what a
 * record says, what is recorded, which registers and memory are kept, and interrupts, other tasks
 * and other vCPUs before each instruction. What was written is read by the ring's reader and
 * decoded as the tracer does. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/riscv64_world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define EVENTS_MAX 8
#define HARDIRQ	   0x10000

static struct riscv64_world *world;

static const struct hv_decode decode = {
	.arch = &hv_arch_riscv64,
	.text_base = {RISCV64_WORLD_TEXT_BASE},
	.resched = {.need = 8},
};

static void set_up(void)
{
	world = riscv64_world_new();
	riscv64_world_set_up(world, &riscv64_cases[0]);
}

static void tear_down(void)
{
	riscv64_world_free(world);
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

	hv_ring_init(&ring, riscv64_world_state(world, cpu), riscv64_world_ring(world, cpu),
		     RISCV64_WORLD_NR_SLOTS);
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

/* t0 to t6 */
static bool is_free(unsigned x)
{
	return (x >= 5 && x <= 7) || x >= 28;
}

/* The function has returned, and all registers are what they were but those that are free. */
static void check_kept(const struct riscv64_regs *before)
{
	struct riscv64_regs after;

	riscv64_world_get(world, &after);
	for (unsigned i = 0; i < HV_ARRAY_LEN(after.x); i++)
		if (i == 10)
			ck_assert_uint_eq(after.x[i], before->x[11]); /* a0: what is returned */
		else if (!is_free(i))
			ck_assert_uint_eq(after.x[i], before->x[i]);
}

static void call(void)
{
	struct riscv64_regs before;

	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF,
			    riscv64_world_sp(0));
	riscv64_world_get(world, &before);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	check_kept(&before);
}

START_TEST(a_record_of_a_call)
{
	const struct riscv64_task *cat = &riscv64_world_tasks(world)->cat;
	struct hv_record *record = riscv64_world_ring(world, 0);
	uint64_t key = hv_record_key(0, RISCV64_WORLD_NR_SLOTS), time = world->time;
	struct events e;

	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr, 1);
	ck_assert_uint_eq(e.nr_tasks, 0);
	ck_assert_int_eq(e.of[0].kind, HV_EVENT_FUNCTION);
	ck_assert_uint_eq(e.of[0].pid, cat->pid);
	ck_assert_uint_eq(e.of[0].ip.v, riscv64_world_gva(RISCV64_WORLD_TRACED_OFF));
	ck_assert_uint_eq(e.of[0].parent_ip.v, riscv64_world_gva(RISCV64_WORLD_CALLER_OFF));
	ck_assert_uint_eq(e.of[0].preempt_depth, 2);
	ck_assert_uint_eq(e.of[0].migrate_depth, 2);
	ck_assert_uint_eq(e.of[0].flags,
			  HV_TRACE_IRQS_OFF | HV_TRACE_SOFTIRQ | HV_TRACE_NEED_RESCHED);
	ck_assert_uint_eq(record->word[0] ^ key, time);
	ck_assert_uint_eq((uint32_t)(record->word[3] ^ key), 0x102);
}
END_TEST

START_TEST(interrupts_may_be_on)
{
	riscv64_world_set_irqs(world, RISCV64_IRQS_ON);
	call();
	ck_assert(!(read_events(0).of[0].flags & HV_TRACE_IRQS_OFF));
}
END_TEST

/* In the order of calls, through several laps. */
START_TEST(clocks_ascend)
{
	uint64_t last = 0;

	for (unsigned n = 0; n < RISCV64_WORLD_NR_SLOTS * 9 / 2; n++) {
		unsigned slot = n % RISCV64_WORLD_NR_SLOTS;
		uint64_t tsc;

		call();
		tsc = riscv64_world_ring(world, 0)[slot].word[0] ^
		      hv_record_key(n, RISCV64_WORLD_NR_SLOTS);
		ck_assert_uint_gt(tsc, last);
		ck_assert_uint_eq(tsc & HV_RECORD_ZEROS, 0);
		last = tsc;
	}
}
END_TEST

static void check_task(const struct hv_record *record, const struct riscv64_task *task)
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
	struct riscv64_tasks *tasks = riscv64_world_tasks(world);
	struct events e;

	riscv64_world_set_current(world, &tasks->dd);
	call();
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr, 2);
	ck_assert_uint_eq(e.nr_tasks, 1);
	check_task(&e.last_task, &tasks->dd);
	ck_assert_uint_eq(e.of[1].pid, tasks->dd.pid);
	ck_assert_uint_eq(e.of[1].preempt_depth, 3);

	riscv64_world_set_current(world, &tasks->cat);
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.nr_tasks, 2);
	check_task(&e.last_task, &tasks->cat);
}
END_TEST

/* A name without an end does not reach the bits by which the reader knows a record. */
START_TEST(a_name_of_16_bytes)
{
	struct riscv64_task *dd = &riscv64_world_tasks(world)->dd;

	memset(dd->comm, 0xff, sizeof(dd->comm));
	riscv64_world_set_current(world, dd);
	call();
	ck_assert_uint_eq(read_events(0).nr_tasks, 1);
}
END_TEST

/* By the mode, the pid filter and who is current: see the cases. Nothing but the ring is written.
 */
START_TEST(what_is_recorded)
{
	const struct riscv64_case *c = &riscv64_cases[_i];
	static uint8_t before[RISCV64_WORLD_STATES_OFF];
	unsigned cpu;
	struct events e;

	riscv64_world_set_up(world, c);
	cpu = riscv64_world_tasks(world)->cat.cpu_number;
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

static const struct riscv64_case *case_named(const char *name)
{
	for (unsigned i = 0; i < riscv64_nr_cases; i++)
		if (strcmp(riscv64_cases[i].name, name) == 0)
			return &riscv64_cases[i];
	ck_abort_msg("no case %s", name);
	return NULL;
}

START_TEST(migration_and_lazy_counts)
{
	struct events e;

	riscv64_world_set_up(world, case_named("record, kernel without migration counts"));
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].migrate_depth, 0);
	ck_assert_uint_eq(e.of[0].pid, 71);

	riscv64_world_set_up(world, case_named("record, kernel with lazy preemption counts"));
	call();
	e = read_events(0);
	ck_assert_uint_eq(e.of[0].migrate_depth, 2);
	ck_assert_uint_eq(e.of[0].lazy_depth, 0x12);
	ck_assert(e.of[0].flags & HV_TRACE_NEED_RESCHED_LAZY);

	riscv64_world_set_up(world, case_named("record, kernel with lazy preemption counts"));
	riscv64_world_tasks(world)->cat.lazy_count = 1000;
	riscv64_world_tasks(world)->cat.flags = 8;
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
	static uint8_t before[RISCV64_WORLD_LEN];
	uint64_t first = riscv64_world_state_off(0), end = riscv64_world_state_off(1);

	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		riscv64_world_set_up(world, case_named("record, after another task's"));
		riscv64_world_state(world, 0)->head = heads[i];
		memcpy(before, world->host, sizeof(before));
		call();
		ck_assert_uint_eq(riscv64_world_state(world, 0)->head, heads[i] + 64);
		ck_assert_mem_eq(world->host, before, first);
		ck_assert_mem_eq(world->host + end, before + end, sizeof(before) - end);
	}
}
END_TEST

/* -- before each instruction -------------------------------------------------------------------
 */

/* Calls the other traced function, as an interrupt's handler would. */
static void call_other(void)
{
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OTHER_OFF, RISCV64_WORLD_CALLER_OTHER_OFF,
			    riscv64_world_sp(0));
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OTHER_OFF));
}

static void interrupt(void)
{
	struct riscv64_task *task = &riscv64_world_tasks(world)->cat;
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	task->preempt_count += HARDIRQ;
	call_other();
	task->preempt_count -= HARDIRQ;
	riscv64_world_set(world, &regs);
}

/* The other task runs and calls the other function. */
static void switch_tasks(void)
{
	struct riscv64_tasks *tasks = riscv64_world_tasks(world);
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	riscv64_world_set_current(world, &tasks->dd);
	tasks->dd.cpu_number = tasks->cat.cpu_number;
	call_other();
	riscv64_world_set(world, &regs);
}

/* Likewise, and the task goes on on the other vCPU. */
static void migrate(void)
{
	switch_tasks();
	riscv64_world_tasks(world)->cat.cpu_number ^= 1;
}

static void (*const disturbances[])(void) = {interrupt, switch_tasks, migrate};

/* Counts the events of both rings whose function is at OFF. */
static unsigned count_calls(uint64_t off, uint64_t caller_off)
{
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < RISCV64_WORLD_NR_CPUS; cpu++) {
		struct events e = read_events(cpu);

		for (unsigned i = 0; i < e.nr; i++)
			if (e.of[i].ip.v == riscv64_world_gva(off)) {
				ck_assert_uint_eq(e.of[i].parent_ip.v,
						  riscv64_world_gva(caller_off));
				nr++;
			}
	}
	return nr;
}

static void check_disturbed(const struct riscv64_case *c, void (*disturb)(void))
{
	unsigned calls = count_calls(RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF);
	unsigned others =
		count_calls(RISCV64_WORLD_TRACED_OTHER_OFF, RISCV64_WORLD_CALLER_OTHER_OFF);
	bool always = riscv64_world_control(world)->mode == 0;

	if (disturb != migrate || always)
		ck_assert_uint_eq(calls, c->nr_function_records);
	if (disturb == interrupt || always)
		ck_assert_uint_eq(others, c->nr_function_records);
}

/* The call is recorded once, whole, and so is that of what came in between. */
START_TEST(disturbed_before_each_instruction)
{
	const struct riscv64_case *c = &riscv64_cases[_i];
	static struct riscv64_moment start;
	struct riscv64_regs before;
	uint64_t nr;

	riscv64_world_set_up(world, c);
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF,
			    riscv64_world_sp(0));
	riscv64_world_get(world, &before);
	riscv64_world_save(world, &start);
	nr = world->nr_done;
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	nr = world->nr_done - nr;
	ck_assert_uint_gt(nr, 5);
	for (unsigned d = 0; d < HV_ARRAY_LEN(disturbances); d++)
		for (uint64_t n = 0; n < nr; n++) {
			riscv64_world_come_back(world, &start);
			ck_assert(riscv64_world_step(world, n));
			disturbances[d]();
			ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
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
	tcase_add_test(tc, a_task_is_told_before_its_first_record);
	tcase_add_test(tc, a_name_of_16_bytes);
	tcase_add_loop_test(tc, what_is_recorded, 0, (int)riscv64_nr_cases);
	tcase_add_test(tc, migration_and_lazy_counts);
	tcase_add_test(tc, heads_of_the_guest_stay_in_the_ring);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, (int)riscv64_nr_cases);
}

int main(void)
{
	return run_suite("stub_riscv64", add_tests);
}
