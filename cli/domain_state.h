/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a domain: whether a session is attached to it, begins, ends, or has left something
 * behind. All verbs decide by it. It follows from the domain's directory (rundir.h) and from
 * whether the VMM's process lives; the guest is not looked at.
 *
 *   FREE --attach--> ATTACHING --> ATTACHED --detach--> FREE
 *                        |            |
 *                        +- it dies --+--> LEFT --recover--> RECOVERING --> FREE
 *                                           |
 *                                           +-- the VMM ends --> GONE
 *
 * If only the service dies, its warden recovers at once.
 *
 * If the guest reboots after the session died, the domain is still LEFT, although nothing is left
 * in the guest, until attach or recover looks into the guest.
 * Leaves to others: what is in the guest (tracer/region_use.h). */
#pragma once

#include "cli/rundir.h"

enum domain_state {
	DOMAIN_FREE, /* no session is attached */
	DOMAIN_ATTACHING,
	DOMAIN_ATTACHED,
	DOMAIN_RECOVERING,
	DOMAIN_LEFT, /* a session died, and its changes may be in the guest */
	DOMAIN_GONE, /* a session died, and the guest ended with its VMM, so nothing is left of it
		      */
};

/* INFO: of the domain's directory; NULL: it has none. */
enum domain_state domain_state(const struct rundir_info *info);
/* Returns the state in words for messages: "free", "being attached", ... */
const char *domain_state_words(enum domain_state state);

/* Finds the state of the domain that SPEC names, with rundir_find(). *RET is its info, if
 * *RET_FOUND. */
struct hv_err *domain_state_find(const char *run_dir, const char *spec, const char *uri,
				 enum domain_state *ret_state, bool *ret_found,
				 struct rundir_info *ret) hv_must_use;

/* An error that says why there is no session to work with, and what to do. NULL: there is a session
 * (ATTACHED), or nothing is known of the domain (FREE, without an info). */
struct hv_err *domain_state_lacks_session(const struct rundir_info *info,
					  const char *spec) hv_must_use;
/* EBUSY: attach and recover are not possible now; the message says why and what to do. NULL: they
 * are possible. */
struct hv_err *domain_state_is_taken(const struct rundir_info *info, const char *spec) hv_must_use;
/* The same as rundir_take(), but EBUSY has the message of domain_state_is_taken(). */
struct hv_err *domain_state_take(const char *run_dir, const char *id, const char *spec,
				 struct rundir *ret) hv_must_use;
/* An error that says why recover is needed. NULL: it is not. */
struct hv_err *domain_state_needs_recovery(const struct rundir_info *info,
					   const char *spec) hv_must_use;
