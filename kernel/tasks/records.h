/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame records on the kernel's stacks, for architectures where all functions keep them (saved_fp
 * or frame_chain of struct hv_kernel_arch): the return addresses and their positions. The guest is
 * untrusted: walks are bounded and stay in known stacks. hv_stacks_scan finds words outside of
 * records; signing.h handles signatures. */
#pragma once

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"

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
/* Returns the record of the function that was entered with the stack pointer SLOT, which is the
 * next one below SLOT, if that function keeps one. NULL: that stack has no record below SLOT. */
const struct hv_frame_record *hv_records_below(const struct hv_frame_records *r,
					       struct hv_gva slot);
