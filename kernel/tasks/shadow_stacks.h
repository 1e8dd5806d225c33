/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shadow call stacks: the kernel keeps a second copy of each return address on a separate stack and
 * returns to that copy (CONFIG_SHADOW_CALL_STACK; include/linux/scs.h). Each task and the interrupt
 * stack of each CPU have one. The guest is untrusted: lengths are bounded; a stack that is too long
 * and two shadow stacks for one kernel stack are errors. tracer/return_places.h matches addresses
 * with calls. */
#pragma once

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"

struct hv_shadow_stack {
	struct hv_gva_range stack; /* the kernel stack with the frames of the same calls */
	struct hv_gva start;
	struct hv_gva end;     /* after the innermost call's address */
	const uint64_t *words; /* the return addresses, outermost call first; possibly signed */
	size_t nr;
	bool is_seen; /* a vCPU is on it */
};

struct hv_shadow_stacks {
	enum {
		HV_SHADOW_NONE,	   /* functions return to the address in their frame */
		HV_SHADOW_UNKNOWN, /* functions use shadow stacks, but their location is unknown */
		HV_SHADOW_KNOWN,
	} state;
	struct hv_shadow_stack *list; /* owned; sorted by start */
	size_t nr;
	size_t cap;
	uint64_t *words; /* owned; words of all stacks */
	/* A vCPU is in the kernel but on none of the stacks, for example while it switches
	 * stacks. */
	bool is_between;
	unsigned vcpu; /* the vCPU of is_between */
};

/* Call in a hold, with TASKS and REGS (of all NR_VCPUS) read in the same hold. Returns
 * HV_SHADOW_NONE for a kernel that could have shadow stacks but does not use them
 * (CONFIG_DYNAMIC_SCS on a CPU that signs addresses). */
struct hv_err *hv_shadow_stacks_read(struct hv_kernel *k, const struct hv_tasks *tasks,
				     const struct hv_vcpu_regs *regs, unsigned nr_vcpus,
				     struct hv_shadow_stacks *ret) hv_must_use;
void hv_shadow_stacks_deinit(struct hv_shadow_stacks *s);
