/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises the lists of trace events by their form in a kernel without symbols for them
 * (unnamed.h). unnamed.c lists the functions that use them; events/ reads the events. */
#pragma once

#include "kernel/core/core.h"

/* Returns whether the list of trace arrays (ftrace_trace_arrays) is at HEAD. Its last element must
 * be a variable of the kernel, whose files point to it and to kernel events. */
bool hv_trace_arrays_are_at(const struct hv_kernel_core *core, struct hv_gva head);

/* Returns whether the list of fields of all records (ftrace_common_fields) is at HEAD: the members
 * of struct trace_entry, as BTF describes them. */
bool hv_common_fields_are_at(const struct hv_kernel_core *core, struct hv_gva head);
