/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The return addresses on the kernel's stacks, for architectures whose functions keep frame
 * records: where they are, how they are signed, and their copies on shadow stacks.
 * tracer/graph/returns.c uses them. */
#pragma once

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"

/* Frame records on the kernel's stacks, for architectures where all functions keep them (saved_fp
 * or frame_chain of struct hv_kernel_arch): the return addresses and their positions. The guest is
 * untrusted: walks are bounded and stay in known stacks. hv_stacks_scan finds words outside of
 * records. */
struct hv_frame_record {
	struct hv_gva at; /* address of the return address, which follows the pointer to the next
			     record */
	uint64_t word;	  /* the return address, possibly signed */
	uint64_t next;	  /* address of the next record */
	struct hv_gva_range stack;
	struct hv_gva task; /* the task that the frames lead to; 0: unknown */
};

struct hv_frame_records {
	struct hv_frame_record *list; /* owned, sorted by address */
	size_t nr;
	size_t cap;
};

/* Call in a hold, with TASKS and REGS (of all NR_VCPUS) read in the same hold. Reads the records of
 * each sleeping task and of each vCPU in the kernel. If a vCPU's function is just creating or
 * removing its frame, its record is missing. */
struct hv_err *hv_records_read(struct hv_kernel *k, const struct hv_tasks *tasks,
			       const struct hv_vcpu_regs *regs, unsigned nr_vcpus,
			       struct hv_frame_records *ret) hv_must_use;
void hv_records_deinit(struct hv_frame_records *r);

/* Returns the index of the first record at or above AT, or nr. */
size_t hv_records_from(const struct hv_frame_records *r, struct hv_gva at);
/* Returns the record of the function that was entered with the stack pointer RETP, which is the
 * next one below RETP, if that function keeps one. NULL: that stack has no record below RETP. */
const struct hv_frame_record *hv_records_below(const struct hv_frame_records *r,
					       struct hv_gva retp);

/* How the kernel signs return addresses on its stacks (sign of struct hv_arch). No register shows
 * the algorithm, so it is found by trial: each task's key is in guest memory, and the right
 * algorithm turns a return address into the signed word on the stack. */
struct hv_signing {
	enum {
		HV_SIGNING_NONE,    /* return addresses are not signed */
		HV_SIGNING_UNKNOWN, /* they are signed, but no known algorithm matches */
		HV_SIGNING_KNOWN,
	} state;
	unsigned way; /* index of the algorithm in struct hv_arch */
};

/* Finds the algorithm. RECORDS were read in the current hold. */
struct hv_signing hv_signing_find(const struct hv_kernel *k,
				  const struct hv_frame_records *records);

/* Returns the word that a function of TASK, entered with the stack pointer RETP, saves in order to
 * return to ADDRESS. Returns false if S is unknown or the task's key cannot be read. */
bool hv_signing_sign(const struct hv_kernel *k, const struct hv_signing *s, struct hv_gva task,
		     struct hv_gva retp, uint64_t address, uint64_t *ret);

/* Shadow call stacks: the kernel keeps a second copy of each return address on a separate stack and
 * returns to that copy (CONFIG_SHADOW_CALL_STACK; include/linux/scs.h). Each task and the interrupt
 * stack of each CPU have one. The guest is untrusted: lengths are bounded; a stack that is too long
 * and two shadow stacks for one kernel stack are errors. tracer/graph/returns.c matches
 * addresses with calls. */
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
