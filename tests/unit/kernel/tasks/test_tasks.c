/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks of a fake kernel, and the live part of each stack. */
#include <check.h>

#include "kernel/core/orc_form.h"
#include "kernel/tasks/return_addresses.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/stack_scan.h"

#define WANTED	   0xffffffff90000000ull
#define USER_IP	   0x401000ull
#define USER_SP	   0x7ffc00000000ull
#define KERNEL_IP  (FK_BASE + 0x50)
#define SLEEP_FROM 0x3000ull

static struct ft t;
static struct hv_vcpu_regs regs[2];
static char *where;

static void setup(void)
{
	ft_init(&t);
	for (unsigned i = 0; i < 2; i++)
		regs[i] = (struct hv_vcpu_regs){.ip = hv_gva(USER_IP),
						.sp = hv_gva(USER_SP),
						.root = t.f.k.core.as.root.v,
						.levels = 4};
	where = NULL;
}

static void teardown(void)
{
	free(where);
	ft_deinit(&t);
}

static struct hv_scan_for wanted = {.range = {{WANTED}, {WANTED + 0x1000}}};

static size_t scan(void)
{
	return stack_scan(&t, &wanted, regs, &where);
}

static void kernel_at(unsigned vcpu, uint64_t sp)
{
	regs[vcpu].ip = hv_gva(KERNEL_IP);
	regs[vcpu].sp = hv_gva(sp);
}

START_TEST(lists_all_threads_and_idle_tasks)
{
	struct hv_tasks tasks;
	struct hv_err *err;
	uint64_t leader = ft_process(&t, 71, "cat", SLEEP_FROM);

	ft_thread(&t, leader, 72, "worker", SLEEP_FROM);
	ft_process(&t, 80, "other", SLEEP_FROM);
	err = hv_tasks_read(&t.f.k, &tasks);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(tasks.nr, 5);
	ck_assert_str_eq(tasks.list[0].comm, "swapper/0");
	ck_assert_str_eq(tasks.list[1].comm, "swapper/1");
	ck_assert_str_eq(tasks.list[2].comm, "cat");
	ck_assert_str_eq(tasks.list[3].comm, "worker");
	ck_assert_uint_eq(tasks.list[3].pid, 72);
	ck_assert_uint_eq(tasks.list[3].tgid, 71);
	ck_assert_uint_eq(tasks.list[3].stack.end.v - tasks.list[3].stack.start.v, FT_STACK);
	ck_assert_uint_eq(tasks.list[3].sp.v, tasks.list[3].stack.start.v + SLEEP_FROM);
	ck_assert_str_eq(tasks.list[4].comm, "other");
	hv_tasks_deinit(&tasks);
}
END_TEST

START_TEST(lists_without_end_are_refused)
{
	struct hv_tasks tasks;
	struct hv_err *err;
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	fk_u64(&t.f, task + FT_TASKS, task + FT_TASKS);
	err = hv_tasks_read(&t.f.k, &tasks);
	ck_assert(err && strstr(err->message, "tasks: the list has a loop at 0x"));
	hv_err_free(err);
	fk_u64(&t.f, task + FT_TASKS, t.init_task + FT_TASKS);
	fk_u64(&t.f, task + FT_THREAD_NODE, task + FT_THREAD_NODE);
	err = hv_tasks_read(&t.f.k, &tasks);
	ck_assert(err && strstr(err->message, "threads: the list has a loop"));
	hv_err_free(err);
	fk_u64(&t.f, task + FT_TASKS, 16);
	err = hv_tasks_read(&t.f.k, &tasks);
	ck_assert(err && strstr(err->message, "tasks"));
	hv_err_free(err);
}
END_TEST

START_TEST(tasks_that_are_too_long_are_refused)
{
	struct hv_tasks tasks;
	uint32_t list, entity, thread;

	begin();
	list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	entity = FK_STRUCT("sched_entity", 16, {"group_node", 0, 0, list});
	thread = FK_STRUCT("thread_struct", 8, {"sp", 0, 8});
	FK_STRUCT("task_struct", 70000, {"stack", FT_STACK_PTR, 8}, {"mm", FT_MM, 8},
		  {"tasks", FT_TASKS, 0, list}, {"pid", FT_PID, 4}, {"tgid", FT_TGID, 4},
		  {"thread_node", FT_THREAD_NODE, 0, list}, {"comm", FT_COMM, 16},
		  {"signal", FT_SIGNAL, 8}, {"se", FT_GROUP_NODE, 0, entity},
		  {"thread", 65530, 0, thread});
	FK_STRUCT("signal_struct", 32, {"thread_head", 16, 0, list});
	fk_use_types(&t.f);
	expect_error(hv_tasks_read(&t.f.k, &tasks), EINVAL,
		     "BTF: struct task_struct has members up to 65538");
}
END_TEST

START_TEST(a_cpu_without_a_task)
{
	struct hv_task_line line;

	ft_current(&t, 1, 0);
	expect_error(hv_task_line_of_cpu(&t.f.k, 1, &line), ENOENT, "cpu 1 executes no task yet");
	fk_symbol(&t.f, "__cpu_possible_mask", fk_alloc(&t.f, 8));
	hv_symbols_index(&t.f.k.core.symbols);
	expect_error(hv_task_line_of_cpu(&t.f.k, 1, &line), ENOENT, "cpu 1 is not possible");
}
END_TEST

START_TEST(task_lines_of_unknown_tasks)
{
	struct hv_task_line line;

	expect_error(hv_task_line_of(&t.f.k, 4711, &line), ENOENT, "there is no task 4711");
	begin();
	FK_STRUCT("task_struct", FT_TASK_BYTES, {"prio", 0, 4});
	fk_use_types(&t.f);
	expect_error(hv_task_line_of_cpu(&t.f.k, 0, &line), ENOENT,
		     "BTF: struct task_struct lacks static_prio, policy, rt_priority or cred, or "
		     "struct cred lacks uid");
}
END_TEST

START_TEST(invalid_pids_are_refused)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);
	struct hv_tasks tasks;

	fk_u32(&t.f, task + FT_PID, 0x7ffffffe);
	expect_error(hv_tasks_read(&t.f.k, &tasks), EINVAL, ": 2147483646 is not a pid");
	fk_u32(&t.f, task + FT_PID, 71);
	fk_u32(&t.f, task + FT_TGID, 0x7fffffff);
	expect_error(hv_tasks_read(&t.f.k, &tasks), EINVAL, ": 2147483647 is not a pid");
}
END_TEST

/* Derived types may lack the list of tasks in a run queue. */
START_TEST(run_queues_without_a_known_list)
{
	struct hv_err *err;
	size_t nr;

	ft_deinit(&t);
	ft_queue_member = "another";
	ft_init(&t);
	ft_queue_member = "cfs_tasks";
	ck_assert_uint_eq(scan(), 0);
	t.f.k.core.types.from = HV_TYPES_DERIVED;
	err = hv_stacks_scan(&t.f.k, &wanted, regs, FK_NR_CPUS, &nr, NULL);
	expect_error(err, ENOENT,
		     "kernel without BTF: cannot find the list of tasks in a run queue");
}
END_TEST

static void declare_overflow(struct fk *f)
{
	fk_symbol(f, "overflow_stack", FK_PERCPU(FT_CEA));
}

/* As on arm64. All tasks have the same shadow call stack. */
START_TEST(shadow_call_stacks_have_limits)
{
	const size_t nr = 4097;
	struct hv_task *list = hv_alloc(nr * sizeof(*list));
	struct hv_tasks tasks = {list, nr};
	struct hv_shadow_stacks stacks;
	struct hv_arch arch = hv_arch_x86_64;
	uint64_t task, shadow;

	ft_deinit(&t);
	ft_has_shadow_stacks = true;
	ft_init_with(&t, declare_overflow);
	ft_has_shadow_stacks = false;
	arch.name = hv_arch_arm64.name;
	t.f.k.core.as.arch = &arch;
	task = ft_process(&t, 71, "cat", SLEEP_FROM);
	shadow = fk_alloc(&t.f, 8192);
	for (size_t i = 0; i < nr; i++) {
		list[i].task = hv_gva(task);
		list[i].stack.end = hv_gva(FT_STACK);
	}
	fk_u64(&t.f, task + FT_SCS_BASE, shadow);
	fk_u64(&t.f, task + FT_SCS_SP, shadow + 8192);
	expect_error(hv_shadow_stacks_read(&t.f.k, &tasks, regs, 0, &stacks), EINVAL,
		     "shadow call stacks: the list does not end after 4194304 words");
	fk_u64(&t.f, task + FT_SCS_SP, shadow + 8200);
	expect_error(hv_shadow_stacks_read(&t.f.k, &tasks, regs, 0, &stacks), EINVAL,
		     " is not a shadow call stack");
	fk_u64(&t.f, task + FT_SCS_SP, shadow + 8);
	expect_error(hv_shadow_stacks_read(&t.f.k, &tasks, regs, 0, &stacks), EINVAL,
		     "two shadow call stacks for the kernel stack at 0x0");
	free(list);
}
END_TEST

START_TEST(a_sleeping_stack_is_live_from_its_sp)
{
	uint64_t task = ft_process(&t, 71, "c\033t", SLEEP_FROM);

	ft_push(&t, task, SLEEP_FROM - 8, WANTED);
	ck_assert_uint_eq(scan(), 0);
	ft_push(&t, task, SLEEP_FROM, WANTED + 0x1000);
	ck_assert_uint_eq(scan(), 0);
	ft_push(&t, task, SLEEP_FROM, WANTED);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "task 71 (c?t)");
	ft_push(&t, task, FT_STACK - 8, WANTED + 0xfff);
	ck_assert_uint_eq(scan(), 2);
}
END_TEST

START_TEST(a_saved_sp_outside_means_the_whole_stack)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	ft_push(&t, task, 0, WANTED);
	ck_assert_uint_eq(scan(), 0);
	fk_u64(&t.f, task + FT_SP, 0);
	ck_assert_uint_eq(scan(), 1);
}
END_TEST

START_TEST(user_code_has_an_empty_kernel_stack)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	ft_current(&t, 0, task);
	ft_push(&t, task, SLEEP_FROM + 8, WANTED);
	ck_assert_uint_eq(scan(), 0);
	/* with any sp */
	regs[0].sp = hv_gva(ft_stack(&t, task));
	ck_assert_uint_eq(scan(), 0);
	/* the first instructions of a system call, still on the user's sp */
	kernel_at(0, USER_SP);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

START_TEST(a_running_stack_is_live_from_the_vcpu_s_sp)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	ft_current(&t, 0, task);
	ft_push(&t, task, 0x2000, WANTED);
	kernel_at(1, ft_stack(&t, task) + 0x2008);
	ck_assert_uint_eq(scan(), 0);
	kernel_at(1, ft_stack(&t, task) + 0x2000);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "task 71 (cat)");
}
END_TEST

/* The last word of the interrupt stack links to the previous stack. */
START_TEST(an_interrupt_stack_links_to_the_task_s)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM), top = t.irq_stacks[1] + FT_IRQ;

	ft_current(&t, 0, task);
	ft_push(&t, task, 0x2000, WANTED);
	fk_u64(&t.f, top - 8, ft_stack(&t, task) + 0x2000);
	fk_u64(&t.f, top - 0x100, WANTED);
	ck_assert_uint_eq(scan(), 0);
	kernel_at(0, top - 0x80);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "task 71 (cat)");
	kernel_at(0, top - 0x100);
	ck_assert_uint_eq(scan(), 2);
}
END_TEST

START_TEST(an_nmi_in_an_interrupt_leads_to_the_task)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM), top = t.irq_stacks[0] + FT_IRQ;
	uint64_t nmi = t.estacks[0] + FT_NMI + FT_ESTACK;

	ft_current(&t, 0, task);
	ft_push(&t, task, 0x2000, WANTED);
	fk_u64(&t.f, top - 8, ft_stack(&t, task) + 0x2000);
	fk_u64(&t.f, top - 0x100, WANTED);
	fk_u64(&t.f, nmi - 16, top - 0x100);
	kernel_at(0, nmi - 0x40);
	ck_assert_uint_eq(scan(), 2);
	fk_u64(&t.f, nmi - 0x40, WANTED);
	ck_assert_uint_eq(scan(), 3);
}
END_TEST

START_TEST(interrupt_stack_words_do_not_count_for_sleepers)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);
	uint64_t top = t.irq_stacks[0] + FT_IRQ;

	ft_push(&t, task, 0x2000, WANTED);
	fk_u64(&t.f, top - 0x20, ft_stack(&t, task) + 0x2000);
	kernel_at(0, top - 0x80);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

/* After the stack has changed and before `current` has, the previous task is already asleep. */
static uint64_t prepare_switch(uint64_t *ret_next)
{
	uint64_t previous = ft_process(&t, 71, "previous", SLEEP_FROM);

	*ret_next = ft_process(&t, 72, "next", SLEEP_FROM);
	ft_current(&t, 0, previous);
	ft_push(&t, previous, SLEEP_FROM + 8, WANTED);
	ck_assert_uint_eq(scan(), 0);
	return previous;
}

START_TEST(in_a_switch_the_previous_task_counts)
{
	uint64_t next;

	prepare_switch(&next);
	kernel_at(0, ft_stack(&t, next) + SLEEP_FROM - 0x10);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "task 71 (previous)");
	ft_push(&t, next, SLEEP_FROM - 8, WANTED);
	ck_assert_uint_eq(scan(), 2);
}
END_TEST

START_TEST(in_an_nmi_in_a_switch_the_previous_task_counts)
{
	uint64_t next, nmi = t.estacks[1] + FT_NMI + FT_ESTACK;

	prepare_switch(&next);
	ft_push(&t, next, SLEEP_FROM - 8, WANTED);
	fk_u64(&t.f, nmi - 16, ft_stack(&t, next) + SLEEP_FROM - 0x10);
	kernel_at(1, nmi - 0x40);
	ck_assert_uint_eq(scan(), 2);
}
END_TEST

START_TEST(a_vcpu_on_no_known_stack_is_found)
{
	kernel_at(1, FK_END - 0x1000);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "vCPU 1 on an unknown stack (sp 0xffffffff817ff000)");
	/* a vCPU that was never started has no stack */
	regs[1].levels = 0;
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

/* Nested virtualization: the registers belong to user code of a nested guest. */
START_TEST(a_vcpu_in_another_kernel_is_found)
{
	regs[0].root = xm_table(&t.f.machine).v;
	ck_assert_uint_eq(scan(), 1);
	ck_assert(strstr(where, "vCPU 0 on an unknown stack"));
}
END_TEST

/* A task that runs and has left the lists. */
START_TEST(a_current_task_is_known_from_its_cpu)
{
	uint64_t task = ft_task(&t, 99, 99, "exiting", SLEEP_FROM);

	ft_current(&t, 1, task);
	ft_push(&t, task, 0x2000, WANTED);
	kernel_at(1, ft_stack(&t, task) + 0x1ff0);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "task 99 (exiting)");
}
END_TEST

/* A task that has left the lists and waits to run. */
START_TEST(a_queued_task_is_known_from_its_cpu)
{
	uint64_t task = ft_task(&t, 99, 99, "exiting", SLEEP_FROM);
	uint64_t listed = ft_process(&t, 71, "cat", SLEEP_FROM);
	struct hv_err *err;
	size_t nr;

	ft_push(&t, task, SLEEP_FROM, WANTED);
	ft_push(&t, listed, SLEEP_FROM, WANTED);
	ck_assert_uint_eq(scan(), 1);
	ft_queue(&t, 1, task);
	ft_queue(&t, 1, listed);
	ck_assert_uint_eq(scan(), 2);
	fk_u64(&t.f, task + FT_GROUP_NODE, listed + FT_GROUP_NODE);
	err = hv_stacks_scan(
		&t.f.k,
		&(struct hv_scan_for){
			.range = (struct hv_gva_range){hv_gva(WANTED), hv_gva(WANTED + 1)},
			.how = HV_SCAN_CALLS},
		regs, 2, &nr, NULL);
	ck_assert(err && strstr(err->message, "CPU 1: the list of its run queue has a loop at 0x"));
	hv_err_free(err);
}
END_TEST

START_TEST(a_leftover_of_an_interrupt_does_not_count)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	wanted.how = HV_SCAN_INTERRUPTED;
	ft_push(&t, task, SLEEP_FROM + 64, WANTED);
	ck_assert_uint_eq(scan(), 0);
	/* switched out at the end of that interrupt */
	ft_push(&t, task, SLEEP_FROM + 16, FT_PREEMPTING + 8);
	ck_assert_uint_eq(scan(), 1);
	/* the next function does not count, nor does an older word further up */
	ft_push(&t, task, SLEEP_FROM + 16, FT_PREEMPTING + 0x100);
	ft_push(&t, task, SLEEP_FROM + 80, FT_PREEMPTING + 8);
	ck_assert_uint_eq(scan(), 0);
	wanted.how = HV_SCAN_CALLS;
	ck_assert_uint_eq(scan(), 1);
}
END_TEST

/* Code in `calling` calls a function that can sleep, the kernel's reader. */
START_TEST(a_sleeper_in_code_that_calls)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	wanted.how = HV_SCAN_INTERRUPTED;
	wanted.calling = (struct hv_gva_range){hv_gva(WANTED + 0x800), hv_gva(WANTED + 0x900)};
	ft_push(&t, task, SLEEP_FROM + 64, WANTED + 0x900);
	ck_assert_uint_eq(scan(), 0);
	ft_push(&t, task, SLEEP_FROM + 64, WANTED + 0x805);
	ck_assert_uint_eq(scan(), 1);
}
END_TEST

/* Functions of 0x100 bytes with one rule each, for registers with known numbers. */
#define FUNCTION(n) (FK_BASE + 0x1000 + 0x100 * (n))
#define INSIDE(n)   (FUNCTION(n) + 0x80)

enum { SWITCHES = 0, CALLED, INTERRUPTED, STARTS, UNRULED, NR_FUNCTIONS };

static void add_orc(void)
{
	static const struct {
		int16_t sp_off;
		uint8_t type;
	} rules[NR_FUNCTIONS] = {
		[SWITCHES] = {16, 2}, [CALLED] = {8, 2}, [INTERRUPTED] = {0, 3}, [STARTS] = {0, 1}};
	struct hv_kernel_core *core = &t.f.k.core;
	uint64_t ips = fk_alloc(&t.f, 4 * NR_FUNCTIONS), entries = fk_alloc(&t.f, 6 * NR_FUNCTIONS);

	for (unsigned i = 0; i < NR_FUNCTIONS; i++) {
		uint16_t words[3] = {(uint16_t)rules[i].sp_off, 0,
				     (uint16_t)(2 | rules[i].type << 8)};

		words[2] |= (uint16_t)((rules[i].type == 3) << 11);
		fk_u32(&t.f, ips + 4 * i, (uint32_t)(FUNCTION(i) - (ips + 4 * i)));
		memcpy(fk_host(&t.f, entries + 6 * i), words, 6);
	}
	fk_symbol(&t.f, "__start_orc_unwind_ip", ips);
	fk_symbol(&t.f, "__stop_orc_unwind_ip", ips + 4 * NR_FUNCTIONS);
	fk_symbol(&t.f, "__start_orc_unwind", entries);
	fk_symbol(&t.f, "__stop_orc_unwind", entries + 6 * NR_FUNCTIONS);
	hv_symbols_index(&core->symbols);
	core->orc = hv_alloc(sizeof(*core->orc));
	core->orc->was_sought = 1;
	core->orc->form = (struct hv_orc_form){
		.entry_bytes = 6,
		.sp_offset = {0, 16},
		.bp_offset = {16, 16},
		.sp_reg = {32, 4},
		.bp_reg = {36, 4},
		.type = {40, 3},
		.signal = {43, 1},
		.sp_regs = {0, 1, 2},
	};
}

/* Makes a task that was switched out by SWITCHES, called by CALLED. RET receives the position of
 * CALLED's return address. */
static uint64_t sleeper(uint64_t *ret)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	ft_push(&t, task, SLEEP_FROM + 48, INSIDE(SWITCHES));
	ft_push(&t, task, SLEEP_FROM + 56 + 8, INSIDE(CALLED));
	*ret = SLEEP_FROM + 56 + 16;
	return task;
}

/* Words that are in no frame do not count. */
START_TEST(frames_of_a_sleeper)
{
	uint64_t at, task;

	add_orc();
	wanted.how = HV_SCAN_INTERRUPTED;
	task = sleeper(&at);
	ft_push(&t, task, at, INSIDE(STARTS));
	ft_push(&t, task, SLEEP_FROM + 56, WANTED);
	ft_push(&t, task, SLEEP_FROM, FT_PREEMPTING + 8);
	ft_push(&t, task, at + 8 + 128, WANTED);
	ck_assert_uint_eq(scan(), 0);
	/* the code was interrupted */
	ft_push(&t, task, at, INSIDE(INTERRUPTED));
	ft_push(&t, task, at + 8 + 152, ft_stack(&t, task) + at + 0x100);
	ck_assert_uint_gt(scan(), 0);
	/* frames that cannot be followed */
	ft_push(&t, task, at, INSIDE(UNRULED));
	ck_assert_uint_gt(scan(), 0);
	hv_orc_found_free(t.f.k.core.orc);
}
END_TEST

static bool is_called(void *ctx, struct hv_gva at)
{
	(void)ctx;
	return at.v >= FUNCTION(CALLED) && at.v < FUNCTION(CALLED + 1);
}

static bool is_nobody(void *ctx, struct hv_gva at)
{
	(void)ctx;
	(void)at;
	return false;
}

/* Leftovers in frames of other functions do not count. */
START_TEST(only_frames_of_users_count)
{
	uint64_t at, task;

	wanted.how = HV_SCAN_USED;
	wanted.is_user = is_nobody;
	task = sleeper(&at);
	ft_push(&t, task, SLEEP_FROM + 56, WANTED);
	ck_assert_uint_eq(scan(), 1); /* its frames cannot be followed */
	add_orc();
	ft_push(&t, task, at, INSIDE(STARTS));
	ck_assert_uint_eq(scan(), 0);
	wanted.is_user = is_called;
	ck_assert_uint_eq(scan(), 1);
	wanted.is_user = is_nobody;
	/* an interrupted function may have been using it */
	ft_push(&t, task, at, INSIDE(INTERRUPTED));
	ft_push(&t, task, at + 8 + 128, FUNCTION(STARTS));
	ft_push(&t, task, at + 8 + 152, ft_stack(&t, task) + at + 0x100);
	ck_assert_uint_eq(scan(), 1);
	ft_push(&t, task, at, INSIDE(UNRULED));
	ck_assert_uint_eq(scan(), 1);
	free(t.f.k.core.orc);
}
END_TEST

static bool caller_is(void *ctx, struct hv_gva at, struct hv_gva *ret)
{
	*ret = hv_gva(INSIDE(STARTS));
	return at.v == *(uint64_t *)ctx;
}

/* A graph's return handler replaces a return address. */
START_TEST(a_sleeper_with_a_replaced_return_address)
{
	uint64_t at, task, retp;

	add_orc();
	task = sleeper(&at);
	retp = ft_stack(&t, task) + at;
	ft_push(&t, task, at, WANTED + 8);
	wanted.how = HV_SCAN_INTERRUPTED;
	ck_assert_uint_gt(scan(), 0);
	wanted.find_caller = caller_is;
	wanted.ctx = &retp;
	ck_assert_uint_eq(scan(), 0);
	retp += 8;
	ck_assert_uint_gt(scan(), 0);
	hv_orc_found_free(t.f.k.core.orc);
}
END_TEST

START_TEST(stacks_that_are_gone_are_empty)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);

	fk_u64(&t.f, task + FT_STACK_PTR, 0);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

START_TEST(stacks_that_cannot_be_read_are_an_error)
{
	uint64_t task = ft_process(&t, 71, "cat", SLEEP_FROM);
	struct hv_err *err;
	size_t nr;

	fk_u64(&t.f, task + FT_STACK_PTR, FK_END);
	err = hv_stacks_scan(
		&t.f.k,
		&(struct hv_scan_for){
			.range = (struct hv_gva_range){hv_gva(WANTED), hv_gva(WANTED + 1)},
			.how = HV_SCAN_CALLS},
		regs, 2, &nr, NULL);
	ck_assert(err && strstr(err->message, "task 71 (cat)"));
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, lists_all_threads_and_idle_tasks);
	tcase_add_test(tc, lists_without_end_are_refused);
	tcase_add_test(tc, tasks_that_are_too_long_are_refused);
	tcase_add_test(tc, a_cpu_without_a_task);
	tcase_add_test(tc, task_lines_of_unknown_tasks);
	tcase_add_test(tc, invalid_pids_are_refused);
	tcase_add_test(tc, run_queues_without_a_known_list);
	tcase_add_test(tc, shadow_call_stacks_have_limits);
	tcase_add_test(tc, a_sleeping_stack_is_live_from_its_sp);
	tcase_add_test(tc, a_saved_sp_outside_means_the_whole_stack);
	tcase_add_test(tc, user_code_has_an_empty_kernel_stack);
	tcase_add_test(tc, a_running_stack_is_live_from_the_vcpu_s_sp);
	tcase_add_test(tc, an_interrupt_stack_links_to_the_task_s);
	tcase_add_test(tc, an_nmi_in_an_interrupt_leads_to_the_task);
	tcase_add_test(tc, interrupt_stack_words_do_not_count_for_sleepers);
	tcase_add_test(tc, in_a_switch_the_previous_task_counts);
	tcase_add_test(tc, in_an_nmi_in_a_switch_the_previous_task_counts);
	tcase_add_test(tc, a_vcpu_on_no_known_stack_is_found);
	tcase_add_test(tc, a_vcpu_in_another_kernel_is_found);
	tcase_add_test(tc, a_current_task_is_known_from_its_cpu);
	tcase_add_test(tc, a_queued_task_is_known_from_its_cpu);
	tcase_add_test(tc, a_leftover_of_an_interrupt_does_not_count);
	tcase_add_test(tc, a_sleeper_in_code_that_calls);
	tcase_add_test(tc, frames_of_a_sleeper);
	tcase_add_test(tc, only_frames_of_users_count);
	tcase_add_test(tc, a_sleeper_with_a_replaced_return_address);
	tcase_add_test(tc, stacks_that_are_gone_are_empty);
	tcase_add_test(tc, stacks_that_cannot_be_read_are_an_error);
}

int main(void)
{
	return run_suite("tasks", add_tests);
}
