/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame records of the kernel's stacks, on an architecture where all functions keep them (saved_fp
 * or frame_chain of struct hv_kernel_arch): what the kernel returns to, and where that is. The
 * guest is hostile: walks are bounded, and stay in stacks that are known. Leaves to others: words
 * that are in no record (hv_stacks_scan), signatures (signing.h). */
#pragma once

#include "kernel/kernel.h"
#include "kernel/tasks.h"

struct hv_frame_record {
	struct hv_gva at; /* of the return address: behind the pointer to the next record */
	uint64_t word;	  /* what is there, perhaps signed */
	uint64_t next;	  /* the pointer */
	struct hv_gva_range stack;
	struct hv_gva task; /* the one that the frames lead to; 0: not known */
};

struct hv_frame_records {
	struct hv_frame_record *list; /* owned; sorted by address */
	size_t nr;
	size_t cap;
};

/* In a hold. TASKS were read in it; REGS: the registers of all NR_VCPUS. Reads the records of each
 * task that sleeps, and of each vCPU that is in the kernel. Where a vCPU's function is just making
 * or leaving its frame, the record of that one is not among them. */
struct hv_err *hv_records_read(struct hv_kernel *k, const struct hv_tasks *tasks,
			       const struct hv_vcpu_regs *regs, unsigned nr_vcpus,
			       struct hv_frame_records *ret) hv_must_use;
void hv_records_deinit(struct hv_frame_records *r);

/* The index of the first record at AT or above it; nr: there is none. */
size_t hv_records_from(const struct hv_frame_records *r, struct hv_gva at);
/* The record of the function that was entered with the stack pointer SLOT, if that function has
 * one: its record is the next one below. NULL: that stack has none there. */
const struct hv_frame_record *hv_records_below(const struct hv_frame_records *r,
					       struct hv_gva slot);
