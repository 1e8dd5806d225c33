/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's tasks, threads included, from the kernel's lists. The lists are hostile and change
 * while they are read: each walk is bounded, and each structure is copied once. */
#pragma once

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_task {
	struct hv_gva task;
	uint32_t pid; /* the kernel's global one: a thread's own */
	uint32_t tgid;
	char comm[16];		   /* hostile, NUL-terminated */
	struct hv_gva_range stack; /* empty when the task has none, or none any more */
	struct hv_gva sp;	   /* saved when it last slept */
};

struct hv_tasks {
	struct hv_task *list; /* owned */
	size_t nr;
};

/* The idle tasks of every CPU are included. */
struct hv_err *hv_tasks_read(struct hv_kernel *k, struct hv_tasks *ret) hv_must_use;
void hv_tasks_deinit(struct hv_tasks *t);

/* The task that CPU, which is possible, executes; 0: none yet. Where the CPU has it in a register
 * (hv_layout.in_task), it is the one that the scheduler has chosen. */
struct hv_err *hv_task_current(const struct hv_kernel *k, unsigned cpu,
			       struct hv_gva *ret) hv_must_use;

enum hv_scan {
	HV_SCAN_CALLS, /* code that calls: its addresses are on stacks as return addresses */
	/* Code that calls nothing but in the part CALLING: only an interrupt leaves an address of
	 * the rest on a stack. When the end of that interrupt switched the task out, the address is
	 * in one of the sleeping task's frames. A word that is in no frame is left over from an
	 * interrupt that ended long ago, and does not count. When a task's frames cannot be
	 * followed, its words count. In a kernel without ORC tables a word counts when
	 * preempt_schedule_irq() is on the stack below it, or when there is no such symbol. */
	HV_SCAN_INTERRUPTED,
	/* Code in which no task can be switched out: only the stacks that vCPUs are on count. What
	 * a sleeping task has in its frames is left over. */
	HV_SCAN_RUNNING,
	/* What some functions have in their registers and frames (is_user) while they can be
	 * switched out: of a sleeping task it counts while one of its frames is theirs, or it was
	 * interrupted and switched out then, or its frames cannot be followed. What others have in
	 * their frames is left over. */
	HV_SCAN_USED,
};
/* What to look for on stacks. */
struct hv_scan_for {
	struct hv_gva_range range;
	struct hv_gva_range also; /* another part of the range, elsewhere; may be empty */
	enum hv_scan how;
	/* Whether the word at AT, whose value is in the range, is known and does not count. May be
	 * NULL. */
	bool (*is_known)(void *ctx, struct hv_gva at, uint64_t word);
	/* Finds what a function returns to whose return address, at AT, was replaced by a word of
	 * the range. False: that is not known. May be NULL. */
	bool (*find_caller)(void *ctx, struct hv_gva at, struct hv_gva *ret);
	/* For HV_SCAN_USED: whether AT is in one of the functions. */
	bool (*is_user)(void *ctx, struct hv_gva at);
	void *ctx;
	/* The part of the range that calls functions in which a task may sleep: each word of it
	 * counts. */
	struct hv_gva_range calling;
	/* For HV_SCAN_RUNNING and HV_SCAN_USED: functions whose words count, too, sorted. What
	 * calls them calls nothing that waits for an interrupt: a vCPU that does so is in none of
	 * them. */
	const struct hv_gva_range *functions;
	size_t nr_functions;
	/* By vCPU, borrowed: it was in none of the functions in an earlier scan, so that it does
	 * not count any more. A scan adds those that are in none. NULL: all count. */
	bool *have_left;
	/* The tasks, which were read in the same hold, borrowed. NULL: the scan reads them. */
	const struct hv_tasks *tasks;
};

/* Whether AT is in one of the functions. */
static inline bool hv_scan_has_function(const struct hv_scan_for *wanted, struct hv_gva at)
{
	size_t low = 0, high = wanted->nr_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted->functions[middle].start.v <= at.v)
			low = middle + 1;
		else
			high = middle;
	}
	return low && hv_gva_in(at, wanted->functions[low - 1]);
}

static inline bool hv_scan_wants(const struct hv_scan_for *wanted, struct hv_gva at)
{
	return hv_gva_in(at, wanted->range) || hv_gva_in(at, wanted->also);
}

/* Looks for values in the range among the live words of every stack that the kernel could return
 * through: of sleeping tasks from where they slept, of the stacks that the NR vCPUs are on (task,
 * interrupt, exception, entry) from their sp. REGS: the registers of all NR vCPUs, in a hold
 * (hv_hold_registers). *RET_FOUND is the number of words that were found, and 1 for each vCPU whose
 * stack is not known. *RET_WHERE names the first of them: "task 71 (cat)", "cpu 0 irq stack", "vCPU
 * 1 on an unknown stack". It is NULL when nothing was found, and is owned by the caller. RET_WHERE
 * may be NULL. */
struct hv_err *hv_stacks_scan(struct hv_kernel *k, const struct hv_scan_for *wanted,
			      const struct hv_vcpu_regs *regs, unsigned nr, size_t *ret_found,
			      char **ret_where) hv_must_use;
