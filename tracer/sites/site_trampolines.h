/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the trampoline that each site calls: changes sites to the wanted trampolines, and records
 * their present ones. site_pairs.h writes calls of two instructions, chains.h those for sites that
 * the guest uses.
 *
 * tree/ chooses the trampolines; patcher/ writes. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tracer/guest/trampolines.h"

struct hv_actions;
struct hv_graph_tracer;
struct hv_probe_sites;
struct hv_site_trampolines;
struct hv_tracee;
struct hv_guest_ftrace;

/* Borrows all arguments. */
struct hv_site_trampolines *hv_site_trampolines_new(struct hv_tracee *t,
						    struct hv_graph_tracer *graph,
						    struct hv_actions *actions,
						    struct hv_guest_ftrace *guest_ftrace,
						    struct hv_probe_sites *probe_sites);
void hv_site_trampolines_free(struct hv_site_trampolines *s);

/* Makes sites call the trampolines in WANTED, one byte (enum hv_trampoline) for each site of
 * kernel->sites. Changes only sites that differ. On errors every byte is as before. Sites that
 * cannot be traced are counted as refused, including those wanted later.
 *
 * A graph or a profile may change additional sites (where a new task begins, and where tasks leave
 * the CPU and return to it); hv_site_trampolines_now does not include them. EOPNOTSUPP or EBUSY for
 * a graph or a profile, with the reason: this kernel cannot be traced, or not now. Reasons for
 * EBUSY: a livepatch is in transition; an additional site is also wanted with its stack; or, with
 * HV_GRAPH_NO_SLEEP or HV_GRAPH_HOST, a site where tasks leave their CPU or return cannot be
 * changed. */
struct hv_err *hv_site_trampolines_set(struct hv_site_trampolines *s,
				       const uint8_t *wanted) hv_must_use;
/* Returns one byte for each site of kernel->sites: the trampoline that it calls now (enum
 * hv_trampoline). HV_TRAMPOLINE_LATER alone: the site calls no trampoline and can be patched when
 * it is wanted. Borrowed until the next change. */
const uint8_t *hv_site_trampolines_now(const struct hv_site_trampolines *s);
/* Returns the number of sites that the guest's own tracers use and that call a chain (chains.h). */
size_t hv_site_trampolines_joined(const struct hv_site_trampolines *s);
/* Adds to RET a line about the functions whose calls were not seen for a time, because the guest had
 * taken their sites (guest_ftrace.h), and which call a trampoline again since the last call. Returns
 * false if there are none. */
bool hv_site_trampolines_take_unseen(struct hv_site_trampolines *s, struct hv_text *ret);
/* Sites wanted in the last hv_site_trampolines_set() that the guest uses or has changed. */
#define HV_REFUSED_FIRST 5
struct hv_refused {
	size_t nr;
	struct hv_gva first[HV_REFUSED_FIRST]; /* min(nr, HV_REFUSED_FIRST) entries */
};
/* Borrowed until the next change. */
const struct hv_refused *hv_site_trampolines_refused(const struct hv_site_trampolines *s);
/* Returns EBUSY if a refused site affects the results of other functions: the site of
 * function_graph and the profile where a new task begins, or the sites of HV_FORKS_* (scope.h). The
 * message names the site, its address (also in *RET_AT) and the inaccurate results. NULL, and
 * *RET_AT 0: none was refused. */
struct hv_err *hv_site_trampolines_why_inexact(const struct hv_site_trampolines *s,
					       struct hv_gva *ret_at) hv_must_use;

/* Rereads the present trampoline of each site. Call it after kernel->sites or the guest's changes
 * were reread. */
void hv_site_trampolines_look(struct hv_site_trampolines *s);

/* Restores the bytes of every site, except those that the guest has taken or freed. Adds lines to
 * REPORT. */
struct hv_err *hv_site_trampolines_restore(struct hv_site_trampolines *s,
					   struct hv_text *report) hv_must_use;
/* EBUSY: a site known to the kernel, or its ftrace, still calls a trampoline, so the trampolines
 * must not be unmapped. */
struct hv_err *hv_site_trampolines_check_gone(const struct hv_site_trampolines *s) hv_must_use;
