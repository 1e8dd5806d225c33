/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event tracer: selects which trace events of the guest are recorded into the session's ring,
 * and makes the necessary changes in the guest: plugs (plug.h), redirected calls (event_calls.h),
 * flags of tasks, and the wait until removed parts are no longer used (docs/users/events.md).
 *
 * A session has one event tracer because it has one ring. An event is on in the guest while any
 * instance wants it. The caller passes the union of all instances' events, and separates the events
 * by instance when it reads them (as with functions: site_trampolines.h,
 * tree/instance/demux/demux.h). A recorded event is an HV_RECORD_EVENT with the id of its type,
 * after its HV_RECORD_DATA.
 *
 * The settings of scope.h apply to events, too. event_types.h lists the events. Formatting, filters
 * and triggers are implemented elsewhere. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct hv_event_tracer;
struct hv_event_type;
struct hv_trampoline_filter;
struct hv_trampoline_program;
struct hv_tracee;
struct hv_tracepoint_layout;

/* -- flags of tasks for system calls ----------------------------------------------------------- */

/* The flag in the guest's tasks that makes system calls reach their tracepoints
 * (kernel/events/tracepoint_state.h). It is set in all tasks while we have a callback there, and
 * cleared when there is no callback left. A task that keeps the flag without need only checks the
 * tracepoint's static key. plug.h changes the tracepoints and their count. */

/* Sets the flag of every task if a system call tracepoint is on according to the guest's count, and
 * clears it otherwise. Does not write to tasks whose flag is right. May miss a task that constantly
 * changes its other flags or is just being created; the next call finds it. EBUSY: the guest is
 * changing tracepoints. */
struct hv_err *hv_syscall_tasks_set(struct hv_tracee *t,
				    const struct hv_tracepoint_layout *layout) hv_must_use;

/* -- the event tracer -------------------------------------------------------------------------- */

/* Neither changes nor reads the guest. Borrows T. */
struct hv_event_tracer *hv_event_tracer_new(struct hv_tracee *t);
/* Frees only host memory. */
void hv_event_tracer_free(struct hv_event_tracer *e);

struct hv_event_want {
	const struct hv_event_type *type; /* from the catalogue; borrowed during the call */
	/* Also records a stack with each event, as an HV_EVENT_STACK with of_event, unless the vCPU
	 * was muted between the two. */
	bool has_stacks;
	/* The guest discards events that do not match; NULL: none. The filter may at any time let
	 * more events pass than it should. Borrowed during the call. */
	const struct hv_trampoline_filter *filter;
	/* Memory that the guest reads when it records the event; the event then carries the results
	 * and has no filter. NULL: none. At most HV_TRAMPOLINE_PROGRAMS_MAX events can have one.
	 * Borrowed during the call. */
	const struct hv_trampoline_program *program;
	/* Set by hv_event_tracer_set(), owned by the caller. NULL: the event is recorded. */
	struct hv_err *why_not;
};
/* Frees the errors, not the list. */
void hv_event_wants_deinit(struct hv_event_want *wants, size_t nr);

/* Records exactly the events of WANTS, which has no duplicates; NR 0: none. Updates the stacks,
 * filters and programs of events that are already on, but does not touch their tracepoints.
 * Switches all others on or off, many in one hold. An event that cannot be switched on does not
 * affect the others; its why_not is set:
 *
 *   EOPNOTSUPP  never possible in this kernel: the event is switched on by its own function (reg;
 *               raw_syscalls is supported), or its callback makes unknown calls
 *   EBUSY       the guest uses the tracepoint or changes the module in a way that prevents it, or
 *               was changing tracepoints or code until the timeout; retry later
 *   ENOENT      its module was removed
 *   ENOSPC      more than HV_REGION_NR_EVENTS, or the journal is full
 *   others      the tracepoint in guest memory is inconsistent
 *
 * A callback that was already running can still record an event after it was switched off. Its
 * memory is released later (hv_event_tracer_tend).
 *
 * Returns an error if the session failed (for example ECONNRESET: the guest was rebooted), or EBUSY
 * if an event could not be switched off; hv_event_tracer_is_on() then reports which events are
 * recorded. Takes one hold for some dozen events. The first call reads the kernel's code, which
 * takes about 10 ms. */
struct hv_err *hv_event_tracer_set(struct hv_event_tracer *e, struct hv_event_want *wants,
				   size_t nr) hv_must_use;

/* Replaces the filter of TYPE if it is on (NULL: no filter). Stops nothing. */
void hv_event_tracer_set_filter(struct hv_event_tracer *e, const struct hv_event_type *type,
				const struct hv_trampoline_filter *filter);

/* Returns why TYPE can never be recorded (EOPNOTSUPP, as above), or NULL if it can. Changes
 * nothing. */
struct hv_err *hv_event_tracer_check(struct hv_event_tracer *e,
				     const struct hv_event_type *type) hv_must_use;

/* Returns whether TYPE, from this or an earlier catalogue, is recorded now. */
bool hv_event_tracer_is_on(const struct hv_event_tracer *e, const struct hv_event_type *type);

struct hv_event_tracer_stat {
	size_t nr_on;
	size_t nr_leaving;    /* switched off, but a callback may still use them */
	uint64_t nr_no_draft; /* events not recorded: no free hv_draft, or too long */
};
void hv_event_tracer_stat(const struct hv_event_tracer *e, struct hv_event_tracer_stat *ret);

/* Releases memory that switched-off events no longer use. Cheap if nothing is left to release.
 * Called by hv_session_refresh(). */
void hv_event_tracer_tend(struct hv_event_tracer *e);

/* For detach and recover: switches off every event that is on in the guest and restores all calls.
 * Adds a line to REPORT. EBUSY: a callback may still be on its way to a trampoline, or the guest is
 * changing code; retry later. */
struct hv_err *hv_event_tracer_restore(struct hv_event_tracer *e,
				       struct hv_text *report) hv_must_use;
