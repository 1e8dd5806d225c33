/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of places inside functions: probes at instructions so near each other that one jump replaces
 * all of them. The detour of a *run* tells the stub before each instruction that has a probe. A run
 * is what moves for the place that it begins with, its *head*, so it is as possible as that place
 * is, whatever probes are in it; and no two runs overlap.
 * Leaves to others: making the guest's text so (places.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernel/probe_place.h"

/* A place that is to be recorded. */
struct hv_place_want {
	struct hv_probe_place place;
	unsigned slot;
	bool is_refused;
};

struct hv_place_run {
	struct hv_probe_place head;
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX]; /* ascending */
	unsigned nr_probes;				     /* not 0 */
};

/* Whether anything that moves for A moves for B, too. */
bool hv_place_runs_meet(const struct hv_place_run *a, const struct hv_place_run *b);
/* Whether all that A records is recorded by B, which has the same head. */
bool hv_place_run_has(const struct hv_place_run *b, const struct hv_place_run *a);
/* Whether RUN records what is at AT, by SLOT. */
bool hv_place_run_records(const struct hv_place_run *run, struct hv_gva at, unsigned slot);

/* Puts WANTS, which are ascending, into runs. Those that the guest has NOW stay as they begin, also
 * if their head is not wanted any more: nobody has to be out of what moves for another one then.
 * But a place before a run begins another one, and what it leaves of the run is in a third one. RET
 * has room for NR; they are ascending. Returns how many there are. A place that is in the middle of
 * an instruction of a run is refused. */
size_t hv_place_runs_plan(struct hv_place_want *wants, size_t nr, const struct hv_place_run *now,
			  size_t nr_now, struct hv_place_run *ret);
