/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places inside functions that probes are at: what makes the guest record its registers there, by a
 * detour of each or of several (detours.h), and what the guest's text was without us.
 * Leaves to others: whether a place is possible (kernel/probe_place.h), what is recorded
 * (actions.h), sites of functions (site_stubs.h). One thread. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"

struct hv_actions;
struct hv_places;
struct hv_probe_place;
struct hv_tracee;

/* Borrows both. */
struct hv_places *hv_places_new(struct hv_tracee *t, struct hv_actions *a);
void hv_places_free(struct hv_places *p);

/* hv_probe_place_read() of the text that the guest has without us. */
struct hv_err *hv_places_find(const struct hv_places *p, struct hv_gva at,
			      struct hv_probe_place *ret) hv_must_use;

/* Between hv_actions_begin() and hv_actions_done(): makes the places of the actions lead to
 * detours, those that one jump replaces to one detour (place_runs.h). Those that the guest changed,
 * or that overlap what a tracer of latencies has replaced, are left out (hv_places_has). On errors
 * no place leads to one any more. */
struct hv_err *hv_places_begin(struct hv_places *p) hv_must_use;
/* Then puts back all others. A place that cannot be put back now (EBUSY, a kprobe of the guest's
 * own has copied it) records nothing, and is put back with the next change or at detach. */
struct hv_err *hv_places_end(struct hv_places *p) hv_must_use;
/* Whether probes at AT record. */
bool hv_places_has(const struct hv_places *p, struct hv_gva at);
