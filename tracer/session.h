/* One guest being traced: what attach makes and detach takes away. A session owns the parts below,
 * each of which has a header of its own; whoever wants something of the guest calls the part.
 * Leaves to others: names and texts of files (tree.h), processes and sockets (cli/). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct hv_guest;
struct hv_kernel;

struct hv_session {
	struct hv_kernel *kernel; /* borrowed; all others are owned */
	struct hv_tracee *tracee; /* the guest itself: tracee.h */
	/* Records and events: tracer/events/ */
	struct hv_buffer *buffer; /* what the guest's stubs write into */
	struct hv_decoder *decoder;
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	/* What the guest does */
	struct hv_site_stubs *stubs; /* which site calls which stub: site_stubs.h */
	struct hv_scope *scope;	     /* whose calls are recorded: scope.h */
	struct hv_actions *actions;  /* what calls do besides: actions.h */
	struct hv_graph_tracer *graph;
	struct hv_call_counts *counts; /* the function profile: call_counts.h */
	struct hv_yield *yield;	       /* to the guest's own ftrace: yield.h */

	uint64_t modules_signature; /* of the modules that kernel->sites are of */
	bool found_stale; /* attach discarded the journal of an earlier boot of the guest */
};

/* Maps the region into the guest. GUEST and KERNEL are borrowed and must outlive the session.
 * Errors leave every byte as it was, but those with HV_ERR_NEEDS_RECOVERY. EEXIST, with that fact:
 * the region holds changes of a service that died. */
struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret) hv_must_use;

/* Takes every change back, flushes translations, unmaps, compares the kernel's text with what it
 * was, clears the region. REPORT gets one or more lines of what was proven, differences that are
 * the guest's own among them. EBUSY: a task may still return into a stub (the message says which);
 * sites are restored, the session stays, and detach can be tried again. */
struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report) hv_must_use;

/* Puts back what a dead service left, by the journal in the region: only what is plainly ours.
 * REPORT and EBUSY as for detach. *RET_FOUND false: nobody left anything. */
struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found) hv_must_use;

/* All parts, and nothing in the guest yet: what attach and recover begin with. The tracee's range
 * and handler are the caller's to set. */
struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret) hv_must_use;
/* Frees the host side only; a session that is still attached leaves its journal for recover. */
void hv_session_free(struct hv_session *s);

static inline void hv_session_free_at(struct hv_session **s)
{
	hv_session_free(*s);
}
#define HV_AUTO_SESSION hv_cleanup(hv_session_free_at)

/* ECONNRESET when the guest was rebooted under us: nothing may be written into it any more. Cheap;
 * ask every 100 ms or so. Other errors: its tables could not be read. */
struct hv_err *hv_session_alive(struct hv_session *s) hv_must_use;

/* Looks whether modules came or went, and reads them and the sites anew if so, and whether the
 * guest stands where it frees its init code (hv_guest_stop_fd), whose sites go then: 1, and
 * everything taken from kernel->sites is stale. 0: nothing changed, or the guest's lists could not
 * be read now. */
unsigned hv_session_refresh(struct hv_session *s);

struct hv_session_stat {
	size_t nr_sites;    /* traceable */
	size_t nr_patched;  /* now */
	size_t nr_refused;  /* of the sites last asked for: in use by the guest, or changed by it */
	uint64_t nr_events; /* records ever reserved by the stubs since attach, task records
			       included */
	uint64_t nr_lost;   /* overwritten before a trace_pipe read them, or torn */
	uint64_t nr_no_stack; /* calls a graph missed: more kernel stacks in traced calls at once
				 than return stacks */
	uint64_t nr_no_room;  /* calls a graph missed: too deep a stack */
	uint64_t nr_no_count; /* calls a profile missed: more functions than counts of a vCPU */
	uint64_t nr_holds;
	uint64_t hold_last_ns;
	uint64_t hold_max_ns;
	uint64_t region_bytes;
	uint64_t ring_bytes; /* of all vCPUs */
	unsigned nr_cpus;
};
void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret);
