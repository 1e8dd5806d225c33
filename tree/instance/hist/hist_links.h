/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dependencies between hist triggers: a trigger that refers to variables of others keeps them, and
 * their histograms, from being removed. tree/settings/hist_field.h and hist_action.h parse
 * references; hists.h has the triggers. */
#pragma once

#include "base/err.h"
#include "tree/instance/hist/hists.h"

/* Context for the references of a trigger. */
struct hv_hist_links {
	struct hv_instance *in;
	const struct hv_catalogue *catalogue;
	struct hv_hist_of *of; /* the trigger */
	/* hv_instance_write_hist(), to add another trigger. */
	struct hv_err *(*write)(struct hv_instance *in, const struct hv_event_type *type,
				const char *text, struct hv_hist_refusal *ret_why);
};

/* LINKS is borrowed by the result. */
struct hv_hist_scope hv_hist_links_scope(struct hv_hist_links *links,
					 const struct hv_event_type *type) hv_must_use;
/* Returns FAULTS, found in the trigger TEXT, as an error. */
struct hv_err *hv_hist_links_error(const struct hv_hist_faults *faults,
				   const char *text) hv_must_use;

/* Resolves the names in the actions of LINKS->of, parsed from TEXT, and the histograms that it
 * refers to. May add other triggers, listed in its `added`; if the trigger is not added in the end,
 * the caller removes these. EINVAL, EEXIST, ENOMEM, EBUSY. */
struct hv_err *hv_hist_links_make(struct hv_hist_links *links, const char *text,
				  struct hv_hist_faults *ret_faults) hv_must_use;
/* Returns whether the entries of A and B have the same variables. */
bool hv_hist_links_are_like(const struct hv_hist_of *a, const struct hv_hist_of *b);

/* Returns whether other triggers in S refer to variables of OF. */
bool hv_hist_links_has(const struct hv_hists *s, const struct hv_hist_of *of);
/* Returns the index of the trigger SERIAL, or s->nr. */
size_t hv_hist_links_find(const struct hv_hists *s, uint64_t serial);
