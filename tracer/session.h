/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session: one traced guest, from attach to detach. It owns the parts below; each has its own
 * header, which callers use directly.
 *
 * tree.h defines names and texts of files; cli/ implements processes and sockets. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"
#include "tracer/hooks/guest_ftrace.h"

struct hv_guest;
struct hv_kernel;
struct hv_site;

struct hv_session {
	struct hv_kernel *kernel; /* borrowed; all others are owned */
	struct hv_tracee *tracee; /* the guest: tracee.h */
	/* Records and events: tracer/events/ */
	struct hv_buffer *buffer; /* the rings that the guest's trampolines fill */
	struct hv_decoder *decoder;
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	struct hv_event_types *types; /* types of guest events: event_types.h */
	/* Tracing in the guest */
	struct hv_site_trampolines *trampolines; /* calls of sites: site_trampolines.h */
	struct hv_scope *scope;			 /* whose calls are recorded: scope.h */
	struct hv_actions *actions;		 /* additional work of calls: actions.h */
	struct hv_probe_sites *probe_sites;	 /* probes inside functions: probe_sites.h */
	struct hv_graph_tracer *graph;
	struct hv_call_counts *counts;	      /* the function profile: call_counts.h */
	struct hv_section_tracer *sections;   /* latency tracers: section_tracer.h */
	struct hv_event_tracer *events;	      /* guest events: event_tracer.h */
	struct hv_guest_ftrace *guest_ftrace; /* for the guest's own ftrace: guest_ftrace.h */
	struct hv_host_tracer *host;	      /* host events: host_tracer.h */

	uint64_t modules_signature; /* modules at the time when kernel->sites was read */
	bool may_release;	    /* pages of the image may be released */
	/* The image is never released, because the kernel was starting at attach: it still patches
	 * its code in too many places. */
	bool keeps_image;
	bool found_stale; /* attach discarded a journal from an earlier boot of the guest */
};

/* Maps the region into the guest. Borrows GUEST and KERNEL, which must outlive the session. On
 * errors without HV_ERR_NEEDS_RECOVERY every byte is as before. EEXIST, with HV_ERR_NEEDS_RECOVERY:
 * the region contains changes of a dead service. */
struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret) hv_must_use;

/* Undoes every change, flushes translations, unmaps the region, compares the kernel's text with the
 * copy from attach, and clears the region. Adds the verified facts to REPORT, with the differences
 * that the guest made itself. EBUSY: a task may still return into a trampoline, which the message
 * names; the sites are restored, the session remains, and detach can be retried. */
struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report) hv_must_use;

/* Undoes the changes of a dead service according to the journal in the region, but only changes
 * that hvtrace has certainly made. REPORT and EBUSY are as for detach. *RET_FOUND is false if there
 * were no changes. */
struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found) hv_must_use;

/* Checks without changes whether the guest contains changes of a dead session that recover can
 * undo. GUEST must have a region. EUCLEAN: there are changes, but recover cannot undo them. */
struct hv_err *hv_session_has_left(struct hv_guest *guest, struct hv_kernel *kernel,
				   bool *ret) hv_must_use;

/* Creates all parts without changing the guest; attach and recover begin with this. The caller sets
 * the tracee's range and handler. */
struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret) hv_must_use;
/* Updates the buffer after the tracee's plan changed. The rings must not have been read before. */
void hv_session_find_rings(struct hv_session *s);
/* Frees only host memory. A session that is still attached leaves its journal for recover. */
void hv_session_free(struct hv_session *s);

static inline void hv_session_free_at(struct hv_session **s)
{
	hv_session_free(*s);
}
#define HV_AUTO_SESSION hv_cleanup(hv_session_free_at)

/* ECONNRESET: the guest was rebooted, so nothing may be written to it. Other errors: its page
 * tables could not be read. Cheap; call this about every 100 ms. */
struct hv_err *hv_session_alive(struct hv_session *s) hv_must_use;

/* Returns whether AT and GPA are addresses of the same byte of the region. A vCPU that executes AT,
 * translated to GPA by its page tables, is then in the boot of the guest that is traced. */
bool hv_session_maps(const struct hv_session *s, struct hv_gva at, struct hv_gpa gpa);

/* Returns false if a failed detach has removed a part of the region from the guest. No trampoline
 * may be called any longer; only another detach, or recover, can remove the rest. */
bool hv_session_is_whole(const struct hv_session *s);

/* Returns whether memory of the region was lost (vmm/shared_memory.h), so that reads no longer
 * return the written data. The session can be detached as far as the guest still exists. */
bool hv_session_region_is_lost(const struct hv_session *s);

/* Releases memory that was not used since the last call: pages of the copy of the kernel's image
 * (kernel/image/release.h). Returns whether more can be released: then call it again soon, otherwise
 * after about a second. */
bool hv_session_release_memory(struct hv_session *s);

/* Returns whether the guest is about to hibernate and waits for a detach (hooks/kernel_calls.h). */
bool hv_session_delays_hibernation(const struct hv_session *s);

/* Returns whether nothing is traced: the guest contains only the changes that every session needs.
 * Its kernel then calls a trampoline only when it renames a task or hibernates. */
bool hv_session_is_quiet(const struct hv_session *s);

/* Rereads the modules and the sites if modules were loaded or removed. Removes the init sites if
 * the guest is stopped where it frees its init code (hv_guest_stop_fd). Returns 1 if everything
 * taken from kernel->sites is stale, and 0 if nothing changed or the guest's lists could not be
 * read. */
unsigned hv_session_refresh(struct hv_session *s);

/* Returns 1 if the guest has taken sites that hvtrace had changed, so that the sites must be set
 * again. Call it every HV_REJOIN_NS while hv_session_is_followed(). Cheap unless the guest's ftrace
 * has read sites within the last seconds. */
unsigned hv_session_rejoin(struct hv_session *s);
bool hv_session_is_followed(const struct hv_session *s);
/* Reads how many sites the guest itself uses. */
size_t hv_session_in_use(struct hv_session *s);

/* Sets the function STOPS. While the guest's text is changed, it is called between holds. If it
 * returns true, the change is undone and fails with EINTR. NULL: no function. */
void hv_session_set_stops(struct hv_session *s, bool (*stops)(void *ctx), void *ctx);

struct hv_session_stat {
	size_t nr_sites;   /* traceable */
	size_t nr_patched; /* patched now */
	size_t nr_refused; /* wanted, but used or changed by the guest */
	size_t nr_joined;  /* of the patched ones: the guest uses them, too */
	struct hv_unseen unseen;
	uint64_t nr_events;   /* records reserved by trampolines since attach, also task records */
	uint64_t nr_lost;     /* overwritten before a trace_pipe read them, or torn */
	uint64_t nr_no_stack; /* calls missed by a graph because no return stack was free */
	uint64_t nr_no_room;  /* calls missed by a graph because the return stack was full */
	uint64_t nr_no_count; /* calls missed by a profile because the vCPU's table was full */
	uint64_t nr_holds;
	uint64_t hold_total_ns;
	uint64_t hold_last_ns;
	uint64_t hold_max_ns;
	uint64_t bytes_changed; /* changed bytes of guest memory since attach, including restores */
	uint64_t region_bytes;
	uint64_t part_bytes; /* part of the region that fits into the guest's addresses */
	uint64_t ring_bytes; /* rings of all vCPUs */
	unsigned nr_cpus;
};
void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret);
/* Returns the number of holds since attach that were longer than HV_LONG_HOLD_NS, and the duration
 * of the last of them. Cheap. */
uint64_t hv_session_long_holds(const struct hv_session *s, uint64_t *ret_last_ns);
/* Finds up to MAX of the refused sites, and at most HV_REFUSED_FIRST (site_trampolines.h). RET has
 * room for MAX pointers, borrowed and valid until the next refresh. Returns the number found. */
size_t hv_session_refused(const struct hv_session *s, size_t max, const struct hv_site **ret);
/* Returns why SITE is refused, from the present bytes in the guest; static. */
const char *hv_session_why_refused(const struct hv_session *s, const struct hv_site *site);
/* Returns why records keep a task's name from before an exec or a rename, according to the present
 * state of the guest; static. NULL: they do not. */
const char *hv_session_why_names_stay(const struct hv_session *s);
/* Finds up to MAX modules that the guest cannot remove because hvtrace claims them
 * (module_claims.h). RET has room for MAX names, borrowed and valid until the next refresh. Returns
 * the number found. */
size_t hv_session_held_modules(const struct hv_session *s, size_t max, const char **ret);
