/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes inside functions: makes the guest record its registers at instructions, with one detour
 * (detours.h) for one or more of them. Also returns the guest's original text.
 *
 * kernel/code/probe_site.h checks whether a probe site is possible, actions.h selects the recorded
 * data, site_trampolines.h handles function entries. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"
#include "kernel/code/probe_site.h"

struct hv_actions;
struct hv_probe_sites;
struct hv_probe_site;
struct hv_tracee;

/* -- runs -------------------------------------------------------------------------------------- */

/* Runs: probes inside functions at instructions so close together that one jump replaces all of
 * them. The detour of a run calls the trampoline before each instruction with a probe. A run
 * replaces exactly the instructions that its first probe site, the *head*, would replace alone, so
 * it is possible if that probe site is. Runs do not overlap. These functions are pure. */

struct hv_probe_want {
	struct hv_probe_site site;
	unsigned group;
	bool is_refused;
};

struct hv_probe_run {
	struct hv_probe_site head;
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX]; /* sorted */
	unsigned nr_probes;				     /* not 0 */
};

/* Returns whether A and B replace a common byte. */
bool hv_probe_runs_meet(const struct hv_probe_run *a, const struct hv_probe_run *b);
/* Returns whether B records everything that A records. Both have the same head. */
bool hv_probe_run_has(const struct hv_probe_run *b, const struct hv_probe_run *a);
/* Returns whether RUN records the probe site AT with the action group GROUP. */
bool hv_probe_run_records(const struct hv_probe_run *run, struct hv_gva at, unsigned group);

/* Groups WANTS, which are ascending, into runs. Keeps the heads of the guest's present runs, NOW,
 * even if a head itself is no longer wanted: then no task has to leave the replaced instructions. A
 * wanted probe site before a present run becomes the head of a new run. If the two overlap, the
 * probe sites after the new run get another one. RET has room for NR runs, in ascending order.
 * Returns the number of runs. Refuses a probe site in the middle of an instruction of a run. */
size_t hv_probe_runs_plan(struct hv_probe_want *wants, size_t nr, const struct hv_probe_run *now,
			  size_t nr_now, struct hv_probe_run *ret);

/* -- probe sites ------------------------------------------------------------------------------- */

/* Borrows both arguments. */
struct hv_probe_sites *hv_probe_sites_new(struct hv_tracee *t, struct hv_actions *a);
void hv_probe_sites_free(struct hv_probe_sites *p);

/* Like hv_probe_site_read(), for the guest's text without our changes. */
struct hv_err *hv_probe_sites_find(const struct hv_probe_sites *p, struct hv_gva at,
				   struct hv_probe_site *ret) hv_must_use;

/* Between hv_actions_begin() and hv_actions_done(): makes the probe sites of the actions lead to
 * detours; probe sites that one jump replaces share one. Skips probe sites that the guest changed
 * or that overlap instructions replaced by a latency tracer (hv_probe_sites_has). On errors no
 * probe site leads to a detour any longer. */
struct hv_err *hv_probe_sites_begin(struct hv_probe_sites *p) hv_must_use;
/* Restores all other probe sites; call it after hv_probe_sites_begin(). A probe site that cannot be
 * restored now (EBUSY: a kprobe of the guest copied it) records nothing, and is restored with the
 * next change or at detach. */
struct hv_err *hv_probe_sites_end(struct hv_probe_sites *p) hv_must_use;
/* Returns whether probes at AT record. */
bool hv_probe_sites_has(const struct hv_probe_sites *p, struct hv_gva at);
