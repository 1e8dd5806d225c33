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
};

/* What differs between kinds of ops. */
struct ops_kind {
	const char *tracer; /* for current_tracer */
	/* Reads the formats of the instance, whose settings have been made. */
	struct hvt_error *(*read_formats)(struct hvt_ops *ops);
	/* Returns false if E is not an event of this kind, or is too short. */
	bool (*decode)(const struct hvt_ops *ops, const struct lane_event *e,
		       union ops_record *ret);
	void (*call)(const struct hvt_ops *ops, const union ops_record *record);
};

extern const struct ops_kind ops_of_functions, ops_of_graph;

#define RECORD_NUMBERS_MAX 6

/* The format of a tracer's events. */
struct record_format {
	uint16_t id;
	struct format_field pid, flags, preempt_count;
	struct format_field numbers[RECORD_NUMBERS_MAX]; /* len_bytes 0: absent */
};

struct ops_setting;
struct source;

struct hvt_ops {
	const struct ops_kind *kind;
	hvt_function_t function;	      /* ops_of_functions */
	hvt_graph_t graph_call, graph_return; /* ops_of_graph; one can be NULL */
	hvt_lost_t lost;
	void *data;
	char *filter, *notrace; /* owned, or NULL */
	struct ops_setting *settings;
	/* If registered: */
	struct hvt_session *session; /* NULL: not registered */
	struct hvt_ops *next;
	struct conn *conn;
	char *path;
	struct source *sources; /* one for each vCPU */
	struct lanes lanes;
	size_t page_bytes;
	struct record_format formats[2]; /* of the kind's events */
	uint64_t round;			 /* of the session when they were dispatched last */
	bool has_replies; /* a WIRE_READY was answered since the last turn, or recording ended */
	int failed;	  /* errno of such a reply, or 0 */
	bool dispatches, is_freed;
};
