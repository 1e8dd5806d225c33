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
	void (*before_hold)(void *ctx); /* may be NULL */
	void *before_hold_ctx;
};
