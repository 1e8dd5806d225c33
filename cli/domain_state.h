/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a domain: whether a session is attached, starts, ends, or left changes in the guest.
 * All verbs decide by this state. It depends only on the domain's directory (rundir.h) and on
 * whether the VMM's process is alive. tracer/guest/tracee.h examines the guest itself.
 *
 *   FREE --attach--> ATTACHING --> ATTACHED --detach--> FREE
 *                        |            |
 *                        +-- dies ----+--> LEFT --recover--> RECOVERING --> FREE
 *                                           |
 *                                           +-- the VMM ends --> GONE
 *
 * If only the service dies, its broker recovers immediately.
 *
 * If the guest reboots after the session died, the state stays LEFT until attach or recover
 * examines the guest, although the reboot removed all changes. */
#pragma once

#include "cli/rundir.h"

/* Returns the state for messages: "free", "being attached", ... */
const char *domain_state_words(enum domain_state state);

/* Finds the state of the domain that SPEC names, with rundir_find(). Sets *RET to its info if
 * *RET_FOUND. */
struct hv_err *domain_state_find(const char *run_dir, const char *spec, const char *uri,
				 enum domain_state *ret_state, bool *ret_found,
				 struct rundir_info *ret) hv_must_use;

/* Returns an error that explains why the domain has no session and how to proceed. NULL: a session
 * is attached, or the domain is unknown (FREE, without an info). */
struct hv_err *domain_state_lacks_session(const struct rundir_info *info,
					  const char *spec) hv_must_use;
/* Returns EBUSY with the reason and the remedy if attach and recover are impossible now, else
 * NULL. */
struct hv_err *domain_state_is_taken(const struct rundir_info *info, const char *spec) hv_must_use;
/* Like rundir_take(), but EBUSY has the message of domain_state_is_taken(). */
struct hv_err *domain_state_take(const char *run_dir, const char *id, const char *spec,
				 struct rundir *ret) hv_must_use;
/* Returns EEXIST: a session died and may have left changes in the guest, which needs recover. */
struct hv_err *domain_state_left(const char *spec) hv_must_use;
/* Returns an error that explains why the domain needs recover. NULL: it does not. */
struct hv_err *domain_state_needs_recovery(const struct rundir_info *info,
					   const char *spec) hv_must_use;
