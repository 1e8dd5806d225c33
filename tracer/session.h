/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session: one guest that is traced, from attach to detach. A session owns the parts below, each
 * of which has a header of its own; callers use the parts.
 * Leaves to others: names and texts of files (tree.h), processes and sockets (cli/). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct hv_guest;
struct hv_kernel;
struct hv_site;

struct hv_session {
	struct hv_kernel *kernel; /* borrowed; all others are owned */
	struct hv_tracee *tracee; /* the guest itself: tracee.h */
	/* Records and events: tracer/events/ */
	struct hv_buffer *buffer; /* what the guest's stubs write into */
	struct hv_decoder *decoder;
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	struct hv_event_types *types; /* of the guest's own events: event_types.h */
	/* What the guest does */
	struct hv_site_stubs *stubs; /* which site calls which stub: site_stubs.h */
	struct hv_scope *scope;	     /* whose calls are recorded: scope.h */
	struct hv_actions *actions;  /* what calls do besides: actions.h */
	struct hv_places *places;    /* probes inside functions: places.h */
	struct hv_graph_tracer *graph;
	struct hv_call_counts *counts;	    /* the function profile: call_counts.h */
	struct hv_section_tracer *sections; /* preemptoff: section_tracer.h */
	struct hv_event_tracer *events;	    /* trace events of the guest: event_tracer.h */
	struct hv_yield *yield;		    /* to the guest's own ftrace: yield.h */
	struct hv_host_tracer *host;	    /* events of the host: host_tracer.h */

	uint64_t modules_signature; /* of the modules that kernel->sites were read with */
	bool found_stale; /* attach discarded the journal of an earlier boot of the guest */
};

/* Maps the region into the guest. GUEST and KERNEL are borrowed and must outlive the session. On
 * errors every byte is as before, except on those with HV_ERR_NEEDS_RECOVERY. EEXIST, with that
 * fact: the region has changes of a dead service. */
struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret) hv_must_use;

/* Undoes every change, flushes translations, unmaps the region, compares the kernel's text with the
 * copy from attach, and clears the region. REPORT gets one or more lines about what was proven,
 * with the differences that are the guest's own. EBUSY: a task may still return into a stub (the
 * message says which); the sites are restored, the session stays, and detach can be tried again. */
struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report) hv_must_use;

/* Undoes the changes of a dead service, by the journal in the region: only those that are clearly
 * ours. REPORT and EBUSY as for detach. *RET_FOUND false: there were none. */
struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found) hv_must_use;

/* Whether changes of a session that died are in the guest, so that recover has something to put
 * back. Looks only; GUEST must have a region. EUCLEAN: there are some, and recover cannot. */
struct hv_err *hv_session_has_left(struct hv_guest *guest, struct hv_kernel *kernel,
				   bool *ret) hv_must_use;

/* Makes all parts, and changes nothing in the guest: attach and recover begin with this. The caller
 * sets the tracee's range and handler. */
struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret) hv_must_use;
/* Called when the tracee's plan is another one. Until then nothing has read the rings. */
void hv_session_place_rings(struct hv_session *s);
/* Frees what is on the host only. A session that is still attached leaves its journal for
 * recover. */
void hv_session_free(struct hv_session *s);

static inline void hv_session_free_at(struct hv_session **s)
{
	hv_session_free(*s);
}
#define HV_AUTO_SESSION hv_cleanup(hv_session_free_at)

/* ECONNRESET: the guest was rebooted, and nothing may be written into it any more. Other errors:
 * its page tables could not be read. Cheap; call this every 100 ms or so. */
struct hv_err *hv_session_alive(struct hv_session *s) hv_must_use;

/* False: a detach that failed has taken a part of the region from the guest. No call of a stub may
 * be made any more; only another detach, or recover, takes back the rest. */
bool hv_session_is_whole(const struct hv_session *s);

/* Whether memory of the region is gone (vmm/shared_memory.h): what is read there is no longer what
 * was written. The session can be detached, as far as the guest is still there. */
bool hv_session_region_is_lost(const struct hv_session *s);

/* Whether the guest is about to hibernate and waits for the session to be detached
 * (hibernation.h). */
bool hv_session_delays_hibernation(const struct hv_session *s);

/* Looks whether modules were loaded or removed, and if so reads them and the sites again. Looks
 * whether the guest is stopped where it frees its init code (hv_guest_stop_fd), and if so removes
 * the sites in it. 1: everything taken from kernel->sites is stale. 0: nothing changed, or the
 * guest's lists could not be read now. */
unsigned hv_session_refresh(struct hv_session *s);

/* From now on changes of the guest's text ask STOPS between their holds; if it returns true, they
 * fail with EINTR and are undone. STOPS NULL: nobody is asked. */
void hv_session_set_stops(struct hv_session *s, bool (*stops)(void *ctx), void *ctx);

struct hv_session_stat {
	size_t nr_sites;   /* traceable */
	size_t nr_patched; /* now */
	size_t nr_refused; /* of the sites that were wanted last: in use by the guest, or changed by
			      it */
	uint64_t nr_events;   /* records that stubs reserved since attach, also task records */
	uint64_t nr_lost;     /* overwritten before a trace_pipe read them, or torn */
	uint64_t nr_no_stack; /* calls that a graph missed: no return stack was free */
	uint64_t nr_no_room;  /* calls that a graph missed: the return stack was full */
	uint64_t nr_no_count; /* calls that a profile missed: the vCPU's table was full */
	uint64_t nr_holds;
	uint64_t hold_total_ns;
	uint64_t hold_last_ns;
	uint64_t hold_max_ns;
	uint64_t bytes_changed; /* of the guest's own memory, since attach, also to put back */
	uint64_t region_bytes;
	uint64_t part_bytes; /* of the region, that there was room for */
	uint64_t ring_bytes; /* of all vCPUs */
	unsigned nr_cpus;
};
void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret);
/* Returns the number of holds since attach that were longer than HV_LONG_HOLD_NS, and how long the
 * last of them was. Cheap. */
uint64_t hv_session_long_holds(const struct hv_session *s, uint64_t *ret_last_ns);
/* Finds up to MAX of the sites that are counted as refused. RET has room for so many, which are
 * borrowed and valid until the next refresh. Returns how many it found. */
size_t hv_session_refused(const struct hv_session *s, size_t max, const struct hv_site **ret);
/* Why it is, by what is there in the guest now; static. */
const char *hv_session_why_refused(const struct hv_session *s, const struct hv_site *site);
/* Why the records of a task keep the name that it had before an exec or a rename, as it is now in
 * the guest; static. NULL: they do not. */
const char *hv_session_why_names_stay(const struct hv_session *s);
/* Finds up to MAX of the modules that the guest cannot remove because of us (module_claims.h), as
 * they are now in the guest. RET has room for so many names, borrowed and valid until the next
 * refresh. Returns how many it found. */
size_t hv_session_held_modules(const struct hv_session *s, size_t max, const char **ret);
