/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redirected calls that lead to the event trampolines while events are recorded: callbacks call
 * them to reserve and commit an entry, and tracepoint code calls them to free a callback array. A
 * callback whose event file belongs to the guest still reaches the kernel's functions through the
 * trampolines.
 *
 * kernel/events/callback_calls.h finds the calls; plug.h changes tracepoints; event_tracer.h
 * decides when the calls are no longer needed. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct hv_arch;
struct hv_event_calls;
struct hv_event_type;
struct hv_journal_entry;
struct hv_module;
struct hv_tracee;

/* EOPNOTSUPP: there are no event trampolines for ARCH. */
struct hv_err *hv_event_calls_refusal(const struct hv_arch *arch) hv_must_use;

/* Reads nothing. Borrows T. */
struct hv_event_calls *hv_event_calls_new(struct hv_tracee *t);
void hv_event_calls_free(struct hv_event_calls *c);

/* Returns why events of TYPE cannot be recorded: EOPNOTSUPP, ENOENT or ENOSPC. Changes nothing. The
 * first call of this or of hv_event_calls_begin() reads the kernel's code. */
struct hv_err *hv_event_calls_check(struct hv_event_calls *c,
				    const struct hv_event_type *type) hv_must_use;
/* Forgets the calls found at MODULE's address, where a different module may have been loaded. None
 * of them may lead to a trampoline. */
void hv_event_calls_look_again(struct hv_event_calls *c, const struct hv_module *module);
/* Links the trampolines and redirects the calls that free callback arrays, unless that was done
 * already. Call it before the first tracepoint is changed. */
struct hv_err *hv_event_calls_begin(struct hv_event_calls *c) hv_must_use;
/* Makes the callback of each of the NR TYPES call the trampolines, or sets WHY_NOT[i]. */
struct hv_err *hv_event_calls_redirect(struct hv_event_calls *c,
				       const struct hv_event_type *const *types, size_t nr,
				       struct hv_err **why_not) hv_must_use;

/* Restores all calls, including those that an earlier process changed. No callback may be on its
 * way to a trampoline (hv_plugs_check_unused). EBUSY: the guest has changed one of the calls. */
struct hv_err *hv_event_calls_put_back(struct hv_event_calls *c) hv_must_use;
/* Like hv_event_calls_put_back(), for the calls in the callbacks of MODULE. */
struct hv_err *hv_event_calls_put_back_of(struct hv_event_calls *c,
					  const struct hv_module *module) hv_must_use;
/* Returns whether any call leads to a trampoline. */
bool hv_event_calls_are_there(const struct hv_event_calls *c);
/* Returns whether a task can be switched out while it calls callbacks. The kernel frees an array
 * when all its possible users have finished: with call_rcu() if they cannot be switched out, with
 * call_srcu() since 7.0 if they can. The calls that exist show which one this kernel uses. */
bool hv_event_calls_may_sleep(const struct hv_event_calls *c);

/* Sets *RET to whether E, an entry of an untrusted journal, is a call that leads to an event
 * trampoline. */
struct hv_err *hv_event_calls_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				       bool *ret) hv_must_use;
