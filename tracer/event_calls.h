/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that lead to the stubs of events while events are recorded: those of probes, by which
 * they reserve and commit an entry, and those by which tracepoints free an array of probes. A probe
 * whose file is not ours gets to the kernel's own functions by them.
 * Leaves to others: where the calls are (kernel/events/probe_calls.h), tracepoints (plug.h), when
 * nobody needs them any more (event_tracer.h). One thread. */
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

/* EOPNOTSUPP: guests of ARCH have no stubs of events. */
struct hv_err *hv_event_calls_refusal(const struct hv_arch *arch) hv_must_use;

/* Reads nothing. Borrows T. */
struct hv_event_calls *hv_event_calls_new(struct hv_tracee *t);
void hv_event_calls_free(struct hv_event_calls *c);

/* Why events of TYPE cannot be recorded: EOPNOTSUPP, ENOENT, ENOSPC. Changes nothing. The first
 * call of this or of the next reads the kernel's code. */
struct hv_err *hv_event_calls_check(struct hv_event_calls *c,
				    const struct hv_event_type *type) hv_must_use;
/* What is known of the calls in MODULE, of which none is changed, may be of another one that was at
 * its address. */
void hv_event_calls_look_again(struct hv_event_calls *c, const struct hv_module *module);
/* Links the stubs and makes tracepoints free by them, unless it was done. To be called before the
 * first tracepoint is changed. */
struct hv_err *hv_event_calls_begin(struct hv_event_calls *c) hv_must_use;
/* Makes the probe of TYPES[i] call the stubs, or says why not in WHY_NOT[i], for all NR. */
struct hv_err *hv_event_calls_redirect(struct hv_event_calls *c,
				       const struct hv_event_type *const *types, size_t nr,
				       struct hv_err **why_not) hv_must_use;

/* Puts all calls back, also those that an earlier process changed. No probe may be on its way to a
 * stub (hv_plugs_check_unused). EBUSY: the guest has something of its own there. */
struct hv_err *hv_event_calls_put_back(struct hv_event_calls *c) hv_must_use;
/* Likewise those in the probes of MODULE. */
struct hv_err *hv_event_calls_put_back_of(struct hv_event_calls *c,
					  const struct hv_module *module) hv_must_use;
/* Whether any leads to a stub. */
bool hv_event_calls_are_there(const struct hv_event_calls *c);
/* Whether a task can be switched out while it calls probes, as the calls that are there tell: an
 * array is freed when all that may use it have ended, by call_rcu() while they cannot be switched
 * out, by call_srcu() since 7.0 where they can. */
bool hv_event_calls_may_sleep(const struct hv_event_calls *c);

/* *RET: E, an entry of an untrusted journal, is about such a call (redirect.h). */
struct hv_err *hv_event_calls_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				       bool *ret) hv_must_use;
