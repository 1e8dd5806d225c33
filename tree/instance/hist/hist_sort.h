/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which the kernel shows the entries of a histogram (tracing_map_sort_entries). It
 * sorts by a heap, which leaves entries that are alike in an order of its own; kernels before 6.10
 * leave them in the same order as this.
 * Leaves to others: the entries (hist_table.h). Pure. */
#pragma once

#include "tree/format/hist_text.h"

void hv_hist_sort(const struct hv_hist_spec *s, struct hv_hist_entry *entries, size_t nr);
