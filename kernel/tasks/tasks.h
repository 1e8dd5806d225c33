/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's tasks, including threads, from the kernel's lists, and searches of their stacks. The
 * lists are untrusted and change during the read: each walk is bounded, and each structure is
 * copied once. */
#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "base/bisect.h"
#include "base/err.h"
#include "arch/arch.h"

struct hv_kernel;

struct hv_task {
	struct hv_gva task;
	uint32_t pid; /* a thread's global id */
	uint32_t tgid;
	char comm[16];		   /* untrusted, NUL-terminated */
	struct hv_gva_range stack; /* empty if the task has no stack, or has freed it */
	struct hv_gva sp;	   /* saved when it last slept */
};

struct hv_tasks {
	struct hv_task *list; /* owned */
	size_t nr;
};

/* Includes the idle task of every CPU. */
struct hv_err *hv_tasks_read(struct hv_kernel *k, struct hv_tasks *ret) hv_must_use;
void hv_tasks_deinit(struct hv_tasks *t);

/* Returns the task that CPU, a possible CPU, executes; 0 if none yet. If the CPU has the task in a
 * register (hv_layout.in_task), returns the task that the scheduler has selected. */
struct hv_err *hv_task_current(const struct hv_kernel *k, unsigned cpu,
			       struct hv_gva *ret) hv_must_use;

enum hv_scan {
	HV_SCAN_CALLS, /* code that calls: stacks contain its addresses as return addresses */
	/* Code that calls nothing outside the part CALLING: only an interrupt puts other addresses
	 * of it on a stack. If the task was switched out at the end of that interrupt, the address
	 * is in one of the sleeping task's frames. Words outside of frames are remnants of old
	 * interrupts and are ignored. If a task's frames cannot be walked, all its words count. In
	 * a kernel without ORC tables a word counts if preempt_schedule_irq() is on the stack below
	 * it, or if there is no such symbol. */
	HV_SCAN_INTERRUPTED,
	/* Code in which no task can be switched out: only stacks that vCPUs are on count. Words in
	 * the frames of a sleeping task are remnants. */
	HV_SCAN_RUNNING,
	/* Values that some functions (is_user) keep in registers and frames while they can be
	 * switched out. In a sleeping task a value counts if one of the task's frames belongs to
	 * these functions, if it was preempted by an interrupt in them, or if its frames cannot be
	 * walked. Values in frames of other functions are remnants. */
	HV_SCAN_USED,
};
/* Addresses that a search of stacks looks for. */
struct hv_scan_for {
	struct hv_gva_range range;
	struct hv_gva_range also; /* second part of the range; may be empty */
	enum hv_scan how;
	/* Returns whether the word at AT, a value in the range, is known and can be ignored. May be
	 * NULL. */
	bool (*is_known)(void *ctx, struct hv_gva at, uint64_t word);
	/* Returns the original return address of a function whose return address at AT was replaced
	 * by a word in the range. Returns false if unknown. May be NULL. */
	bool (*find_caller)(void *ctx, struct hv_gva at, struct hv_gva *ret);
	/* For HV_SCAN_USED: returns whether AT is in one of the functions. */
	bool (*is_user)(void *ctx, struct hv_gva at);
	void *ctx;
	/* The part of the range that calls functions in which a task may sleep: each word in it
	 * counts. */
	struct hv_gva_range calling;
	/* For HV_SCAN_RUNNING and HV_SCAN_USED: sorted functions, or other ranges of code, whose
	 * addresses also count. They must not call the idle loop. A vCPU that waits for an interrupt
	 * in the idle loop is in none of them; one that halts elsewhere, such as to wait for a lock,
	 * can be. */
	const struct hv_gva_range *functions;
	size_t nr_functions;
	/* Per vCPU, borrowed: an earlier scan saw it outside the functions, so it no longer counts.
	 * A scan sets the entries of vCPUs outside. NULL: all vCPUs count. */
	bool *have_left;
	/* The tasks, read in the same hold, borrowed. NULL: the scan reads them. */
	const struct hv_tasks *tasks;
};

/* Returns whether AT is in one of the functions. */
static inline bool hv_scan_has_function(const struct hv_scan_for *wanted, struct hv_gva at)
{
	size_t nr = HV_BISECT(i, wanted->nr_functions, wanted->functions[i].start.v <= at.v);

	return nr && hv_gva_in(at, wanted->functions[nr - 1]);
}

static inline bool hv_scan_wants(const struct hv_scan_for *wanted, struct hv_gva at)
{
	return hv_gva_in(at, wanted->range) || hv_gva_in(at, wanted->also);
}

/* Searches every stack that the kernel can return through for values in the range: the stacks of
 * sleeping tasks from their saved sp, and the stacks that the NR vCPUs are on (task, interrupt,
 * exception, entry) from their current sp. Call in a hold; REGS are the registers of all NR vCPUs
 * from hv_hold_registers().
 *
 * *RET_FOUND is the number of matching words and vCPUs. A vCPU matches if it executes one of the
 * functions, if the interrupted address may be only in a register that is not visible, or if it is
 * on an unknown stack. *RET_WHERE names the first match: "task 71 (cat)", "cpu 0 irq stack", "vCPU
 * 1 on an unknown stack (sp 0x...)". It is NULL if there is no match; the caller frees it.
 * RET_WHERE may be NULL. */
struct hv_err *hv_stacks_scan(struct hv_kernel *k, const struct hv_scan_for *wanted,
			      const struct hv_vcpu_regs *regs, unsigned nr, size_t *ret_found,
			      char **ret_where) hv_must_use;

/* The task fields in the header of a latency trace, including the priority, read from current guest
 * memory. Untrusted, and can change during the read. tracer/sections/section_tracer.h reads the
 * guest's own record of them. */
struct hv_task_line {
	uint32_t pid;
	int32_t prio; /* below 0: deadline; below 100: realtime; 120: nice 0 */
	uint32_t uid;
	int32_t nice;
	uint32_t policy;
	uint32_t rt_priority;
};

/* Reads the fields of the task that CPU executes. Fails with ENOENT if the CPU is not possible or
 * executes no task, or this kernel's types lack a member. */
struct hv_err *hv_task_line_of_cpu(const struct hv_kernel *k, unsigned cpu,
				   struct hv_task_line *ret) hv_must_use;
/* Reads the fields of the task PID, found in the guest's task lists. Fails with ENOENT if the task
 * does not exist or this kernel's types lack a member. */
struct hv_err *hv_task_line_of(struct hv_kernel *k, uint32_t pid,
			       struct hv_task_line *ret) hv_must_use;

/* The members of struct task_struct that tasks.c and stacks.c read. Private to kernel/. */
struct hv_task_layout {
	uint32_t len_bytes; /* size of the part of task_struct that is copied */
	uint32_t tasks, thread_node, signal, pid, tgid, comm, stack, sp;
	uint32_t thread_head; /* offset in struct signal_struct */
};

struct hv_err *hv_task_layout_find(const struct hv_kernel *k,
				   struct hv_task_layout *ret) hv_must_use;
struct hv_err *hv_task_read_one(const struct hv_kernel *k, const struct hv_task_layout *l,
				struct hv_gva at, struct hv_task *ret) hv_must_use;
