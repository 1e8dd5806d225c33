/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a histogram, as the kernel's tracing_map has them: for each key how often it was
 * hit, and the sums of the values. It has room for as many entries as its trigger says. Events with
 * other keys than those are dropped, and counted. Keys are the guest's, so a search ends after a
 * number of steps that is bounded; then, too, the event is dropped.
 * Leaves to others: what keys and values are (tree/settings/hist_spec.h). Pure. */
#pragma once

#include "base/text.h"
#include "tree/format/hist_text.h"

struct hv_hist_table;

/* The table has the keys and values of S, which it does not keep. The caller owns one reference. */
struct hv_hist_table *hv_hist_table_new(const struct hv_hist_spec *s) hv_must_use;
struct hv_hist_table *hv_hist_table_ref(struct hv_hist_table *t) hv_must_use;
void hv_hist_table_unref(struct hv_hist_table *t);
/* How many bytes a table of S may need at most. */
uint64_t hv_hist_table_bytes(const struct hv_hist_spec *s);

/* Removes all entries, and begins to count at 0. */
void hv_hist_table_clear(struct hv_hist_table *t);
/* Adds RECORD, an event of a task called COMM, of HV_COMM_LEN bytes. */
void hv_hist_table_add(struct hv_hist_table *t, const struct hv_hist_spec *s,
		       const struct hv_hist_record *record, const char *comm);

/* Adds the text of the entries in the order of S, and the totals. NAMES is changed. */
void hv_hist_table_text(const struct hv_hist_table *t, const struct hv_hist_spec *s,
			struct hv_hist_names *names, struct hv_text *ret);
