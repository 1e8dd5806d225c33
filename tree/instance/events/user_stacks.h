/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User stacks of guest events, for the option userstacktrace (ftrace_trace_userstack() in
 * kernel/trace/trace.c) and for histograms with the key common_userstacktrace. While an instance
 * needs them, the guest reads the task's stack in user space when it records the event
 * (HV_FETCH_USER_STACK), as for $ustack of a probe. The host makes an event ftrace:user_stack from
 * the result and puts it after the event in the buffer of each instance with the option. This
 * requires the drain (demux.h).
 *
 * event_stacks.h has the stacks in the kernel, which come first. tree/format/format.h prints both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/events/event.h"
#include "tracer/guest/trampoline_programs.h"

struct hv_event_type;
struct hv_instance;
struct hv_instances;
struct hv_part;

extern const struct hv_part hv_user_stacks_part;

/* The longest entry of ftrace:user_stack. */
#define HV_USER_STACK_ENTRY_MAX 256

/* Finds what recording user stacks needs, at the first request. EOPNOTSUPP: this guest's stacks or
 * types do not show it; ENOSPC: the region has no room. */
struct hv_err *hv_user_stacks_prepare(struct hv_instances *all) hv_must_use;

/* Returns whether IN needs the user stacks of TYPE. */
bool hv_user_stacks_are_wanted(const struct hv_instance *in, const struct hv_event_type *type);
/* The program that reads them, borrowed. hv_user_stacks_prepare() must have succeeded. */
const struct hv_trampoline_program *hv_user_stacks_program(const struct hv_instances *all);

/* Copies the addresses in the user stack of EVENT, at most MAX, to RET, which contains zeros. Returns
 * false if EVENT has no user stack. */
bool hv_user_stacks_addresses(const struct hv_instances *all, const struct hv_event *event,
			      uint64_t *ret, size_t max);
/* Makes the event ftrace:user_stack *RET from RESULTS, the results of EVENT's program. ENTRY,
 * HV_USER_STACK_ENTRY_MAX bytes, receives the entry. Returns false if EVENT has no user stack. */
bool hv_user_stacks_event(const struct hv_instances *all, const struct hv_event *event,
			  struct hv_span results, struct hv_event *ret, uint8_t *entry);
