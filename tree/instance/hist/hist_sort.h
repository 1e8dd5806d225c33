/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts the entries of a histogram as the kernel does (tracing_map_sort_entries). The kernel's heap
 * sort leaves equal entries in an order that depends on the algorithm; kernels before 6.10 produce
 * the same order as this function. hist_table.h has the entries. Pure. */
#pragma once

#include "tree/format/hist_text.h"

void hv_hist_sort(const struct hv_hist_spec *s, struct hv_hist_entry *entries, size_t nr);
