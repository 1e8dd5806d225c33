/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of the structures with which the guest calls tracepoints and records events:
 * tracepoint, tracepoint_ext, tracepoint_func, tp_probes, static_key, jump_entry, static_call_key,
 * static_call_site, trace_event_buffer, the flags of trace_event_file, and the flags of tasks for
 * system calls. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts, which already has the members of event_members.h and of struct
 * task_struct. */
void hv_tracepoint_members_derive(struct hv_deriving *d);
