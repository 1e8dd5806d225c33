/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event tracer: which of the guest's trace events are recorded into the session's ring, and
 * everything in the guest that this takes: plugs (plug.h), redirected calls (redirect.h), and the
 * waiting until nobody uses what was taken out (docs/users/events.md).
 *
 * A session has one, as it has one ring. An event is on in the guest while any instance wants it:
 * callers give the union of what all instances want, and give each instance its own events when
 * they read (as with functions: site_stubs.h, tree/instance/demux/demux.h). An event that is on is
 * a record HV_RECORD_EVENT with the id of its type, behind its HV_RECORD_DATA.
 *
 * Mode, pids and muted vCPUs (scope.h) hold for events, too.
 * Leaves to others: which events there are (event_types.h), records and their text, filters and
 * triggers. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct hv_event_tracer;
struct hv_event_type;
struct hv_stub_filter;
struct hv_stub_program;
struct hv_tracee;

/* Changes nothing in the guest and reads nothing of it. Borrows T. */
struct hv_event_tracer *hv_event_tracer_new(struct hv_tracee *t);
/* Frees what is on the host only. */
void hv_event_tracer_free(struct hv_event_tracer *e);

/* An event that shall be recorded. */
struct hv_event_want {
	const struct hv_event_type *type; /* of the catalogue; borrowed during the call */
	/* Its stack is recorded behind each event, as an HV_EVENT_STACK with of_event, unless the
	 * vCPU was muted in between. */
	bool has_stacks;
	/* The guest leaves out what this does not let pass; NULL: nothing. Borrowed during the
	 * call. A filter may let more pass than it says, at any time. */
	const struct hv_stub_filter *filter;
	/* What the guest reads of memory when it records the event, which then has the results, and
	 * no filter; NULL: nothing. Borrowed during the call. At most HV_STUB_PROGRAMS_MAX have
	 * one. */
	const struct hv_stub_program *program;
	/* Set by hv_event_tracer_set(), owned by the caller. NULL: it is recorded. */
	struct hv_err *why_not;
};
/* Frees the errors, not the list. */
void hv_event_wants_deinit(struct hv_event_want *wants, size_t nr);

/* Records exactly the events of WANTS from now on, each of which is there once; NR 0: none. Events
 *that were on already are not touched, all others are switched on or off, many in one hold. An
 *event that cannot be switched on is not recorded, does not hinder the others, and says why:
 *
 *	EOPNOTSUPP  never in this kernel: of a module, switched on by a function of its own (reg;
 *		    raw_syscalls is known), or its probe's calls are not those that are known
 *	EBUSY	    the guest itself has probes on its tracepoint, or was changing tracepoints or
 *		    code for as long as was waited; a later call may succeed
 *	ENOSPC	    more than HV_REGION_NR_EVENTS, or the journal is full
 *	others	    its tracepoint in the guest's memory contradicts itself
 *
 * After it was switched off an event can still be recorded by a probe that was running. Its place
 * is given back later (hv_event_tracer_tend).
 * An error of the call itself is of the session (ECONNRESET: the guest was rebooted, ...), or EBUSY
 * when an event could not be switched off; hv_event_tracer_is_on() says what is recorded then.
 * Takes a hold for some dozen events; the first call reads the kernel's code for some 10 ms. */
struct hv_err *hv_event_tracer_set(struct hv_event_tracer *e, struct hv_event_want *wants,
				   size_t nr) hv_must_use;

/* TYPE, if it is on, has another FILTER from now on (NULL: none). Stops nothing. */
void hv_event_tracer_set_filter(struct hv_event_tracer *e, const struct hv_event_type *type,
				const struct hv_stub_filter *filter);

/* Why TYPE could never be recorded, without changing anything: EOPNOTSUPP, as above. NULL: it
 * could. */
struct hv_err *hv_event_tracer_check(struct hv_event_tracer *e,
				     const struct hv_event_type *type) hv_must_use;

/* Whether TYPE, of this or an earlier catalogue, is recorded now. */
bool hv_event_tracer_is_on(const struct hv_event_tracer *e, const struct hv_event_type *type);

struct hv_event_tracer_stat {
	size_t nr_on;
	size_t nr_leaving;    /* switched off, and perhaps used by a probe still */
	uint64_t nr_no_draft; /* events that were not recorded: no draft was free, or too long */
};
void hv_event_tracer_stat(const struct hv_event_tracer *e, struct hv_event_tracer_stat *ret);

/* Gives back what events that are off do not use any more, if there is any. Cheap if not; called by
 * hv_session_refresh(). */
void hv_event_tracer_tend(struct hv_event_tracer *e);

/* For detach and recover: switches off every event that is on in the guest, and puts all calls
 * back. REPORT gets a line about it. EBUSY: a probe may still be on its way to a stub, or the guest
 * is changing code; it can be tried again. */
struct hv_err *hv_event_tracer_restore(struct hv_event_tracer *e,
				       struct hv_text *report) hv_must_use;
