/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which site calls which stub: changes sites to what is wanted, and knows what they call now.
 * Leaves to others: what is wanted (tree/), writing (patcher/). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tracer/stubs.h"

struct hv_actions;
struct hv_graph_tracer;
struct hv_places;
struct hv_site_stubs;
struct hv_tracee;
struct hv_yield;

/* Borrows all four arguments. */
struct hv_site_stubs *hv_site_stubs_new(struct hv_tracee *t, struct hv_graph_tracer *graph,
					struct hv_actions *actions, struct hv_yield *yield,
					struct hv_places *places);
void hv_site_stubs_free(struct hv_site_stubs *s);

/* Makes sites call the stubs in WANTED, which has one byte for each site of kernel->sites (enum
 * hv_stub). Changes only sites that differ. On errors every byte is as before. Sites that cannot be
 * traced are counted as refused, also if they are wanted later. A graph or a profile may also
 * change sites that are not in WANTED (where a new task begins, where tasks leave the CPU and come
 * back); hv_site_stubs_now does not show them. EOPNOTSUPP, EBUSY for a graph or a profile, with the
 * reason: this kernel cannot be traced so, or not now (a livepatch is in transition; a site that it
 * needs for itself is wanted with its stack; with HV_GRAPH_NO_SLEEP or HV_GRAPH_HOST, a site that
 * tells when tasks leave their CPU or come back cannot be changed). */
struct hv_err *hv_site_stubs_set(struct hv_site_stubs *s, const uint8_t *wanted) hv_must_use;
/* Returns one byte for each site of kernel->sites: the stub that it calls now (enum hv_stub).
 * HV_STUB_LATER alone: the site calls none, was last wanted later, and can be changed then.
 * Borrowed, valid until the next change. */
const uint8_t *hv_site_stubs_now(const struct hv_site_stubs *s);
/* Those of the sites that were wanted last that are in use by the guest, or were changed by it. */
#define HV_REFUSED_FIRST 5
struct hv_refused {
	size_t nr;
	struct hv_gva first[HV_REFUSED_FIRST]; /* as many as there are */
};
/* Borrowed, valid until the next change. */
const struct hv_refused *hv_site_stubs_refused(const struct hv_site_stubs *s);
/* EBUSY, with the name of a refused site that the stubs of others rely on, its address, which is in
 * *RET_AT, too, and what is not exact without it: that of function_graph and the profile, by which
 * a new task begins, or those of HV_FORKS_* (scope.h). NULL, and 0: none was refused. */
struct hv_err *hv_site_stubs_why_inexact(const struct hv_site_stubs *s,
					 struct hv_gva *ret_at) hv_must_use;

/* Looks again at what sites call, after kernel->sites or the guest's changes were read again. */
void hv_site_stubs_look(struct hv_site_stubs *s);

/* Restores the bytes of every site, except those that the guest has taken or freed. REPORT gets
 * lines about it. */
struct hv_err *hv_site_stubs_restore(struct hv_site_stubs *s, struct hv_text *report) hv_must_use;
/* EBUSY: a site that the kernel knows of, or its ftrace, calls a stub, so the stubs must not be
 * unmapped. */
struct hv_err *hv_site_stubs_check_gone(const struct hv_site_stubs *s) hv_must_use;
