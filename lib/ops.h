/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registered callbacks: what ops.c, which registers them and reads their events, shares with the
 * kinds of ops, which decode the events. hvtrace/hvtrace.h is the contract. */
#pragma once

#include "lib/format.h"
#include "lib/lanes.h"
#include "lib/session.h"

/* An event that was decoded, for its callback. */
union ops_record {
	struct hvt_call call;
	struct hvt_graph graph;
	struct hvt_event event;
};

/* The format of kernel_stack. */
struct stack_format {
	struct record_format record;
	uint32_t callers_off;
};

/* The properties and functions of a kind of ops. */
struct ops_kind {
	const char *tracer; /* for current_tracer; NULL: none */
	const char
		*stack_option; /* the option that records stacks; NULL: this kind has no stacks */
	/* Reads the formats of the instance, whose settings have been made. */
	struct hvt_error *(*prepare)(struct hvt_ops *ops);
	void (*release)(struct hvt_ops *ops); /* undoes prepare(); may be NULL */
	/* Returns false if E is not an event of this kind, or is too short. */
	bool (*decode)(const struct hvt_ops *ops, const struct lane_event *e,
		       union ops_record *ret);
	void (*call)(const struct hvt_ops *ops, const union ops_record *record);
};

extern const struct ops_kind ops_of_functions, ops_of_graph, ops_of_events;

struct event_types;
struct ops_setting;
struct source;

struct hvt_ops {
	const struct ops_kind *kind;
	hvt_function_t function;	      /* ops_of_functions */
	hvt_graph_t graph_call, graph_return; /* ops_of_graph; one can be NULL */
	hvt_event_t event;		      /* ops_of_events */
	char *events;			      /* owned; for set_event */
	hvt_stack_t stack;		      /* NULL: stacks are not recorded */
	hvt_page_t page;		      /* NULL: the callbacks above receive events */
	hvt_lost_t lost;
	void *data;
	char *filter, *notrace; /* owned, or NULL */
	struct ops_setting *settings;
	/* If registered: */
	struct hvt_session *session; /* NULL: not registered */
	uint64_t registration;	     /* its number */
	struct hvt_ops *next;
	struct conn *conn;
	char *path;
	struct source *sources; /* one for each vCPU */
	struct lanes lanes;
	size_t page_bytes;
	struct record_format formats[2]; /* ops_of_functions, ops_of_graph */
	struct stack_format stack_format;
	struct event_types *types; /* ops_of_events */
	uint64_t round;		   /* session->round at the last dispatch */
	size_t nr_pages;	   /* pages passed to the callback in this turn */
	bool has_replies; /* a WIRE_READY was answered since the last turn, or recording ended */
	int failed;	  /* errno of such a reply, or 0 */
	bool dispatches, is_freed;
};
