/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open calls of function_graph of one instance, while the guest records calls for several
 * instances. A call is of an instance or not; its return is of the same instances.
 *
 *   of the guest's events: depth 0  do_sys_open {          not wanted by this instance
 *                                1    vfs_open {           open call, depth 0 of the instance
 *                                2      security_file_open {        not wanted
 *                                3        kmem_cache_alloc {        open call, depth 1
 *
 * A call at some depth also ends what is open at this depth or deeper: those returns were lost, or
 * never come because the task has died.
 * Leaves to others: which calls are of the instance (demux.h). One thread. */
#pragma once

#include "base/addr.h"
#include "tracer/events/event.h"

struct hv_open_calls;

struct hv_open_call {
	struct hv_gva ip;
	uint16_t guest_depth; /* the depth in the guest's events */
	uint16_t depth;	      /* the depth in the instance's events */
	uint8_t inside;	      /* it is below a function of set_graph_function, or is one */
	uint8_t muted;	      /* it is of set_graph_notrace: what it calls is not of the instance */
};

/* SWITCHES is the function that switches from one task to another. What it calls is still called in
 * the name of one task when it is on the other's stack already. */
struct hv_open_calls *hv_open_calls_new(struct hv_gva_range switches);
void hv_open_calls_free(struct hv_open_calls *o);

/* To be called for every HV_EVENT_GRAPH_ENTRY. Returns the innermost open call around that call;
 * NULL: there is none. Borrowed, valid until the next call of these functions. */
const struct hv_open_call *hv_open_calls_around(struct hv_open_calls *o,
						const struct hv_event *entry);
/* Adds the call ENTRY, for which hv_open_calls_around() was called last. Sets ip and guest_depth of
 * CALL. */
void hv_open_calls_add(struct hv_open_calls *o, const struct hv_event *entry,
		       struct hv_open_call call);
/* To be called for every HV_EVENT_GRAPH_EXIT. Returns whether the call that ends was open, and
 * removes it. */
bool hv_open_calls_end(struct hv_open_calls *o, const struct hv_event *exit,
		       struct hv_open_call *ret);
