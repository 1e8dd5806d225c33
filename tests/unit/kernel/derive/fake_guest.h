/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest whose types can be derived: tasks, modules, per-CPU variables, tables, and the code of
 * the functions that use their members. For tests and the fuzzer of kernel/derive/derive.h. The
 * state is static: make one guest per test. */
#pragma once

#include <stdio.h>

#define FK_SYMBOLS 128
#include "tests/unit/kernel/fake_kernel.h"

#include "kernel/derive/derive.h"
#include "kernel/types/facts.h"

enum {
	STACK_OFF = 0x20,
	FLAGS_OFF = 0x2c,
	PRIO_OFF = 0x6c,
	STATIC_PRIO_OFF = 0x70,
	NORMAL_PRIO_OFF = 0x74,
	RT_PRIORITY_OFF = 0x78,
	SE_OFF = 0x80,
	POLICY_OFF = 0x1a4,
	MIGRATION_OFF = 0x1b0,
	TASKS_OFF = 0x2f0,
	MM_OFF = 0x348,
	PID_OFF = 0x3c0,
	TGID_OFF = 0x3c4,
	NODE_OFF = 0x480,
	CRED_OFF = 0x548,
	COMM_OFF = 0x550,
	SIGNAL_OFF = 0x590,
	SP_OFF = 0x6c0,
	TASK_BYTES = 0x740
};
enum { HEAD_OFF = 0x10 };					/* in struct signal_struct */
enum { PV_IRQ_OFF = 0x68 };					/* in pv_ops */
enum { CURR_OFF = 0x960, IDLE_OFF = 0x968, CLOCK_OFF = 0x990 }; /* in struct rq */
enum {
	LIST_OFF = 8,
	NAME_OFF = 24,
	KALLSYMS_OFF = 0x150,
	MEM_OFF = 0x180,
	MEM_BYTES = 72,
	SYMBOLS_OFF = 0x390, /* struct mod_kallsyms */
	REFCNT_OFF = 0x3c0,
	ARCH_OFF = 0x440,
	MODULE_BYTES = 0x480
};

#define PF_KTHREAD  0x200000u
#define STACK_MAGIC 0x57ac6e9du
#define STACK_BYTES 0x4000u
#define RETURNS_TO  (FK_BASE + 0x8123)
#define IRQ_DISABLE (FK_BASE + 0xb000)
#define BANNER	    "Linux version 6.5.0 (builder) #1 SMP PREEMPT_DYNAMIC Mon"

#define HOT	  FK_PERCPU(1)
#define CYC2NS	  FK_PERCPU(2)
#define CEA_STACK FK_PERCPU(3)
#define TSS	  FK_PERCPU(4)
#define RUNQUEUES FK_PERCPU(5)

#define CEA	  UINT64_C(0xfffffe0000000000) /* struct cpu_entry_area of CPU 0 */
#define CEA_SP0	  (CEA + 0x2000)
#define CEA_GUARD (CEA + 0x8000)
#define CEA_GPA	  0xd00000u

#define TASKS	70u
#define MODULES 3u
#define ENTRIES 120u /* of the exception table and of the list of functions without kprobes */

struct code {
	const char *function;
	const char *bytes;
	size_t len;
};

#define CODE(bytes) (bytes), sizeof(bytes) - 1

/* clang-format off */
static const struct code codes[] = {
	{"bpf_get_current_comm",
	 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
	      "\x48\x8d\xb0\x50\x05\x00\x00" /* lea 0x550(%rax),%rsi */
	      "\xc3" /* ret */)},
	{"__set_task_comm",
	 CODE("\x48\x8d\x9f\x50\x05\x00\x00" /* lea 0x550(%rdi),%rbx */
	      "\xc3" /* ret */)},
	{"__get_task_comm",
	 CODE("\x48\x8d\xb2\x50\x05\x00\x00" /* lea 0x550(%rdx),%rsi */
	      "\xc3" /* ret */)},
	{"trace_event_raw_event_sched_kthread_stop",
	 CODE("\x8b\x86\xc0\x03\x00\x00" /* mov 0x3c0(%rsi),%eax */
	      "\xc3" /* ret */)},
	{"trace_event_raw_event_sched_process_template",
	 CODE("\x8b\x86\xc0\x03\x00\x00" /* mov 0x3c0(%rsi),%eax */
	      "\xc3" /* ret */)},
	{"bpf_get_current_pid_tgid",
	 CODE("\x65\x48\x8b\x14\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rdx */
	      "\x8b\x82\xc4\x03\x00\x00" /* mov 0x3c4(%rdx),%eax */
	      "\x8b\x92\xc0\x03\x00\x00" /* mov 0x3c0(%rdx),%edx */
	      "\xc3" /* ret */)},
	{"set_freezable",
	 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
	      "\x81\x60\x2c\xff\x7f\xff\xff" /* andl $0xffff7fff,0x2c(%rax) */
	      "\xc3" /* ret */)},
	{"exit_signals",
	 CODE("\x83\x4f\x2c\x04" /* orl $4,0x2c(%rdi) */
	      "\xc3" /* ret */)},
	{"__switch_to",
	 CODE("\x48\x8b\x46\x20" /* mov 0x20(%rsi),%rax */
	      "\xc3" /* ret */)},
	{"get_task_mm",
	 CODE("\x48\x8b\x87\x48\x03\x00\x00" /* mov 0x348(%rdi),%rax */
	      "\xc3" /* ret */)},
	{"put_task_stack",
	 CODE("\x48\x8b\x7f\x20" /* mov 0x20(%rdi),%rdi */
	      "\xc3" /* ret */)},
	{"set_task_stack_end_magic",
	 CODE("\x48\x8b\x47\x20" /* mov 0x20(%rdi),%rax */
	      "\x48\xc7\x00\x9d\x6e\xac\x57" /* movq $0x57ac6e9d,(%rax) */
	      "\xc3" /* ret */)},
	{"__switch_to_asm",
	 CODE("\x48\x89\xa7\xc0\x06\x00\x00" /* mov %rsp,0x6c0(%rdi) */
	      "\x48\x8b\xa6\xc0\x06\x00\x00" /* mov 0x6c0(%rsi),%rsp */
	      "\xc3" /* ret */)},
	{"set_user_nice",
	 CODE("\x89\x77\x70" /* mov %esi,0x70(%rdi) */
	      "\xc3" /* ret */)},
	{"sched_fork",
	 CODE("\xc7\x86\xa4\x01\x00\x00\x00\x00\x00\x00" /* movl $0,0x1a4(%rsi) */
	      "\xc7\x46\x70\x78\x00\x00\x00" /* movl $0x78,0x70(%rsi) */
	      "\xc7\x46\x78\x00\x00\x00\x00" /* movl $0,0x78(%rsi) */
	      "\xc3" /* ret */)},
	{"task_prio",
	 CODE("\x8b\x47\x6c" /* mov 0x6c(%rdi),%eax */
	      "\xc3" /* ret */)},
	{"get_rr_interval_rt",
	 CODE("\x83\xbe\xa4\x01\x00\x00\x02" /* cmpl $2,0x1a4(%rsi) */
	      "\xc3" /* ret */)},
	{"bpf_get_current_uid_gid",
	 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
	      "\x48\x8b\x80\x48\x05\x00\x00" /* mov 0x548(%rax),%rax */
	      "\x8b\x50\x08" /* mov 8(%rax),%edx */
	      "\x8b\x40\x0c" /* mov 12(%rax),%eax */
	      "\xc3" /* ret */)},
	{"__x64_sys_getuid",
	 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
	      "\x48\x8b\x80\x48\x05\x00\x00" /* mov 0x548(%rax),%rax */
	      "\x8b\x78\x08" /* mov 8(%rax),%edi */
	      "\xc3" /* ret */)},
	{"tracing_gen_ctx_irq_test",
	 CODE("\x65\x48\x8b\x14\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rdx */
	      "\x0f\xb7\x82\xb0\x01\x00\x00" /* movzwl 0x1b0(%rdx),%eax */
	      "\x48\x8b\x0a" /* mov (%rdx),%rcx */
	      "\xc3" /* ret */)},
	{"tracing_generic_entry_update",
	 CODE("\x65\x48\x8b\x14\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rdx */
	      "\x48\x8b\x0a" /* mov (%rdx),%rcx */
	      "\xc3" /* ret */)},
	{"migrate_disable",
	 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
	      "\x66\xff\x80\xb0\x01\x00\x00" /* incw 0x1b0(%rax) */
	      "\xc3" /* ret */)},
	{"signal_wake_up_state",
	 CODE("\xf0\x48\x0f\xba\x2f\x02" /* lock btsq $2,(%rdi) */
	      "\xc3" /* ret */)},
	{"recalc_sigpending",
	 CODE("\x65\x48\x8b\x04\x25\x00\x10\x00\x00" /* mov %gs:0x1000,%rax */
	      "\xf0\x80\x20\xfb" /* lock andb $0xfb,(%rax) */
	      "\xc3" /* ret */)},
	{"set_next_task_fair",
	 CODE("\x48\x8d\x86\x80\x00\x00\x00" /* lea 0x80(%rsi),%rax */
	      "\x48\x8d\x97\x30\x0a\x00\x00" /* lea 0xa30(%rdi),%rdx */
	      "\x48\x89\x96\x80\x00\x00\x00" /* mov %rdx,0x80(%rsi) */
	      "\x48\x89\x87\x30\x0a\x00\x00" /* mov %rax,0xa30(%rdi) */
	      "\xc3" /* ret */)},
	{"arch_arm_kprobe",
	 CODE("\x48\x8b\x7f\x28" /* mov 0x28(%rdi),%rdi */
	      "\xc3" /* ret */)},
	{"arch_disarm_kprobe",
	 CODE("\x48\x8b\x77\x28" /* mov 0x28(%rdi),%rsi */
	      "\xc3" /* ret */)},
	{"register_kprobe",
	 CODE("\x83\x4f\x78\x01" /* orl $1,0x78(%rdi) */
	      "\xc3" /* ret */)},
	{"mutex_is_locked",
	 CODE("\x48\x8b\x07" /* mov (%rdi),%rax */
	      "\xc3" /* ret */)},
	{"try_module_get",
	 CODE("\x83\x3f\x02" /* cmpl $2,(%rdi) */
	      "\xf0\xff\x87\xc0\x03\x00\x00" /* lock incl 0x3c0(%rdi) */
	      "\xc3" /* ret */)},
	{"module_refcount",
	 CODE("\x8b\x87\xc0\x03\x00\x00" /* mov 0x3c0(%rdi),%eax */
	      "\xc3" /* ret */)},
	{"unwind_module_init",
	 CODE("\x89\x8f\x40\x04\x00\x00" /* mov %ecx,0x440(%rdi) */
	      "\xc3" /* ret */)},
	{"idle_cpu",
	 CODE("\x48\x8b\x88\x68\x09\x00\x00" /* mov 0x968(%rax),%rcx */
	      "\x48\x39\x88\x60\x09\x00\x00" /* cmp %rcx,0x960(%rax) */
	      "\x8b\x48\x04" /* mov 4(%rax),%ecx */
	      "\xc3" /* ret */)},
	{"update_rq_clock",
	 CODE("\x8b\x87\x88\x09\x00\x00" /* mov 0x988(%rdi),%eax */
	      "\x48\x2b\x87\x90\x09\x00\x00" /* sub 0x990(%rdi),%rax */
	      "\x48\x89\x87\x90\x09\x00\x00" /* mov %rax,0x990(%rdi) */
	      "\x48\x01\x87\xc0\x09\x00\x00" /* add %rax,0x9c0(%rdi) */
	      "\xc3" /* ret */)},
	{"bpf_get_smp_processor_id",
	 CODE("\x65\x8b\x04\x25\x0c\x10\x00\x00" /* mov %gs:0x100c,%eax */
	      "\xc3" /* ret */)},
	{"irq_enter_rcu",
	 CODE("\x65\x81\x04\x25\x08\x10\x00\x00\x00\x00\x01\x00" /* addl $0x10000,%gs:0x1008 */
	      "\xc3" /* ret */)},
};
/* clang-format on */

static struct fk fk;
static uint64_t init_task, init_cred, init_signals, modules_head, exceptions, blacklist, online,
	ids;
static uint64_t task_at[TASKS], stack_at[TASKS], signal_at[TASKS], module_at[MODULES];
static uint64_t black_at, features, pv_ops, idle_task; /* of CPU 1 */
static unsigned nr_tasks;
static bool has_hole; /* as in 5.4, the third exception stack is not mapped */

#ifndef FUNCTION_BYTES
#define FUNCTION_BYTES 256u
#endif

static inline uint64_t function_at(unsigned i)
{
	return FK_BASE + i * FUNCTION_BYTES;
}

/* Replaces the code of FUNCTION. */
static inline void set_code(const char *function, const char *bytes, size_t len)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(codes); i++) {
		if (strcmp(codes[i].function, function) != 0)
			continue;
		memset(fk_host(&fk, function_at(i)), 0xcc, FUNCTION_BYTES);
		memcpy(fk_host(&fk, function_at(i)), bytes, len);
		return;
	}
	abort();
}

static inline void remove_code(const char *function)
{
	set_code(function, "", 0);
}

static inline void write_list(uint64_t list, uint64_t next, uint64_t prev)
{
	fk_u64(&fk, list, next);
	fk_u64(&fk, list + 8, prev);
}

/* Links the first NR tasks. */
static inline void link_tasks(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		write_list(task_at[i] + TASKS_OFF, task_at[(i + 1) % nr] + TASKS_OFF,
			   task_at[(i + nr - 1) % nr] + TASKS_OFF);
}

/* Task I has pid I. Tasks 3 and 4 have the policies FIFO and RR. */
static inline void make_task(unsigned i)
{
	static const char *const comms[] = {"swapper/0", "systemd", "kthreadd"};
	uint64_t task = task_at[i], sp = stack_at[i] + STACK_BYTES - 0x100;
	uint32_t rt = i == 3 ? 99 : i == 4 ? 50 : 0;

	fk_u64(&fk, task + STACK_OFF, stack_at[i]);
	fk_u32(&fk, task + FLAGS_OFF, i == 1 || i > 4 ? 0x400100 : PF_KTHREAD | 0x40);
	fk_u64(&fk, task + MM_OFF, i == 1 || i > 4 ? FK_BASE + 0x7000 + 64 * i : 0);
	fk_u32(&fk, task + PRIO_OFF, rt ? 99 - rt : 120);
	fk_u32(&fk, task + STATIC_PRIO_OFF, 120);
	fk_u32(&fk, task + NORMAL_PRIO_OFF, rt ? 99 - rt : 120);
	fk_u32(&fk, task + RT_PRIORITY_OFF, rt);
	fk_u32(&fk, task + POLICY_OFF, i == 3 ? 1 : i == 4 ? 2 : 0);
	fk_u32(&fk, task + PID_OFF, i);
	fk_u32(&fk, task + TGID_OFF, i);
	fk_u64(&fk, task + CRED_OFF - 8, init_cred);
	fk_u64(&fk, task + CRED_OFF, init_cred);
	fk_str(&fk, task + COMM_OFF, i < 3 ? comms[i] : "worker");
	fk_u64(&fk, task + SIGNAL_OFF, signal_at[i]);
	write_list(task + NODE_OFF, signal_at[i] + HEAD_OFF, signal_at[i] + HEAD_OFF);
	write_list(signal_at[i] + HEAD_OFF, task + NODE_OFF, task + NODE_OFF);
	fk_u64(&fk, task + SP_OFF, sp);
	fk_u64(&fk, sp + 40, sp + 0x40); /* bp */
	fk_u64(&fk, sp + 48, RETURNS_TO);
	fk_u64(&fk, stack_at[i], STACK_MAGIC);
}

static inline void make_tasks(unsigned nr)
{
	nr_tasks = nr;
	for (unsigned i = 0; i < nr; i++) {
		stack_at[i] = fk_alloc(&fk, STACK_BYTES);
		task_at[i] = i ? fk_alloc(&fk, 4096) : init_task;
		signal_at[i] = i ? fk_alloc(&fk, 4096) : init_signals;
		make_task(i);
	}
	link_tasks(nr);
}

static inline void make_tables(void)
{
	uint64_t links = blacklist, entry = black_at;

	for (unsigned i = 0; i < ENTRIES; i++) {
		uint64_t at = exceptions + 12 * i;

		fk_u32(&fk, at, (uint32_t)(FK_BASE + 0x9000 + 16 * i - at));
		fk_u32(&fk, at + 4, (uint32_t)(FK_BASE + 0xa000 - (at + 4)));
		fk_u32(&fk, at + 8, 1 + i % 3);
		fk_u64(&fk, links, entry);
		fk_u64(&fk, entry + 16, FK_BASE + 0x9000 + 16 * i);
		fk_u64(&fk, entry + 24, FK_BASE + 0x9010 + 16 * i);
		links = entry;
		entry += 32;
	}
	fk_u64(&fk, links, blacklist);
	fk_u32(&fk, features, 0x178bfbff);
	fk_u32(&fk, features + 4, 0x2c100800);
}

static inline void make_cpus(void)
{
	struct hv_gpa gpa = hv_gpa(CEA_GPA);

	fk_u32(&fk, ids, FK_NR_CPUS);
	fk_u32(&fk, online, (1u << FK_NR_CPUS) - 1);
	for (unsigned cpu = 0; cpu < FK_NR_CPUS; cpu++) {
		uint64_t area = fk.areas[cpu];

		fk_u64(&fk, area + HOT, task_at[cpu]);
		fk_u32(&fk, area + HOT + 12, cpu);
		fk_u64(&fk, area + HOT + 24, stack_at[cpu] + 0xff8);
		fk_u64(&fk, stack_at[cpu] + 0xff8, 1);
		fk_u32(&fk, area + CYC2NS, (uint32_t)(((uint64_t)1000000 << 10) / 2400000));
		fk_u32(&fk, area + CYC2NS + 4, 10);
		fk_u64(&fk, area + CEA_STACK, CEA_GUARD);
		fk_u64(&fk, area + TSS + 4, CEA_SP0);
		fk_u64(&fk, area + RUNQUEUES + CURR_OFF, task_at[cpu + 3]);
		fk_u64(&fk, area + RUNQUEUES + IDLE_OFF, cpu ? idle_task : init_task);
	}
	fk_str(&fk, idle_task + COMM_OFF, "swapper/1");
	/* Stacks of two pages each, between pages that are not mapped. */
	for (unsigned i = 0; i < (has_hole ? 6 : 4); i++, gpa.v += 0x2000)
		if (!has_hole || i != 2)
			xm_map(&fk.machine, fk.k.core.as.root, 4, 1,
			       hv_gva(CEA_GUARD + 0x1000 + i * 0x3000), gpa, 2, XM_W);
}

/* How a kernel describes the memory of its modules. */
enum module_form {
	CORE_LAYOUT,   /* up to 6.3 */
	MEM,	       /* since 6.4 */
	MEM_WITH_COPY, /* 6.13 and 6.14: rw_copy and is_rox precede the size */
	MEM_WITH_ROX   /* since 6.15 */
};

#define MODULE_ORCS 20u

/* The first five entries are of the module's init text. */
static inline void make_orcs(uint64_t module, uint64_t ips, uint64_t text)
{
	fk_u32(&fk, module + ARCH_OFF, MODULE_ORCS);
	fk_u64(&fk, module + ARCH_OFF + 8, ips);
	fk_u64(&fk, module + ARCH_OFF + 16, ips + 0x1000);
	for (unsigned i = 0; i < MODULE_ORCS; i++)
		fk_u32(&fk, ips + 4 * i,
		       (uint32_t)(text + 16 * i - (i < 5 ? 0x8000 : 0) - (ips + 4 * i)));
}

/* Adds the modules to the list. Their structures begin 0x100 bytes after a page. */
static inline void make_modules(enum module_form form)
{
	static const char *const names[MODULES] = {"virtio_net", "xfs", "dm_mod"};
	static const uint64_t size_offs[] = {8, 8, 20, 12}, back_offs[] = {24, 16, 24, 16};

	for (unsigned i = 0; i < MODULES; i++) {
		uint64_t at = FK_MODULES + 0x10000 * (i + 1) + 0x100, base = at & ~0xfffull;
		uint64_t parts = form == CORE_LAYOUT ? 1 : 7;

		module_at[i] = at;
		memset(fk_host(&fk, base), 0, 0x10000);
		fk_str(&fk, at + NAME_OFF, names[i]);
		fk_u64(&fk, at + KALLSYMS_OFF, at + SYMBOLS_OFF);
		fk_u64(&fk, at + SYMBOLS_OFF, base + 0x4000);
		fk_u32(&fk, at + SYMBOLS_OFF + 8, 17);
		fk_u64(&fk, at + SYMBOLS_OFF + 16, base + 0x5000);
		fk_u64(&fk, at + SYMBOLS_OFF + 24, base + 0x6000);
		memset(fk_host(&fk, base + 0x6000), 't', 17);
		fk_u32(&fk, at + REFCNT_OFF, i + 1);
		make_orcs(at, base + 0x8000, base);
		for (uint64_t part = 0; part < parts; part++) {
			uint64_t mem = at + MEM_OFF + part * MEM_BYTES;

			fk_u64(&fk, mem, base + 0x1000 * part);
			fk_u32(&fk, mem + size_offs[form], 0x2000);
			if (form == CORE_LAYOUT)
				fk_u32(&fk, mem + 12, 0x1800);
			fk_u64(&fk, mem + back_offs[form], at);
		}
	}
	for (unsigned i = 0; i < MODULES; i++)
		write_list(module_at[i] + LIST_OFF,
			   i + 1 < MODULES ? module_at[i + 1] + LIST_OFF : modules_head,
			   i ? module_at[i - 1] + LIST_OFF : modules_head);
	write_list(modules_head, module_at[0] + LIST_OFF, module_at[MODULES - 1] + LIST_OFF);
}

static inline void remove_modules(void)
{
	write_list(modules_head, modules_head, modules_head);
}

static inline uint64_t variable(const char *name, uint64_t len_bytes)
{
	uint64_t at = fk_alloc(&fk, len_bytes + 1);

	fk_symbol(&fk, name, at);
	fk_symbol(&fk, "after_it", at + ((len_bytes + 7) & ~7ull));
	return at;
}

/* Makes a guest with NR tasks, including init_task, and no modules. */
static inline void make_guest(unsigned nr)
{
	fk_init(&fk);
	for (unsigned i = 0; i < HV_ARRAY_LEN(codes); i++) {
		fk_symbol(&fk, codes[i].function, function_at(i));
		set_code(codes[i].function, codes[i].bytes, codes[i].len);
	}
	fk_symbol(&fk, "end_of_code", function_at(HV_ARRAY_LEN(codes)));
	fk_symbol(&fk, "pv_native_irq_disable", IRQ_DISABLE);
	fk_symbol(&fk, "pv_native_irq_enable", IRQ_DISABLE + 16);
	fk_symbol(&fk, "pcpu_hot", HOT);
	fk_symbol(&fk, "runqueues", RUNQUEUES);
	fk_symbol(&fk, "cyc2ns", CYC2NS);
	fk_symbol(&fk, "cea_exception_stacks", CEA_STACK);
	fk_symbol(&fk, "cpu_tss_rw", TSS);
	init_task = variable("init_task", TASK_BYTES);
	init_cred = variable("init_cred", 64);
	init_signals = variable("init_signals", 512);
	modules_head = variable("modules", 16);
	blacklist = variable("kprobe_blacklist", 16);
	online = variable("__cpu_online_mask", 8);
	ids = variable("nr_cpu_ids", 4);
	fk_u32(&fk, variable("tsc_khz", 4), 2400000);
	pv_ops = variable("pv_ops", 256);
	fk_u64(&fk, pv_ops + PV_IRQ_OFF + 8, IRQ_DISABLE);
	fk_u64(&fk, pv_ops + PV_IRQ_OFF + 16, IRQ_DISABLE + 16);
	features = variable("boot_cpu_data", 256) + 0x28;
	exceptions = fk_alloc(&fk, 12 * ENTRIES);
	fk_symbol(&fk, "__start___ex_table", exceptions);
	fk_symbol(&fk, "__stop___ex_table", exceptions + 12 * ENTRIES);
	fk_symbol(&fk, "__start_init_stack", fk.brk);
	fk_symbol(&fk, "__end_init_stack", fk.brk + STACK_BYTES);
	black_at = fk_alloc(&fk, 32 * ENTRIES);
	idle_task = fk_alloc(&fk, 4096);
	make_tasks(nr);
	make_tables();
	make_cpus();
	remove_modules();
	hv_symbols_index(&fk.k.core.symbols);
}

static inline void forget_types(void)
{
	struct hv_types *t = &fk.k.core.types;

	if (t->facts)
		hv_facts_deinit(t->facts);
	free(t->facts);
	hv_btf_free(t->replaced);
	hv_btf_free(hv_take(fk.k.core.btf));
	*t = (struct hv_types){0};
}

static inline void free_guest(void)
{
	forget_types();
	fk_deinit(&fk);
}
