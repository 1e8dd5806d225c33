/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shadow call stacks: the kernel keeps each return address a second time, on a stack that has
 * nothing else, and returns to what is there (CONFIG_SHADOW_CALL_STACK; include/linux/scs.h). Each
 * task has one, and so has the interrupt stack of each CPU. The guest is hostile: lengths are
 * bounded, and a stack that is too long is an error, as are two for one kernel stack. Leaves to
 * others: which address belongs to which call (tracer/return_places.h). */
#pragma once

#include "kernel/kernel.h"
#include "kernel/tasks.h"

struct hv_shadow_stack {
	struct hv_gva_range stack; /* the kernel stack that has the frames of the same calls */
	struct hv_gva start;
	struct hv_gva end;     /* behind the innermost call's address */
	const uint64_t *words; /* what is there, the outermost call's first; perhaps signed */
	size_t nr;
	bool is_seen; /* a vCPU is on it */
};

struct hv_shadow_stacks {
	enum {
		HV_SHADOW_NONE,	   /* functions return by their frames */
		HV_SHADOW_UNKNOWN, /* they do not, and where the addresses are is not known */
		HV_SHADOW_KNOWN,
	} state;
	struct hv_shadow_stack *list; /* owned; sorted by start */
	size_t nr;
	size_t cap;
	uint64_t *words; /* owned; of all of them */
	/* A vCPU is in the kernel and on none of them, as while it goes from one to another. */
	bool is_between;
	unsigned vcpu; /* which one */
};

/* In a hold. TASKS were read in it; REGS: the registers of all NR_VCPUS. A kernel that could have
 * such stacks and does without them (CONFIG_DYNAMIC_SCS on a CPU that signs addresses) has
 * HV_SHADOW_NONE. */
struct hv_err *hv_shadow_stacks_read(struct hv_kernel *k, const struct hv_tasks *tasks,
				     const struct hv_vcpu_regs *regs, unsigned nr_vcpus,
				     struct hv_shadow_stacks *ret) hv_must_use;
void hv_shadow_stacks_deinit(struct hv_shadow_stacks *s);
