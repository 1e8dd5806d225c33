/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes inside functions: makes the guest record its registers at instructions, with one detour
 * (detours.h) for one or more of them. Also returns the guest's original text.
 *
 * kernel/code/probe_place.h checks whether a place is possible, actions.h selects the recorded
 * data, site_stubs.h handles function entries. One thread. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"

struct hv_actions;
struct hv_places;
struct hv_probe_place;
struct hv_tracee;

/* Borrows both arguments. */
struct hv_places *hv_places_new(struct hv_tracee *t, struct hv_actions *a);
void hv_places_free(struct hv_places *p);

/* Like hv_probe_place_read(), for the guest's text without our changes. */
struct hv_err *hv_places_find(const struct hv_places *p, struct hv_gva at,
			      struct hv_probe_place *ret) hv_must_use;

/* Between hv_actions_begin() and hv_actions_done(): makes the places of the actions lead to
 * detours; places that one jump replaces share one (place_runs.h). Skips places that the guest
 * changed or that overlap instructions replaced by a latency tracer (hv_places_has). On errors no
 * place leads to a detour any longer. */
struct hv_err *hv_places_begin(struct hv_places *p) hv_must_use;
/* Restores all other places after that. A place that cannot be restored now (EBUSY: a kprobe of the
 * guest copied it) records nothing, and is restored with the next change or at detach. */
struct hv_err *hv_places_end(struct hv_places *p) hv_must_use;
/* Returns whether probes at AT record. */
bool hv_places_has(const struct hv_places *p, struct hv_gva at);
