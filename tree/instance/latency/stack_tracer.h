/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack tracer (kernel/trace/trace_stack.c) finds the deepest task stack at calls of selected
 * functions. All instances share one. arch/ and docs/users/latency-tracers.md describe how the
 * guest compares and records stacks; files/stack_trace.c has the files. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "base/switch.h"

struct hv_cursor;
struct hv_event;
struct hv_instances;
struct hv_part;

extern const struct hv_part hv_stack_tracer_part;

#define HV_DEEPEST_MAX 128 /* functions kept per stack */

struct hv_stack_tracer {
	bool is_on;
	bool has_lost;	    /* events were lost since the limit was passed to the guest */
	uint64_t max_bytes; /* stack_max_size */
	/* The deepest stack, outermost function first. */
	size_t nr;
	struct hv_deepest {
		struct hv_gva ip;     /* a return address, or the interrupted instruction */
		uint32_t depth_bytes; /* distance from the stack's end */
	} list[HV_DEEPEST_MAX];
};

/* The stack tracer of all instances. */
const struct hv_stack_tracer *hv_stack_tracer_of(const struct hv_instances *all);
/* Returns EOPNOTSUPP with the reason if the guest does not support it. */
struct hv_err *hv_stack_tracer_check(const struct hv_instances *all) hv_must_use;
/* Starts or stops it. Results are kept. */
struct hv_err *hv_stack_tracer_switch(struct hv_instances *all, enum hv_switch to) hv_must_use;
/* Keeps only deeper stacks from now on. */
void hv_stack_tracer_set_max(struct hv_instances *all, uint64_t bytes);
/* Returns whether it checks calls of the function at IP, if it is on. */
bool hv_stack_tracer_has(const struct hv_instances *all, struct hv_gva ip);

/* Processes EVENT, a deepest stack (is_deepest), returned by CURSOR of the drain. */
void hv_stack_tracer_take(struct hv_instances *all, const struct hv_cursor *cursor,
			  const struct hv_event *event);
