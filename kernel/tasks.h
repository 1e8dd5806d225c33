/* Tasks of the guest, threads included, walked through the kernel's lists (hostile and moving:
 * bounded, each structure copied once). */
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
	struct hv_gva_range stack; /* empty when the task has none (any more) */
	struct hv_gva sp;	   /* saved when it last slept */
};

struct hv_tasks {
	struct hv_task *list; /* owned */
	size_t nr;
};

/* The idle tasks of every CPU are included. */
struct hv_err *hv_tasks_read(struct hv_kernel *k, struct hv_tasks *ret) hv_must_use;
void hv_tasks_deinit(struct hv_tasks *t);

enum hv_scan {
	HV_SCAN_CALLS, /* code that calls: its addresses are on stacks as return addresses */
	/* Code that calls nothing: only an interrupt leaves an address of it on a stack. A task
	 * sleeps with one only where preempt_schedule_irq() switched it out, which is then on its
	 * stack below; a word without it is left over from an interrupt long ended. */
	HV_SCAN_INTERRUPTED,
};
/* What to look for on stacks. */
struct hv_scan_for {
	struct hv_gva_range range;
	enum hv_scan how;
	/* Whether the word at AT, a value in the range, is known and no finding. May be NULL. */
	bool (*is_known)(void *ctx, struct hv_gva at, uint64_t word);
	void *ctx;
};

/* Looks for a value inside the range in the live words of every stack the kernel could return
 * through: of sleeping tasks from where they slept, of the stacks the NR vCPUs are on (task,
 * interrupt, exception, entry) from their sp. REGS: of a held guest (hv_hold_registers), NR of
 * them. *RET_FOUND counts words found, and 1 for each vCPU whose stack is not known; *RET_WHERE
 * (may be NULL; owned by the caller, NULL when nothing was found) names the first: "task 71 (cat)",
 * "cpu 0 irq stack", "vCPU 1 on an unknown stack". */
struct hv_err *hv_stacks_scan(struct hv_kernel *k, const struct hv_scan_for *wanted,
			      const struct hv_vcpu_regs *regs, unsigned nr, size_t *ret_found,
			      char **ret_where) hv_must_use;
