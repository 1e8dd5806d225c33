/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of the structures that describe the guest's own events: trace_event_call,
 * trace_event_class, ftrace_event_field, trace_event_fields, trace_array, trace_event_file,
 * trace_entry and syscall_metadata. Compares the pointers in the guest's variables with symbols:
 * event_X points to event_class_X. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts. */
void hv_event_members_derive(struct hv_deriving *d);
