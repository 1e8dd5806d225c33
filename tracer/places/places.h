/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes inside functions: makes the guest record its registers at instructions, with one detour
 * (detours.h) for one or more of them. Also returns the guest's original text.
 *
 * kernel/code/probe_place.h checks whether a place is possible, actions.h selects the recorded
 * data, site_stubs.h handles function entries. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"
#include "kernel/code/probe_place.h"

struct hv_actions;
struct hv_places;
struct hv_probe_place;
struct hv_tracee;

/* -- runs -------------------------------------------------------------------------------------- */

/* Runs: probes inside functions at instructions so close together that one jump replaces all of
 * them. The detour of a run calls the stub before each instruction with a probe. A run replaces
 * exactly the instructions that its first place, the *head*, would replace alone, so it is possible
 * if that place is. Runs do not overlap. These functions are pure. */

struct hv_place_want {
	struct hv_probe_place place;
	unsigned slot;
	bool is_refused;
};

struct hv_place_run {
	struct hv_probe_place head;
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX]; /* sorted */
	unsigned nr_probes;				     /* not 0 */
};

/* Returns whether A and B replace a common byte. */
bool hv_place_runs_meet(const struct hv_place_run *a, const struct hv_place_run *b);
/* Returns whether B records everything that A records. Both have the same head. */
bool hv_place_run_has(const struct hv_place_run *b, const struct hv_place_run *a);
/* Returns whether RUN records the place AT in SLOT. */
bool hv_place_run_records(const struct hv_place_run *run, struct hv_gva at, unsigned slot);

/* Groups WANTS, which are ascending, into runs. Keeps the heads of the guest's present runs, NOW,
 * even if a head itself is no longer wanted: then no task has to leave the replaced instructions. A
 * wanted place before a present run becomes the head of a new run. If the two overlap, the places
 * after the new run get another one. RET has room for NR runs, in ascending order. Returns the
 * number of runs. Refuses a place in the middle of an instruction of a run. */
size_t hv_place_runs_plan(struct hv_place_want *wants, size_t nr, const struct hv_place_run *now,
			  size_t nr_now, struct hv_place_run *ret);

/* -- places ------------------------------------------------------------------------------------ */

/* Borrows both arguments. */
struct hv_places *hv_places_new(struct hv_tracee *t, struct hv_actions *a);
void hv_places_free(struct hv_places *p);

/* Like hv_probe_place_read(), for the guest's text without our changes. */
struct hv_err *hv_places_find(const struct hv_places *p, struct hv_gva at,
			      struct hv_probe_place *ret) hv_must_use;

/* Between hv_actions_begin() and hv_actions_done(): makes the places of the actions lead to
 * detours; places that one jump replaces share one. Skips places that the guest
 * changed or that overlap instructions replaced by a latency tracer (hv_places_has). On errors no
 * place leads to a detour any longer. */
struct hv_err *hv_places_begin(struct hv_places *p) hv_must_use;
/* Restores all other places after that. A place that cannot be restored now (EBUSY: a kprobe of the
 * guest copied it) records nothing, and is restored with the next change or at detach. */
struct hv_err *hv_places_end(struct hv_places *p) hv_must_use;
/* Returns whether probes at AT record. */
bool hv_places_has(const struct hv_places *p, struct hv_gva at);
