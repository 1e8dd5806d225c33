/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function trampoline with the code bytes that a guest gets, run in this process
 * (bench/native.h): the contents of records, the conditions for recording, and the values the
 * trampoline is linked with. Runs on an x86-64 host only. tests/kvm interrupts the trampoline at
 * every instruction. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/run_suite.h"
#include "tests/lib/traced_call.h"

#define CPU_FLAG_IF 0x200

START_TEST(a_record_of_a_call)
{
	const struct world_cpu *cpu = world_cpu(world);
	uint64_t before = __builtin_ia32_rdtsc(), site_end, caller;
	struct hv_record r;

	run();
	ck_assert_uint_eq(world_state(world, 0)->head, hv_ring_head_at(1, TRACED_NR_SLOTS));
	ck_assert_uint_eq(world_state(world, 1)->head, hv_ring_head_at(0, TRACED_NR_SLOTS));
	r = record_at(0, 0);
	ck_assert(r.word[0] >= before && r.word[0] <= __builtin_ia32_rdtsc());
	site_end = world_gva(world, WORLD_TRACED_OFF).v + hv_arch_x86_64.site_len_bytes;
	caller = world_gva(world, NATIVE_PLACED_OFF).v + (uint64_t)(call_with_return - call_with);
	ck_assert_uint_eq(r.word[1], site_end ^ caller << HV_CALLER_SHIFT);
	ck_assert_uint_eq(r.word[2], (uint64_t)cpu->cat.pid << HV_CALL_PID_SHIFT |
					     (cpu->cat.flags & 0xff) << 8 |
					     (cpu->cat.migration_disabled & 0xff));
	ck_assert_uint_eq((uint32_t)r.word[3], cpu->preempt_count);
	ck_assert_uint_eq(r.word[3] >> 32 & CPU_FLAG_IF, CPU_FLAG_IF); /* interrupts are on here */
	ck_assert_uint_eq(kind_of(&r), HV_RECORD_FUNCTION);
}
END_TEST

static void check_task(const struct hv_record *r, const struct world_task *task)
{
	uint64_t comm[2] = {r->word[1], r->word[2]};

	comm[0] |= (r->word[3] >> HV_TASK_COMM7_SHIFT & 3) << HV_WORD_BITS;
	ck_assert_uint_eq(kind_of(r), HV_RECORD_TASK);
	ck_assert_uint_eq(pid_of(r), task->pid);
	ck_assert_uint_eq(r->word[3] >> HV_TASK_TGID_SHIFT & HV_TASK_PID_MASK, task->tgid);
	ck_assert_mem_eq(comm, task->comm, sizeof(comm));
}

START_TEST(a_task_record_precedes_the_first_call)
{
	const struct world_cpu *cpu = world_cpu(world);
	struct hv_record r;

	world_state(world, 0)->last_pid = 0;
	run();
	run();
	ck_assert_uint_eq(head(0), 3);
	r = record_at(0, 0);
	check_task(&r, &cpu->cat);
	for (uint64_t position = 1; position < 3; position++) {
		r = record_at(0, position);
		ck_assert_uint_eq(kind_of(&r), HV_RECORD_FUNCTION);
		ck_assert_uint_eq(pid_of(&r), cpu->cat.pid);
	}

	world_set_current(world, &cpu->dd);
	run();
	ck_assert_uint_eq(head(0), 5);
	r = record_at(0, 3);
	check_task(&r, &cpu->dd);
	r = record_at(0, 4);
	ck_assert_uint_eq(pid_of(&r), cpu->dd.pid);
}
END_TEST

/* The top bits of the words contain the lap. */
START_TEST(laps)
{
	static const unsigned numbers[] = {1, 2, 3, 0, 1};

	for (unsigned lap = 0; lap < 5; lap++)
		for (unsigned n = 0; n < TRACED_NR_SLOTS; n++) {
			run();
			record_at(0, lap * TRACED_NR_SLOTS + n);
			for (unsigned i = 0; i < 4; i++)
				ck_assert_uint_eq(world_ring(world, 0)[n].word[i] >>
							  (64 - HV_LAP_BITS),
						  numbers[lap]);
		}
	ck_assert_uint_eq(head(0), 5 * TRACED_NR_SLOTS);
	for (unsigned n = 0; n < TRACED_NR_SLOTS; n++)
		ck_assert_uint_eq(world_ring(world, 1)[n].word[0], 0);
}
END_TEST

/* A vCPU's state and ring are found in the table, whatever the CPU's number. */
START_TEST(rings_are_found_by_cpu_number)
{
	uint64_t *vcpus = (uint64_t *)(world->host + WORLD_VCPUS_OFF);
	struct hv_record r;

	world_cpu(world)->cpu_number = 1;
	run(); /* no task was recorded on this vCPU */
	ck_assert_uint_eq(head(0), 0);
	ck_assert_uint_eq(head(1), 2);
	r = record_at(1, 1);
	ck_assert_uint_eq(pid_of(&r), world_cpu(world)->cat.pid);

	world_cpu(world)->cpu_number = 77;
	vcpus[77] = vcpus[0];
	run();
	ck_assert_uint_eq(head(0), 1);
	ck_assert_uint_eq(head(1), 2);
}
END_TEST

/* The mode, the pid filter and the current task determine the records (world_cases). */
START_TEST(records_depend_on_mode_pid_and_task)
{
	const struct world_case *c = &world_cases[_i];
	unsigned cpu;
	struct hv_record r;

	set_up_case(c);
	cpu = world_cpu(world)->cpu_number;
	run();
	ck_assert_uint_eq(head(cpu), c->nr_task_records + c->nr_function_records);
	ck_assert_uint_eq(head(!cpu), 0);
	for (uint64_t position = 0; position < head(cpu); position++) {
		r = record_at(cpu, position);
		ck_assert_uint_eq(kind_of(&r), position < c->nr_task_records ? HV_RECORD_TASK
									     : HV_RECORD_FUNCTION);
	}
}
END_TEST

static void in_no_section(const struct world *w)
{
	world_state(w, 0)->sections.open.tsc = 1;
	world_cpu(w)->preempt_count = 0x80000000;
}

/* An open section does not count if preemption and interrupts, as in this process, are on: its task
 * may have left the vCPU. */
START_TEST(a_stale_section_records_no_call)
{
	set_up_trampoline(WORLD_SECTION_FUNCTION, in_no_section);
	run();
	ck_assert_uint_eq(head(0), 0);
	world_cpu(world)->preempt_count = 0x80000100;
	run();
	ck_assert_uint_eq(head(0), 1);
}
END_TEST

START_TEST(muted_cpus)
{
	world_control(world)->mode = HV_MODE_CPUS;
	world_state(world, 0)->muted = 1;
	run();
	ck_assert_uint_eq(head(0), 0);
	world_cpu(world)->cpu_number = 1;
	run();
	ck_assert_uint_eq(head(1), 2);
	world_state(world, 1)->muted = 1;
	run();
	ck_assert_uint_eq(head(1), 2);
	world_state(world, 0)->muted = 0;
	world_cpu(world)->cpu_number = 0;
	run();
	ck_assert_uint_eq(head(0), 1);
}
END_TEST

static const struct {
	unsigned alternatives;
	unsigned migrate, lazy; /* whether the record contains them */
} kernels[] = {
	{0, 1, 0},
	{1u << HV_ALT_NO_MIGRATE, 0, 0},
	{1u << HV_ALT_LAZY, 1, 1},
	{1u << HV_ALT_NO_MIGRATE | 1u << HV_ALT_LAZY, 0, 1},
};
static unsigned alternatives;

static void choose_alternatives(const struct world *w)
{
	w->values->alternatives = alternatives;
}

/* Counts of disabled migration and of lazy preemption, if the kernel has them. The record contains
 * the count, limited to the maximum of its field, and the flag. */
START_TEST(migration_and_lazy_counts_are_recorded)
{
	static const struct {
		uint32_t count, shown;
	} counts[] = {{0, 0}, {0x3e, 0x3e}, {0x3f, 0x3f}, {0x40, 0x3f}, {UINT32_MAX, 0x3f}};
	struct world_task *cat;
	struct hv_record r;

	alternatives = kernels[_i].alternatives;
	set_up_as(choose_alternatives);
	cat = &world_cpu(world)->cat;
	for (unsigned i = 0; i < 2 * HV_ARRAY_LEN(counts); i++) {
		uint64_t lazy =
			counts[i / 2].shown | (i % 2) << (HV_CALL_LAZY_ASKED - HV_CALL_LAZY_SHIFT);

		cat->lazy_count = counts[i / 2].count;
		cat->flags = 0x48 | (i % 2 ? world->values->hole[HV_HOLE_lazy_mask] : 0);
		run();
		r = record_at(0, i);
		ck_assert_uint_eq(r.word[2] & 0xff,
				  kernels[_i].migrate ? cat->migration_disabled & 0xff : 0);
		ck_assert_uint_eq(r.word[2] >> 8 & 0xff, 0x48);
		ck_assert_uint_eq(pid_of(&r), cat->pid);
		ck_assert_uint_eq(r.word[2] >> HV_CALL_LAZY_SHIFT, kernels[_i].lazy ? lazy : 0);
	}
}
END_TEST

/* The upper half of the count means that no reschedule is needed. */
START_TEST(a_count_of_64_bits)
{
	struct hv_record r;

	set_up_as(world_count_widely);
	world_cpu(world)->preempt_count = 0x01000102;
	for (unsigned i = 0; i < 2; i++) {
		world_cpu(world)->preempt_high = i ? 0x80000000 : 0;
		run();
		r = record_at(0, i);
		ck_assert_uint_eq((uint32_t)r.word[3], i ? 0x81000102 : 0x01000102);
	}
}
END_TEST

/* Calls and returns on the general way and, from the second call on, on the plain way. */
START_TEST(counts_in_a_graph)
{
	static const struct {
		void (*prepare)(const struct world *w);
		uint32_t count;
	} kernels_of_graph[] = {{plain, 0x01000002},
				{world_count_widely, 0x81000002},
				{world_count_in_tasks, 0x01000202},
				{world_count_in_tasks_widely, 0x81000202}};

	set_up_trampoline(WORLD_GRAPH, kernels_of_graph[_i].prepare);
	world_cpu(world)->preempt_count = 0x01000002;
	world_cpu(world)->preempt_high = 0x80000000;
	world_cpu(world)->cat.softirqs = 0x200;
	for (unsigned i = 0; i < 3; i++)
		run_graph();
	for (unsigned i = 0; i < 6; i++)
		ck_assert_uint_eq((uint32_t)record_at(0, i).word[3], kernels_of_graph[_i].count);
}
END_TEST

/* The record shows the task's count of soft interrupts as if it were in the preempt count. */
START_TEST(soft_interrupts_that_tasks_count)
{
	struct hv_record r;

	set_up_as(_i ? world_count_in_tasks_widely : world_count_in_tasks);
	world_cpu(world)->preempt_count = 0x01000002;
	world_cpu(world)->preempt_high = 0x80000000;
	for (unsigned i = 0; i < 3; i++) {
		world_cpu(world)->cat.softirqs = 0x200 * i;
		run();
		r = record_at(0, i);
		ck_assert_uint_eq((uint32_t)r.word[3], (_i ? 0x81000002 : 0x01000002) + 0x200 * i);
	}
}
END_TEST

static const uint64_t bad_heads[] = {
	0,
	1,
	31,
	33,
	TRACED_NR_SLOTS * sizeof(struct hv_record) - 1,
	TRACED_NR_SLOTS * sizeof(struct hv_record) - 31,
	0x5555555555555555,
	INT64_MAX,
	UINT64_MAX - 31,
	UINT64_MAX - 1,
	UINT64_MAX,
};

static void other_task(const struct world *w)
{
	world_state(w, 0)->last_pid = 0;
}

/* The return reserves two records together. */
static void return_with_value(const struct world *w)
{
	world_params(w)->graph_flags |= HV_GRAPH_RETVAL;
}

static const struct {
	enum world_trampoline trampoline;
	void (*prepare)(const struct world *w);
	unsigned nr_records;
} writers[] = {
	{WORLD_FUNCTION, plain, 1},
	{WORLD_FUNCTION, other_task, 2},
	{WORLD_GRAPH, return_with_value, 3},
};

static void check_same(const uint8_t *was, uint64_t from, uint64_t to)
{
	ck_assert_mem_eq(was + from, world->host + from, to - from);
}

/* Whatever the guest writes into a head, a trampoline writes only into that ring. The memory after
 * it is the state of another vCPU. */
START_TEST(any_head_stays_in_the_ring)
{
	uint8_t was[WORLD_LEN(TRACED_NR_SLOTS)];

	for (unsigned i = 0; i < HV_ARRAY_LEN(writers); i++) {
		set_up_trampoline(writers[i].trampoline, writers[i].prepare);
		world_state(world, 0)->head = bad_heads[_i];
		memcpy(was, world->host, sizeof(was));
		if (writers[i].trampoline == WORLD_GRAPH)
			run_graph();
		else
			run();
		ck_assert_uint_eq(world_state(world, 0)->head,
				  bad_heads[_i] + writers[i].nr_records * sizeof(struct hv_record));
		check_same(was, 0, WORLD_STACKS_OFF);
		check_same(was, WORLD_COUNTS_OFF, world_state_off(world, 0));
		check_same(was, world_state_off(world, 1), sizeof(was));
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_record_of_a_call);
	tcase_add_test(tc, a_task_record_precedes_the_first_call);
	tcase_add_test(tc, laps);
	tcase_add_test(tc, rings_are_found_by_cpu_number);
	tcase_add_loop_test(tc, records_depend_on_mode_pid_and_task, 0, (int)world_nr_cases);
	tcase_add_test(tc, a_stale_section_records_no_call);
	tcase_add_test(tc, muted_cpus);
	tcase_add_test(tc, a_count_of_64_bits);
	tcase_add_loop_test(tc, counts_in_a_graph, 0, 4);
	tcase_add_loop_test(tc, soft_interrupts_that_tasks_count, 0, 2);
	tcase_add_loop_test(tc, migration_and_lazy_counts_are_recorded, 0, HV_ARRAY_LEN(kernels));
	tcase_add_loop_test(tc, any_head_stays_in_the_ring, 0, HV_ARRAY_LEN(bad_heads));
}

int main(void)
{
	return run_suite("trampoline_x86_64", add_tests);
}
