/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of a patcher, and how it classifies changes. Private to patcher/. */
#pragma once

#include "patcher/journal.h"
#include "patcher/patcher.h"

/* -- the patcher ------------------------------------------------------------------------------- */

struct hv_patcher {
	const struct hv_address_space *as;
	struct hv_guest *guest;
	struct hv_gva_range fixed;
	struct hv_gva bound_gva; /* 0 if not bound */
	struct hv_gpa bound_gpa;
	struct hv_journal journal;
	struct hv_own_kprobes_layout kprobes;
	struct hv_hold_stat holds;
	size_t batch;	       /* changes per hold */
	uint64_t registers_ns; /* last hold: time to read all vCPU registers */
	uint64_t work_ns;      /* last hold: time for everything else */
	uint64_t patience_ns;
	bool (*stops)(void *ctx);
	void *stops_ctx;
};

/* -- changes ----------------------------------------------------------------------------------- */

/* Classification of changes. Pure. */

/* Returns whether changes of KIND overwrite instructions. */
bool hv_change_is_text(enum hv_change_kind kind);
/* Returns whether CHANGE only switches a site between its forms. No vCPU can be in the middle of
 * such a change: a site is one instruction, or two between which execution continues correctly
 * (tracer/sites/site_trampolines.h). */
bool hv_change_is_of_site(const struct hv_arch *arch, const struct hv_change *change);
/* Returns whether a vCPU at IP would resume in the middle of an instruction that CHANGE writes.
 * Between the two instructions of a site, it resumes correctly
 * (tracer/sites/site_trampolines.h). */
bool hv_change_has_inside(const struct hv_arch *arch, const struct hv_change *change,
			  struct hv_gva ip);
/* Returns whether NOW, the bytes of CHANGE's site, is an unused site that CHANGE turns into another
 * unused form. On riscv64, the guest's ftrace can remove the call and leave our first instruction,
 * whose result is not used. */
bool hv_change_is_half_gone(const struct hv_arch *arch, const struct hv_change *change,
			    const uint8_t *now);
