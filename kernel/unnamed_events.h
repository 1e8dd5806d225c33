/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tells the lists of trace events in a kernel that does not name them (unnamed.h): their
 * forms. Leaves to others: which functions use them (unnamed.c), reading the events (events/). */
#pragma once

#include "kernel/core.h"

/* Whether the list of trace arrays (ftrace_trace_arrays) is at HEAD. The last one is a variable of
 * the kernel, whose files point to it and to events of the kernel. */
bool hv_trace_arrays_are_at(const struct hv_kernel_core *core, struct hv_gva head);

/* Whether the list of the fields of all records (ftrace_common_fields) is at HEAD: the members of
 * struct trace_entry, as the types have them. */
bool hv_common_fields_are_at(const struct hv_kernel_core *core, struct hv_gva head);
