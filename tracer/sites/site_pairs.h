/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites whose call is a pair of instructions (riscv64): the first loads an address, the second
 * calls it.
 *
 * A free site in kernels before 6.16 is two nops. A task interrupted between the two instructions
 * would execute the call with a stale address. So the first instruction is written at every site,
 * and the second one only after a hold has shown that no task stops between them: any task that
 * arrives later has our address. docs/internals/new-arch.md has the argument.
 *
 * Nothing is necessary if the kernel itself keeps a first instruction at free sites, or if a call
 * is one instruction. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct hv_change;
struct hv_tracee;

struct hv_site_pairs {
	struct hv_change *list; /* owned; the first instructions that were written */
	size_t nr;
};

/* Writes the first instructions of those CHANGES that make a free site a call. Sorts CHANGES
 * by physical address and makes them start from the bytes now in the guest. Refuses a change if a
 * task stays between the instructions or the guest has changed the site. EBUSY: at each attempt a
 * vCPU hid the code that it had interrupted. On errors every byte is as before, and *RET is
 * unchanged. The caller frees *RET with hv_site_pairs_deinit(). */
struct hv_err *hv_site_pairs_begin(struct hv_tracee *t, struct hv_change *changes, size_t nr,
				   struct hv_site_pairs *ret) hv_must_use;
/* Undoes the first instructions whose second one was not written, after the error WHY. Takes
 * ownership of WHY and returns it, with HV_ERR_NEEDS_RECOVERY if that failed. */
struct hv_err *hv_site_pairs_undo(struct hv_tracee *t, struct hv_site_pairs *pairs,
				  struct hv_err *why) hv_must_use;
void hv_site_pairs_deinit(struct hv_site_pairs *pairs);
