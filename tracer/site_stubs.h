/* Which site calls which stub: changed to what is wanted, and as it is in the guest now.
 * Leaves to others: who wants what (tree/), writing (patcher/). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tracer/stubs.h"

struct hv_actions;
struct hv_graph_tracer;
struct hv_site_stubs;
struct hv_tracee;
struct hv_yield;

/* Borrows all four. */
struct hv_site_stubs *hv_site_stubs_new(struct hv_tracee *t, struct hv_graph_tracer *graph,
					struct hv_actions *actions, struct hv_yield *yield);
void hv_site_stubs_free(struct hv_site_stubs *s);

/* WANTED has one byte a site of kernel->sites, enum hv_stub; of a graph and of functions at a time,
 * not both. Changes only what differs; on error every byte is as before. Sites that cannot be
 * traced are counted as refused. With a graph or a profile, sites may be changed that nobody asked
 * for (where a new task begins, where tasks leave the CPU and come back); hv_site_stubs_now does
 * not show it. EOPNOTSUPP, EBUSY for a graph or a profile: this kernel cannot be traced so, or not
 * now (a livepatch is in transition), with the reason. */
struct hv_err *hv_site_stubs_set(struct hv_site_stubs *s, const uint8_t *wanted) hv_must_use;
/* One byte a site of kernel->sites: the stub it calls now, enum hv_stub. Borrowed, until the next
 * change. */
const uint8_t *hv_site_stubs_now(const struct hv_site_stubs *s);
/* Sites last wanted that are in use by the guest, or were changed by it. */
size_t hv_site_stubs_nr_refused(const struct hv_site_stubs *s);

/* kernel->sites or what the guest has written was read anew. */
void hv_site_stubs_look(struct hv_site_stubs *s);

/* Every site's bytes back, but of those that the guest has taken or freed. REPORT gets what was
 * done. */
struct hv_err *hv_site_stubs_restore(struct hv_site_stubs *s, struct hv_text *report) hv_must_use;
/* EBUSY when a site that the kernel knows of, or its ftrace, calls a stub: they must not be
 * unmapped. */
struct hv_err *hv_site_stubs_check_gone(const struct hv_site_stubs *s) hv_must_use;
