/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open function_graph calls of one instance, while the guest records calls for several
 * instances. A return belongs to the instances that its call belongs to.
 *
 *   guest depth 0  do_sys_open {                  not wanted by this instance
 *               1    vfs_open {                   open call, depth 0 in the instance
 *               2      security_file_open {       not wanted
 *               3        kmem_cache_alloc {       open call, depth 1
 *
 * A call at some depth closes all open calls at this depth or deeper: their returns were lost, or
 * the task died. demux.h decides which calls belong to the instance. One thread. */
#pragma once

#include "base/addr.h"
#include "tracer/events/event.h"

struct hv_open_calls;

struct hv_open_call {
	struct hv_gva ip;
	uint16_t guest_depth; /* depth in the guest's events */
	uint16_t depth;	      /* depth in the instance's events */
	uint8_t inside;	      /* is in set_graph_function, or is called by such a function */
	uint8_t muted; /* is in set_graph_notrace: its callees do not belong to the instance */
};

/* SWITCHES is the function that switches between tasks. Its callees still run in the name of the
 * previous task when they are already on the next task's stack. */
struct hv_open_calls *hv_open_calls_new(struct hv_gva_range switches);
void hv_open_calls_free(struct hv_open_calls *o);

/* Call it for every HV_EVENT_GRAPH_ENTRY. Returns the innermost open call around that call, or
 * NULL. Borrowed, valid until the next call of these functions. */
const struct hv_open_call *hv_open_calls_around(struct hv_open_calls *o,
						const struct hv_event *entry);
/* Adds the call ENTRY, the last one passed to hv_open_calls_around(). Sets ip and guest_depth of
 * CALL. */
void hv_open_calls_add(struct hv_open_calls *o, const struct hv_event *entry,
		       struct hv_open_call call);
/* Call it for every HV_EVENT_GRAPH_EXIT. If its call was open, removes it, stores it in *RET and
 * returns true. */
bool hv_open_calls_end(struct hv_open_calls *o, const struct hv_event *exit,
		       struct hv_open_call *ret);
