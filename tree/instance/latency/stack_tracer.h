/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack tracer (kernel/trace/trace_stack.c): the deepest stack that a task has had in a call of
 * a function that it looks at. There is one for all instances.
 * Leaves to others: how the guest compares and records (arch/, docs/users/latency-tracers.md), the
 * files (files/stack_trace.c). */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_cursor;
struct hv_event;
struct hv_instances;
struct hv_part;

extern const struct hv_part hv_stack_tracer_part;

#define HV_DEEPEST_MAX 128 /* functions of a stack that are kept */

struct hv_stack_tracer {
	bool is_on;
	bool has_lost;	    /* events were lost since the guest was told what is deepest */
	uint64_t max_bytes; /* stack_max_size */
	/* The deepest stack, the function that was called first. */
	size_t nr;
	struct hv_deepest {
		struct hv_gva ip;     /* the address behind a call, or where an interrupt came */
		uint32_t depth_bytes; /* from where this address is to the end of the stack */
	} list[HV_DEEPEST_MAX];
};

/* Why there is none: EOPNOTSUPP with the reason. */
struct hv_err *hv_stack_tracer_check(const struct hv_instances *all) hv_must_use;
/* Switches it on or off. What it has found stays. */
struct hv_err *hv_stack_tracer_switch(struct hv_instances *all, bool on) hv_must_use;
/* Only deeper stacks are kept from now on. */
void hv_stack_tracer_set_max(struct hv_instances *all, uint64_t bytes);
/* Whether it looks at calls of the function at IP, when it is on. */
bool hv_stack_tracer_has(const struct hv_instances *all, struct hv_gva ip);

/* Takes EVENT, which is_deepest, and which CURSOR, a drain's, has returned. */
void hv_stack_tracer_take(struct hv_instances *all, const struct hv_cursor *cursor,
			  const struct hv_event *event);
