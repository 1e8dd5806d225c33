/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a patcher, for the files that implement patcher.h. */
#pragma once

#include "patcher/journal.h"
#include "patcher/patcher.h"

struct hv_patcher {
	const struct hv_address_space *as;
	struct hv_guest *guest;
	struct hv_gva_range fixed;
	struct hv_gva bound_gva; /* 0: not bound */
	struct hv_gpa bound_gpa;
	struct hv_journal journal;
	struct hv_own_probes_layout kprobes;
	struct hv_hold_stat holds;
	size_t batch;	       /* changes in a hold */
	uint64_t registers_ns; /* of the last hold: reading every vCPU */
	uint64_t work_ns;      /* of the last hold: all other work */
	uint64_t patience_ns;
	bool (*stops)(void *ctx);
	void *stops_ctx;
};
