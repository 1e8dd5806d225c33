/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hist triggers have to do with each other: those that refer to variables of others keep these
 * in place, and their histograms too. Leaves to others: the words (tree/settings/hist_field.h,
 * hist_action.h), which triggers there are (hists.h). */
#pragma once

#include "base/err.h"
#include "tree/instance/hist/hists.h"

/* What a trigger that is parsed can refer to. */
struct hv_hist_links {
	struct hv_instance *in;
	const struct hv_catalogue *catalogue;
	struct hv_hist_of *of; /* the trigger */
	/* hv_instance_write_hist(), which adds another one. */
	struct hv_err *(*write)(struct hv_instance *in, const struct hv_event_type *type,
				const char *text, struct hv_hist_refusal *ret_why);
};

/* LINKS is borrowed, also by the result. */
struct hv_hist_scope hv_hist_links_scope(struct hv_hist_links *links,
					 const struct hv_event_type *type) hv_must_use;
/* The error of the trigger TEXT. */
struct hv_err *hv_hist_links_error(const struct hv_hist_faults *faults,
				   const char *text) hv_must_use;

/* Finds what the actions of LINKS->of, which has the words of TEXT, name, and the histograms to
 * which it refers. May add other triggers, its `added`; the caller removes them if it is not added.
 * EINVAL, EEXIST, ENOMEM, EBUSY. */
struct hv_err *hv_hist_links_make(struct hv_hist_links *links, const char *text,
				  struct hv_hist_faults *ret_faults) hv_must_use;
/* Whether the entries of both have the same variables. */
bool hv_hist_links_are_like(const struct hv_hist_of *a, const struct hv_hist_of *b);

/* Whether others of S refer to variables of OF. */
bool hv_hist_links_has(const struct hv_hists *s, const struct hv_hist_of *of);
/* Returns where the trigger SERIAL is; s->nr: there is none. */
size_t hv_hist_links_find(const struct hv_hists *s, uint64_t serial);
