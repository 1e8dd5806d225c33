/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types that are derived from a guest, and guests that show too little or contradict themselves. */
#include <sys/resource.h>

#include "kernel/derive/code.h"
#include "kernel/types/kept_facts.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/derive/derived.h"

/* Checks that the types cannot be derived, and that nothing is left of them. */
static void check_refused(int code, const char *message)
{
	HV_AUTO_ERR struct hv_err *err = hv_types_derive(&fk.k.core, BANNER);

	ck_assert_msg(err, "not refused: %s", message);
	ck_assert_str_eq(err->message, message);
	ck_assert_int_eq(err->code, code);
	ck_assert_ptr_null(fk.k.core.btf);
	ck_assert_ptr_null(fk.k.core.types.facts);
	ck_assert_int_eq(fk.k.core.types.from, HV_TYPES_NONE);
}

/* MEMBER of struct TYPE has only one proof: hv_fields_find_proved() must refuse it. */
static void check_unproved(const char *type, const char *member)
{
	uint32_t off;
	const struct hv_field field = {member, 1, &off};
	HV_AUTO_ERR struct hv_err *unknown = hv_fields_find(&fk.k.core, type, &field, 1);
	HV_AUTO_ERR struct hv_err *err = hv_fields_find_proved(&fk.k.core, type, &field, 1);
	HV_AUTO_FREE char *expected =
		hv_format("kernel without BTF: the offset of %s in struct %s has only one proof",
			  member, type);

	ck_assert_msg(!unknown, "%s", unknown ? unknown->message : "");
	ck_assert_msg(err, "%s of %s is proved", member, type);
	ck_assert_str_eq(err->message, expected);
	ck_assert_int_eq(err->code, ENOTSUP);
	ck_assert(fk.k.core.types.unproved & hv_btf_member_bit(type, member));
}

/* -- everything is derived --------------------------------------------------------------------- */

START_TEST(derives_everything)
{
	make_modules(CORE_LAYOUT);
	derive();
	CHECK_ALL(whole);
	CHECK_ALL(of_module);
	check_proved("task_struct", "pid");
	check_proved("task_struct", "thread_info.flags");
	check_proved("task_struct", "thread_node");
	check_proved("pcpu_hot", "current_task");
	check_proved("module", "list");
	ck_assert_uint_eq(fk.k.core.types.unproved, 0);
}
END_TEST

/* The guest no longer shows the facts. */
START_TEST(kept_facts_are_used)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_facts kept = {0};
	struct hv_err *err;

	make_modules(CORE_LAYOUT);
	derive();
	hv_kept_facts_write(fk.k.core.types.facts, BANNER, &text);
	forget_types();
	fk_str(&fk, init_task + COMM_OFF, "idle");
	check_refused(ENOENT, "struct task_struct: init_task has no name \"swapper\"");
	err = hv_kept_facts_read((struct hv_span){(const uint8_t *)text.data, text.len_bytes},
				 BANNER, &kept);
	ck_assert_ptr_null(err);
	err = hv_types_use(&fk.k.core, &kept);
	ck_assert_ptr_null(err);
	ck_assert_int_eq(fk.k.core.types.from, HV_TYPES_DERIVED);
	CHECK_ALL(whole);
	CHECK_ALL(of_module);
	check_proved("task_struct", "pid");
}
END_TEST

START_TEST(too_few_kept_facts_are_refused)
{
	struct hv_facts kept = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	hv_facts_add(&kept, &(struct hv_fact){"task_struct", "comm", COMM_OFF, 16, NULL, CC});
	err = hv_types_use(&fk.k.core, &kept);
	ck_assert(err && err->code == ENOENT);
	ck_assert_str_eq(err->message,
			 "the guest's code and memory do not show where pid of struct "
			 "task_struct is");
	ck_assert_ptr_null(fk.k.core.btf);
	ck_assert_ptr_null(fk.k.core.types.facts);
}
END_TEST

/* -- paravirt calls ---------------------------------------------------------------------------- */

/* A kernel whose code disables interrupts itself has no such functions. */
START_TEST(functions_of_paravirt)
{
	fk_u64(&fk, pv_ops + PV_IRQ_OFF + 16, IRQ_DISABLE);
	derive();
	check_unknown("paravirt_patch_template", "irq.irq_disable");
	forget_types();
	fk_u64(&fk, pv_ops + PV_IRQ_OFF + 16, IRQ_DISABLE + 16);
	fk_u64(&fk, pv_ops + 8, IRQ_DISABLE);
	fk_u64(&fk, pv_ops + 16, IRQ_DISABLE + 16);
	derive();
	check_unknown("paravirt_patch_template", "irq.irq_disable");
}
END_TEST

/* -- run queues -------------------------------------------------------------------------------- */

START_TEST(idle_tasks_of_other_cpus)
{
	fk_str(&fk, idle_task + COMM_OFF, "swapper/2");
	derive();
	check_unknown("rq", "idle");
	check_unknown("rq", "curr");
	check_fact("rq", "clock", CLOCK_OFF, C);
	forget_types();
	fk_str(&fk, idle_task + COMM_OFF, "swapper/1");
	fk_u32(&fk, idle_task + PID_OFF, 7);
	derive();
	check_unknown("rq", "idle");
	forget_types();
	fk_u32(&fk, idle_task + PID_OFF, 0);
	fk_u64(&fk, fk.areas[1] + RUNQUEUES + CURR_OFF, 0);
	derive();
	check_unknown("rq", "idle");
}
END_TEST

START_TEST(code_of_run_queues)
{
	set_code("idle_cpu", "\x48\x8b\x88\x68\x09\x00\x00\xc3", 8);	    /* one pointer */
	set_code("update_rq_clock", "\x48\x89\x87\x90\x09\x00\x00\xc3", 8); /* only written */
	derive();
	check_unknown("rq", "idle");
	check_unknown("rq", "clock");
	forget_types();
	set_code("idle_cpu", /* three pointers */
		 "\x48\x8b\x88\x68\x09\x00\x00\x48\x8b\x88\x60\x09\x00\x00"
		 "\x48\x8b\x88\x58\x09\x00\x00\xc3",
		 22);
	derive();
	check_unknown("rq", "idle");
}
END_TEST

static double seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* More tasks than hvtrace copies. */
START_TEST(many_tasks)
{
	free_guest();
	make_guest(TASKS);
	derive();
	CHECK_ALL(whole);
}
END_TEST

START_TEST(pid_1_and_kthreadd_are_enough_processes)
{
	link_tasks(3);
	derive();
	check_fact("task_struct", "pid", PID_OFF, M | CC);
	check_fact("task_struct", "stack", STACK_OFF, M | CC);
}
END_TEST

/* In 5.4, debug exceptions have two stacks, and a third one is never mapped. */
START_TEST(exception_stacks_of_old_kernels)
{
	free_guest();
	has_hole = true;
	make_guest(9);
	has_hole = false;
	derive();
	check_fact("cea_exception_stacks", "DF_stack", 0x1000, M);
	check_fact("cea_exception_stacks", "NMI_stack", 0x4000, M);
	check_fact("cea_exception_stacks", "DB1_stack", 0xa000, M);
	check_fact("cea_exception_stacks", "DB_stack", 0xd000, M);
	check_fact("cea_exception_stacks", "MCE_stack", 0x10000, M);
}
END_TEST

/* Adds a function that other guests have. I: its number. */
static void add_function(unsigned i, const char *name, const char *code, size_t len)
{
	uint64_t at = function_at(HV_ARRAY_LEN(codes) + i) + 0x100;

	memcpy(fk_host(&fk, at), code, len);
	fk_symbol(&fk, name, at);
	fk_symbol(&fk, "after_it", at + len);
	hv_symbols_index(&fk.k.core.symbols);
}

/* A kernel without BPF: other functions show the same members. */
START_TEST(kernel_without_bpf)
{
	static const char code[] = "\x8b\x87\xc0\x03\x00\x00" /* mov 0x3c0(%rdi),%eax */
				   "\x8b\x8f\xc4\x03\x00\x00" /* mov 0x3c4(%rdi),%ecx */
				   "\xc3";

	remove_code("bpf_get_current_pid_tgid");
	derive();
	check_fact("task_struct", "tgid", TGID_OFF, M);
	forget_types();
	add_function(0, "tracing_record_taskinfo", code, sizeof(code) - 1);
	derive();
	check_fact("task_struct", "tgid", TGID_OFF, M | C);
}
END_TEST

START_TEST(users_without_bpf)
{
	static const char code[] = "\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
				   "\x48\x8b\x90\x48\x05\x00\x00"	  /* mov 0x548(%rax),%rdx */
				   "\x8b\x42\x08\x8b\x72\x18\xc3"; /* mov 8(%rdx),%eax; ... */

	remove_code("bpf_get_current_uid_gid");
	derive();
	check_fact("task_struct", "cred", CRED_OFF, M | C);
	check_fact("cred", "uid", 8, C);
	forget_types();
	add_function(0, "__x64_sys_getresuid", code, sizeof(code) - 1);
	derive();
	check_fact("cred", "uid", 8, CC);
}
END_TEST

/* Linux 6.12: tracing_record_taskinfo() reads only the pid. */
START_TEST(functions_that_use_only_the_pid)
{
	static const char code[] = "\x8b\x87\xc0\x03\x00\x00" /* mov 0x3c0(%rdi),%eax */
				   "\xc3";

	add_function(0, "tracing_record_taskinfo", code, sizeof(code) - 1);
	derive();
	check_fact("task_struct", "tgid", TGID_OFF, M | C);
}
END_TEST

/* Moves a task to the start of the list of its run queue (list_move()). */
#define PICK(node, prev)                                                                           \
	"\x49\x8b\x94\x24" prev		   /* mov prev(%r12),%rdx */                               \
	"\x49\x8b\x8c\x24" node		   /* mov node(%r12),%rcx */                               \
	"\x49\x8d\x84\x24" node		   /* lea node(%r12),%rax */                               \
	"\x48\x8d\x8f\x30\x0a\x00\x00"	   /* lea 0xa30(%rdi),%rcx */                              \
	"\x49\x89\x94\x24" node		   /* mov %rdx,node(%r12) */                               \
	"\x49\x89\x8c\x24" prev		   /* mov %rcx,prev(%r12) */                               \
	"\x48\x89\x87\x30\x0a\x00\x00\xc3" /* mov %rax,0xa30(%rdi); ret */

/* Most tasks wait, so they are in no queue. */
static void leave_queues(uint32_t off)
{
	for (unsigned i = 1; i < nr_tasks; i++)
		write_list(task_at[i] + off, task_at[i] + off, task_at[i] + off);
}

/* Linux 4.19 has no set_next_task_fair(). */
START_TEST(queue_of_old_kernels)
{
	static const char pick[] = PICK("\x80\x00\x00\x00", "\x88\x00\x00\x00");

	remove_code("set_next_task_fair");
	add_function(0, "pick_next_task_fair", pick, sizeof(pick) - 1);
	check_refused(ENOENT, "the guest's code and memory do not show where se of struct "
			      "task_struct is");
	leave_queues(SE_OFF);
	derive();
	check_fact("task_struct", "se", SE_OFF, M | C);
	check_fact("rq", "cfs_tasks", 0xa30, C);
}
END_TEST

/* The compiler uses the address of the sched_entity, at 0x50. */
START_TEST(queue_with_entities)
{
	static const char pick[] = PICK("\x30\x00\x00\x00", "\x38\x00\x00\x00");
	static const char enqueue[] = "\x48\x8d\x5e\x50\xc3"; /* lea 0x50(%rsi),%rbx; ret */

	remove_code("set_next_task_fair");
	add_function(0, "pick_next_task_fair", pick, sizeof(pick) - 1);
	add_function(1, "enqueue_task_fair", enqueue, sizeof(enqueue) - 1);
	leave_queues(SE_OFF);
	derive();
	check_fact("task_struct", "se", SE_OFF, M | C);
	forget_types();
	leave_queues(0x30); /* either of them can be the list */
	check_refused(ENOENT, "the guest's code and memory do not show where se of struct "
			      "task_struct is");
}
END_TEST

/* Linux 4.14 adds a task to the list in another function, with the address of its sched_entity. */
START_TEST(queue_to_which_tasks_are_added)
{
	static const char account[] = "\x48\x8b\x87\xd0\x00\x00\x00" /* mov 0xd0(%rdi),%rax */
				      "\x48\x8d\x56\x30"	     /* lea 0x30(%rsi),%rdx */
				      "\x48\x8b\x88\x30\x0a\x00\x00" /* mov 0xa30(%rax),%rcx */
				      "\x48\x89\x51\x08"	     /* mov %rdx,8(%rcx) */
				      "\x48\x89\x4e\x30"	     /* mov %rcx,0x30(%rsi) */
				      "\x48\x8d\x88\x30\x0a\x00\x00" /* lea 0xa30(%rax),%rcx */
				      "\x48\x89\x4e\x38"	     /* mov %rcx,0x38(%rsi) */
				      "\x48\x89\x90\x30\x0a\x00\x00" /* mov %rdx,0xa30(%rax) */
				      "\xc3";
	static const char enqueue[] = "\x48\x8d\x5e\x50\xc3"; /* lea 0x50(%rsi),%rbx; ret */

	remove_code("set_next_task_fair");
	add_function(0, "account_entity_enqueue", account, sizeof(account) - 1);
	add_function(1, "enqueue_task_fair", enqueue, sizeof(enqueue) - 1);
	leave_queues(SE_OFF);
	derive();
	check_fact("task_struct", "se", SE_OFF, M | C);
	check_fact("rq", "cfs_tasks", 0xa30, C);
}
END_TEST

/* Without a real-time task, memory does not show rt_priority. */
START_TEST(no_task_with_a_realtime_policy)
{
	for (unsigned i = 3; i < 5; i++)
		for (uint32_t off = PRIO_OFF; off <= NORMAL_PRIO_OFF; off += 4)
			fk_u32(&fk, task_at[i] + off, 120);
	for (unsigned i = 3; i < 5; i++) {
		fk_u32(&fk, task_at[i] + RT_PRIORITY_OFF, 0);
		fk_u32(&fk, task_at[i] + POLICY_OFF, 0);
	}
	derive();
	check_unknown("task_struct", "rt_priority");
	check_fact("task_struct", "static_prio", STATIC_PRIO_OFF, M | CC);
}
END_TEST

/* -- guests whose types are not derived -------------------------------------------------------- */

START_TEST(a_guest_that_starts)
{
	write_list(init_task + TASKS_OFF, init_task + TASKS_OFF, init_task + TASKS_OFF);
	check_refused(ENOENT, "struct task_struct: no member of init_task leads to all tasks");
	link_tasks(2);
	check_refused(ENOENT, "struct task_struct: no member of init_task leads to all tasks");
}
END_TEST

START_TEST(preempt_rt)
{
	static const char *const banners[] = {"Linux version 6.6 #1 SMP PREEMPT_RT Mon",
					      "Linux version 4.19 #1 SMP PREEMPT RT Mon"};

	for (size_t i = 0; i < HV_ARRAY_LEN(banners); i++) {
		HV_AUTO_ERR struct hv_err *err = hv_types_derive(&fk.k.core, banners[i]);

		ck_assert(err);
		ck_assert_str_eq(err->message,
				 "structures of PREEMPT_RT kernels cannot be derived");
		ck_assert_int_eq(err->code, ENOTSUP);
	}
}
END_TEST

START_TEST(another_architecture)
{
	fk.k.core.as.arch = &hv_arch_riscv64;
	check_refused(ENOTSUP, "structures cannot be derived on riscv64");
}
END_TEST

START_TEST(init_task_without_name)
{
	fk_str(&fk, init_task + COMM_OFF, "idle");
	check_refused(ENOENT, "struct task_struct: init_task has no name \"swapper\"");
}
END_TEST

START_TEST(init_task_with_two_names)
{
	fk_str(&fk, init_task + COMM_OFF + 24, "swapper/0");
	check_refused(ENOENT, "struct task_struct: init_task has no name \"swapper\"");
}
END_TEST

START_TEST(name_without_end)
{
	fk_str(&fk, init_task + COMM_OFF, "swapper/123456789");
	check_refused(ENOENT, "struct task_struct: init_task has no name \"swapper\"");
	fk_str(&fk, init_task + COMM_OFF, "swapper/0");
	fk_str(&fk, task_at[5] + COMM_OFF, "a name without an end");
	check_refused(ENOENT, "struct task_struct: no member of init_task leads to all tasks");
}
END_TEST

static void move_init_task(const char *name, uint64_t at)
{
	struct hv_symbols *s = &fk.k.core.symbols;

	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->by_addr[i].name, "init_task"))
			s->by_addr[i] = (struct hv_symbol){hv_gva(at), name, 'D'};
	fk_symbol(&fk, "after_it", at + TASK_BYTES);
	hv_symbols_index(s);
}

START_TEST(init_task_is_not_mapped)
{
	move_init_task("init_task", 0xffffffff90000000);
	check_refused(ENOENT, "struct task_struct: init_task: nothing is mapped at "
			      "0xffffffff90000000");
}
END_TEST

START_TEST(init_task_without_room)
{
	move_init_task("init_task", init_task);
	fk_symbol(&fk, "in_it", init_task + 4);
	hv_symbols_index(&fk.k.core.symbols);
	check_refused(ENOENT, "struct task_struct: init_task has no name \"swapper\"");
}
END_TEST

START_TEST(no_init_task)
{
	move_init_task("other", init_task);
	check_refused(ENOENT, "kernel has no symbol init_task: it was built without "
			      "CONFIG_KALLSYMS_ALL");
}
END_TEST

/* Two members of init_task lead to all tasks. */
START_TEST(two_lists_of_tasks)
{
	for (unsigned i = 0; i < nr_tasks; i++) {
		uint64_t task = task_at[i] + TASKS_OFF + 16;

		write_list(task, task_at[(i + 1) % nr_tasks] + TASKS_OFF + 16,
			   task_at[(i + nr_tasks - 1) % nr_tasks] + TASKS_OFF + 16);
	}
	check_refused(ENOENT,
		      "struct task_struct: 2 members of init_task may be the list of all tasks");
}
END_TEST

static const char no_list[] = "struct task_struct: no member of init_task leads to all tasks";

START_TEST(list_with_a_cycle)
{
	/* The list does not lead back to init_task. */
	fk_u64(&fk, task_at[9] + TASKS_OFF, task_at[4] + TASKS_OFF);
	check_refused(ENOENT, no_list);
	/* A task is its own successor and predecessor. */
	write_list(task_at[5] + TASKS_OFF, task_at[5] + TASKS_OFF, task_at[5] + TASKS_OFF);
	check_refused(ENOENT, no_list);
}
END_TEST

START_TEST(list_that_leaves_memory)
{
	static const uint64_t bad[] = {0,
				       8,
				       0xffffffff81000001,
				       0xfffffffffffffff8,
				       0xffff888000000000,
				       0x8000000000000000};

	for (size_t i = 0; i < HV_ARRAY_LEN(bad); i++) {
		fk_u64(&fk, task_at[7] + TASKS_OFF, bad[i]);
		check_refused(ENOENT, no_list);
	}
	link_tasks(nr_tasks);
	fk_u64(&fk, task_at[7] + TASKS_OFF + 8, task_at[1] + TASKS_OFF);
	check_refused(ENOENT, no_list);
}
END_TEST

/* The end of the task is not mapped, but its name and its links are. */
START_TEST(task_that_is_mapped_in_part)
{
	const uint64_t at = FK_END - COMM_OFF - 16;

	memcpy(fk_host(&fk, at), fk_host(&fk, task_at[1]), COMM_OFF + 16);
	task_at[1] = at;
	link_tasks(nr_tasks);
	check_refused(ENOENT, "struct task_struct: the list of all tasks keeps changing, or a task "
			      "in it cannot be read");
}
END_TEST

#define LONG_AT	   UINT64_C(0xffffb00000000000)
#define LONG_GPA   0xe00000u
#define LONG_NODES (1u << 16) /* in each of the lists */
#define LONG_LISTS 4u

/* Makes a list whose nodes look like tasks for a member of init_task at a multiple of 32 bytes:
 * each has 32 bytes with links and then a name. The last one leads nowhere. */
static void make_long_list(uint32_t off, uint64_t from, uint64_t *to)
{
	_Static_assert(COMM_OFF % 32 == 16, "the name of a node");
	uint64_t before = init_task + off;

	fk_u64(&fk, before, from);
	for (unsigned i = 0; i < LONG_NODES; i++, from += 32, to += 4) {
		to[0] = i + 1 < LONG_NODES ? from + 32 : 0;
		to[1] = before;
		memcpy(&to[2], "task", 5);
		before = from;
	}
}

/* Several members of init_task are long lists. No list is too long, but all together are. */
START_TEST(many_long_lists)
{
	double before = seconds();
	uint64_t *to = (uint64_t *)(fk.machine.ram + LONG_GPA);
	uint64_t bytes = 32 * LONG_NODES;

	xm_map(&fk.machine, fk.k.core.as.root, 4, 2, hv_gva(LONG_AT), hv_gpa(LONG_GPA),
	       LONG_LISTS * bytes >> 21, XM_W);
	for (unsigned i = 0; i < LONG_LISTS; i++)
		make_long_list(0x80 + i * 32, LONG_AT + i * bytes, to + i * bytes / 8);
	check_refused(ENOENT, "struct task_struct: lists in init_task have more than 200000 tasks");
	/* with sanitizers, on a busy machine */
	ck_assert_double_lt(seconds() - before, 30);
}
END_TEST

/* -- members that are not found, or have one proof --------------------------------------------- */

/* Without this code, members have only the proof in memory. */
START_TEST(code_is_missing)
{
	static const char *const functions[] = {
		"bpf_get_current_comm",
		"__set_task_comm",
		"__get_task_comm",
		"bpf_get_current_uid_gid",
		"set_freezable",
		"exit_signals",
		"__switch_to",
		"put_task_stack",
		"irq_enter_rcu",
		"set_task_stack_end_magic",
		"set_user_nice",
		"sched_fork",
		"get_rr_interval_rt",
		"__x64_sys_getuid",
		"bpf_get_smp_processor_id",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(functions); i++)
		remove_code(functions[i]);
	derive();
	check_fact("task_struct", "comm", COMM_OFF, M);
	check_unproved("task_struct", "comm");
	check_fact("task_struct", "stack", STACK_OFF, M);
	check_unproved("task_struct", "stack");
	check_fact("task_struct", "static_prio", STATIC_PRIO_OFF, M);
	check_unproved("task_struct", "static_prio");
	check_fact("task_struct", "rt_priority", RT_PRIORITY_OFF, M);
	check_unproved("task_struct", "rt_priority");
	check_fact("task_struct", "cred", CRED_OFF, M);
	check_unproved("task_struct", "cred");
	check_unknown("cred", "uid");
	/* each of the three members needs its own proof */
	check_proved("pcpu_hot", "current_task");
	check_fact("pcpu_hot", "preempt_count", 8, M);
	check_unproved("pcpu_hot", "preempt_count");
	check_fact("pcpu_hot", "cpu_number", 12, M);
	check_unproved("pcpu_hot", "cpu_number");
	check_proved("task_struct", "pid");
}
END_TEST

/* Each member that every kernel has. */
START_TEST(needed_member_is_missing)
{
	for (unsigned i = 0; i < nr_tasks; i++)
		fk_u64(&fk, stack_at[i], 0);
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where stack of struct task_struct is");
	for (unsigned i = 0; i < nr_tasks; i++)
		make_task(i);
	/* pid 1 must not be a kernel thread */
	fk_u32(&fk, task_at[1] + FLAGS_OFF, PF_KTHREAD);
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where flags of struct task_struct is");
	make_task(1);
	fk_u64(&fk, task_at[1] + MM_OFF, 0); /* process 1 has not executed a program yet */
	check_refused(ENOENT,
		      "the guest's code and memory do not show where mm of struct task_struct is");
	make_task(1);
	fk_u32(&fk, features, 0);
	check_refused(ENOENT, "the guest's code and memory do not show where x86_capability of "
			      "struct cpuinfo_x86 is");
	make_tables();
	fk_u32(&fk, task_at[6] + TGID_OFF, 5);
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where tgid of struct task_struct is");
	fk_u32(&fk, task_at[6] + PID_OFF, 5);
	check_refused(ENOENT,
		      "the guest's code and memory do not show where pid of struct task_struct is");
	make_task(6);
	fk_u32(&fk, task_at[6] + PID_OFF, 1u << 23);
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where tgid of struct task_struct is");
}
END_TEST

/* Only code that uses one of the two distinguishes pid from tgid. */
START_TEST(pid_is_ambiguous_without_code)
{
	remove_code("trace_event_raw_event_sched_kthread_stop");
	remove_code("trace_event_raw_event_sched_process_template");
	check_refused(ENOENT,
		      "the guest's code and memory do not show where pid of struct task_struct is");
}
END_TEST

START_TEST(pid_with_one_function)
{
	remove_code("trace_event_raw_event_sched_kthread_stop");
	derive();
	check_fact("task_struct", "pid", PID_OFF, M | CC);
	forget_types();
	remove_code("bpf_get_current_pid_tgid");
	derive();
	check_fact("task_struct", "pid", PID_OFF, M | C);
	check_fact("task_struct", "tgid", TGID_OFF, M);
	check_unproved("task_struct", "tgid");
}
END_TEST

/* A second member fits memory. Without code, neither is chosen. */
START_TEST(second_member_fits)
{
	for (unsigned i = 0; i < nr_tasks; i++)
		fk_u64(&fk, task_at[i] + 0x600, stack_at[i]);
	derive();
	check_fact("task_struct", "stack", STACK_OFF, M | CC);
	forget_types();
	remove_code("__switch_to");
	remove_code("put_task_stack");
	remove_code("set_task_stack_end_magic");
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where stack of struct task_struct is");
}
END_TEST

/* The code uses another member than memory shows, so it is no proof. */
START_TEST(code_contradicts_memory)
{
	set_code("__switch_to", CODE("\x48\x8b\x46\x28" /* mov 0x28(%rsi),%rax */
				     "\xc3" /* ret */));
	set_code("put_task_stack", CODE("\x48\x8b\x7f\x28" /* mov 0x28(%rdi),%rdi */
					"\xc3" /* ret */));
	set_code("set_task_stack_end_magic", CODE("\x48\x8b\x47\x28" /* mov 0x28(%rdi),%rax */
						  "\xc3" /* ret */));
	derive();
	check_fact("task_struct", "stack", STACK_OFF, M);
	check_unproved("task_struct", "stack");
}
END_TEST

/* If memory shows no member, functions that use different ones prove none. */
START_TEST(code_contradicts_code)
{
	set_code("__x64_sys_getuid",
		 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
		      "\x48\x8b\x80\x48\x05\x00\x00"	     /* mov 0x548(%rax),%rax */
		      "\x8b\x78\x18"			     /* mov 0x18(%rax),%edi */
		      "\xc3" /* ret */));
	derive();
	check_fact("cred", "uid", 0x18, C);
	check_unproved("cred", "uid");
}
END_TEST

START_TEST(code_uses_several_members)
{
	remove_code("__x64_sys_getuid");
	derive();
	check_unknown("cred", "uid");
}
END_TEST

/* An offset that no structure has would wrap in BTF. */
START_TEST(code_with_large_offsets)
{
	set_code("mutex_is_locked",
		 CODE("\x48\x8b\x87\x00\x00\x00\x20" /* mov 0x20000000(%rdi),%rax */
		      "\xc3" /* ret */));
	derive();
	check_unknown("mutex", "owner");
}
END_TEST

/* A function that uses more members than are kept shows nothing, because the right one may be
 * missing from the list. */
START_TEST(code_with_too_many_members)
{
	char bytes[4 * (HV_CODE_OFFS_MAX + 1)];

	set_code("arch_arm_kprobe", CODE("\x48\x8b\x77\x28" /* mov 0x28(%rdi),%rsi */
					 "\x48\x8b\x7f\x30" /* mov 0x30(%rdi),%rdi */
					 "\xc3" /* ret */));
	for (unsigned i = 0; i <= HV_CODE_OFFS_MAX; i++) {
		/* 0x28 is the last one */
		unsigned off = i == HV_CODE_OFFS_MAX ? 0x28 : i * 4 == 0x28 ? 0x2a : i * 4;
		const char move[] = {0x48, (char)0x8b, 0x77, (char)off};

		memcpy(bytes + i * sizeof(move), move, sizeof(move)); /* mov OFF(%rdi),%rsi */
	}
	set_code("arch_disarm_kprobe", bytes, sizeof(bytes));
	derive();
	check_unknown("kprobe", "addr");
}
END_TEST

/* The constant in the instruction chooses the member. */
START_TEST(code_sets_flags_of_two_members)
{
	set_code("register_kprobe", CODE("\x83\x4f\x70\x02" /* orl $2,0x70(%rdi) */
					 "\x83\x4f\x78\x01" /* orl $1,0x78(%rdi) */
					 "\xc3" /* ret */));
	derive();
	check_fact("kprobe", "flags", 0x78, C);
}
END_TEST

/* The length and the kind of the use choose the member. */
START_TEST(code_uses_members_in_other_ways)
{
	set_code("arch_arm_kprobe", CODE("\x48\x89\x77\x30" /* mov %rsi,0x30(%rdi) */
					 "\x8b\x57\x20"	    /* mov 0x20(%rdi),%edx */
					 "\x48\x8d\x4f\x38" /* lea 0x38(%rdi),%rcx */
					 "\x48\x8b\x7f\x28" /* mov 0x28(%rdi),%rdi */
					 "\xc3" /* ret */));
	remove_code("arch_disarm_kprobe");
	derive();
	check_fact("kprobe", "addr", 0x28, C);
}
END_TEST

START_TEST(unknown_members_of_a_trace_line)
{
	set_code("tracing_gen_ctx_irq_test",
		 CODE("\x65\x48\x8b\x14\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rdx */
		      "\x0f\xb7\x82\xb0\x01\x00\x00"	     /* movzwl 0x1b0(%rdx),%eax */
		      "\x48\x8b\x0a"			     /* mov (%rdx),%rcx */
		      "\x8b\x42\x10"			     /* mov 0x10(%rdx),%eax */
		      "\xc3" /* ret */));
	check_refused(ENOENT, "code does not show which members of struct task_struct a trace line "
			      "contains");
}
END_TEST

START_TEST(no_cpu_is_online)
{
	fk_u32(&fk, online, 0);
	check_refused(ENOENT, "the guest's code and memory do not show where hardirq_stack_ptr of "
			      "struct pcpu_hot is");
}
END_TEST

START_TEST(cpu_numbers_are_wrong)
{
	fk_u32(&fk, fk.areas[1] + HOT + 12, 0);
	check_refused(ENOENT, "the guest's code and memory do not show where hardirq_stack_ptr of "
			      "struct pcpu_hot is");
	fk_u32(&fk, fk.areas[1] + HOT + 12, 1);
	fk_u32(&fk, fk.areas[1] + CYC2NS, 7);
	fk_u32(&fk, ids, UINT32_MAX);
	derive();
	check_unknown("cyc2ns", "seq");
	check_fact("task_struct", "pid", PID_OFF, M | CC);
}
END_TEST

START_TEST(threads_lead_elsewhere)
{
	for (unsigned i = 0; i < nr_tasks; i++)
		fk_u64(&fk, signal_at[i] + HEAD_OFF, 0xffff888000000000);
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where signal of struct task_struct is");
}
END_TEST

/* More words of init_task than SIGNALS_MAX point to init_signals. */
START_TEST(many_pointers_to_signals)
{
	for (uint32_t off = 0x5a0; off < SP_OFF; off += 8)
		fk_u64(&fk, init_task + off, init_signals);
	check_refused(
		ENOENT,
		"the guest's code and memory do not show where signal of struct task_struct is");
}
END_TEST

START_TEST(tables_of_another_form)
{
	fk_u32(&fk, exceptions + 12 * 5, 0);
	fk_u64(&fk, black_at + 32 * 5 + 16, FK_BASE + 0x100000);
	derive();
	check_unknown("exception_table_entry", "insn");
	check_unknown("kprobe_blacklist_entry", "start_addr");
	forget_types();
	make_tables();
	/* the addresses do not ascend */
	fk_u32(&fk, exceptions, (uint32_t)(FK_BASE + 0xa000 - exceptions));
	derive();
	check_unknown("exception_table_entry", "insn");
}
END_TEST

START_TEST(blacklist_without_end)
{
	fk_u64(&fk, black_at + 32 * (ENTRIES - 1), black_at);
	derive();
	check_unknown("kprobe_blacklist_entry", "start_addr");
	forget_types();
	fk_u64(&fk, black_at + 32 * (ENTRIES - 1), 0xffff888000000000);
	derive();
	check_unknown("kprobe_blacklist_entry", "start_addr");
}
END_TEST

static void setup(void)
{
	make_guest(20);
}

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, free_guest);
	tcase_add_test(tc, derives_everything);
	tcase_add_test(tc, kept_facts_are_used);
	tcase_add_test(tc, functions_of_paravirt);
	tcase_add_test(tc, idle_tasks_of_other_cpus);
	tcase_add_test(tc, code_of_run_queues);
	tcase_add_test(tc, too_few_kept_facts_are_refused);
	tcase_add_test(tc, many_tasks);
	tcase_add_test(tc, pid_1_and_kthreadd_are_enough_processes);
	tcase_add_test(tc, exception_stacks_of_old_kernels);
	tcase_add_test(tc, kernel_without_bpf);
	tcase_add_test(tc, users_without_bpf);
	tcase_add_test(tc, queue_of_old_kernels);
	tcase_add_test(tc, queue_with_entities);
	tcase_add_test(tc, queue_to_which_tasks_are_added);
	tcase_add_test(tc, functions_that_use_only_the_pid);
	tcase_add_test(tc, no_task_with_a_realtime_policy);
	tcase_add_test(tc, a_guest_that_starts);
	tcase_add_test(tc, preempt_rt);
	tcase_add_test(tc, another_architecture);
	tcase_add_test(tc, init_task_without_name);
	tcase_add_test(tc, init_task_with_two_names);
	tcase_add_test(tc, name_without_end);
	tcase_add_test(tc, init_task_is_not_mapped);
	tcase_add_test(tc, init_task_without_room);
	tcase_add_test(tc, no_init_task);
	tcase_add_test(tc, two_lists_of_tasks);
	tcase_add_test(tc, list_with_a_cycle);
	tcase_add_test(tc, list_that_leaves_memory);
	tcase_add_test(tc, task_that_is_mapped_in_part);
	tcase_add_test(tc, many_long_lists);
	tcase_add_test(tc, code_is_missing);
	tcase_add_test(tc, needed_member_is_missing);
	tcase_add_test(tc, pid_is_ambiguous_without_code);
	tcase_add_test(tc, pid_with_one_function);
	tcase_add_test(tc, second_member_fits);
	tcase_add_test(tc, code_contradicts_memory);
	tcase_add_test(tc, code_contradicts_code);
	tcase_add_test(tc, code_uses_several_members);
	tcase_add_test(tc, code_with_large_offsets);
	tcase_add_test(tc, code_with_too_many_members);
	tcase_add_test(tc, code_sets_flags_of_two_members);
	tcase_add_test(tc, code_uses_members_in_other_ways);
	tcase_add_test(tc, unknown_members_of_a_trace_line);
	tcase_add_test(tc, no_cpu_is_online);
	tcase_add_test(tc, cpu_numbers_are_wrong);
	tcase_add_test(tc, threads_lead_elsewhere);
	tcase_add_test(tc, many_pointers_to_signals);
	tcase_add_test(tc, tables_of_another_form);
	tcase_add_test(tc, blacklist_without_end);
}

int main(void)
{
	return run_suite("derive", add_tests);
}
