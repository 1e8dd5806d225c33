/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites whose call is a pair of instructions (riscv64): the first one loads an address, the second
 * one calls it. A kernel before 6.16 has two nops at a free site. Who was interrupted between them
 * would go on at the call with any address. So the first instruction is written at every site, and
 * the second one only after a hold has shown that nobody stands before it: whoever comes to it
 * later has our address. docs/internals/new-arch.md has the argument.
 * Where the kernel itself keeps a first instruction at free sites, and where a call is one
 * instruction, there is nothing to do.
 * Leaves to others: which sites call what (site_stubs.h), writing (patcher/). One thread. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct hv_change;
struct hv_tracee;

struct hv_site_pairs {
	struct hv_change *list; /* owned: the first instructions that were written */
	size_t nr;
};

/* Writes the first instructions of those of CHANGES that make a free site a call. CHANGES are
 * sorted by physical address, and go on from what the guest has then. A change is refused if a task
 * stays where it must not be, or the guest has changed the site. EBUSY: a vCPU hides all the time
 * what it has interrupted. On errors every byte is as before, and *RET is untouched. The caller
 * frees what *RET has. */
struct hv_err *hv_site_pairs_begin(struct hv_tracee *t, struct hv_change *changes, size_t nr,
				   struct hv_site_pairs *ret) hv_must_use;
/* Takes the first instructions back after WHY, for which no second one is there. Takes WHY, which
 * is an error, and returns it, with HV_ERR_NEEDS_RECOVERY if that failed. */
struct hv_err *hv_site_pairs_undo(struct hv_tracee *t, struct hv_site_pairs *pairs,
				  struct hv_err *why) hv_must_use;
void hv_site_pairs_deinit(struct hv_site_pairs *pairs);
