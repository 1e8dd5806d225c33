/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns events into lines of text for a file, according to the instance's options. Calls and
 * returns of function_graph become a tree, also when the tracer has been changed since. Leaves to
 * others: lines that are not events (listing.h, pipe.c, dump.c). */
#pragma once

#include "tree/files/reader.h"
#include "tree/format/graph.h"
#include "tree/format/latency.h"

/* Part of a file's state. All members but the reader begin as zero. */
struct hv_lines {
	struct hv_reader reader;
	struct hv_graph *graph;		 /* owned; NULL until a call or return is read */
	struct hv_symbol_texts *symbols; /* owned, as line_texts; NULL until the first line */
	struct hv_line_texts *line_texts;
	struct hv_latency latency;
	struct hv_options options; /* of the columns of a section's graph */
	unsigned is_latency;	   /* events are shown in latency format */
	uint64_t nr;		   /* events that were shown */
};

void hv_lines_deinit(struct hv_lines *l);
/* Returns how events are shown now. The result borrows L. */
struct hv_style hv_lines_style(struct hv_lines *l);
/* Takes the next event. A line in latency format marks the time until the event after it, so this
 * takes that event, too, and keeps it for the next call. Returns false when there is no event now.
 */
bool hv_lines_take(struct hv_lines *l, struct hv_event *ret);
/* Adds the line of E, which was taken last. If E is a call and the next event on its vCPU is its
 * return, both are shown in one line and the return is taken. */
void hv_lines_add(struct hv_lines *l, struct hv_text *out, const struct hv_style *style,
		  const struct hv_event *e);
