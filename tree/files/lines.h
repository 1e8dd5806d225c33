/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders events as lines of text, according to the instance's options. function_graph calls and
 * returns are shown as a tree, even if the tracer has changed since. listing.h, pipe.c and dump.c
 * add other lines. */
#pragma once

#include "tree/files/reader.h"
#include "tree/format/graph.h"
#include "tree/format/latency.h"

/* Part of a file's state. All members except the reader start zeroed. */
struct hv_lines {
	struct hv_reader reader;
	struct hv_graph *graph;		 /* owned; NULL until a call or return is read */
	struct hv_symbol_texts *symbols; /* owned, like line_texts; NULL until the first line */
	struct hv_line_texts *line_texts;
	struct hv_latency latency;
	struct hv_options options; /* for the columns of a section's graph */
	unsigned is_latency;	   /* latency format */
	uint64_t nr;		   /* number of events shown */
};

void hv_lines_deinit(struct hv_lines *l);
/* Returns the current style. The result borrows L. */
struct hv_style hv_lines_style(struct hv_lines *l);
/* Takes the next event. In latency format a line shows the time until the next event, so this reads
 * one event ahead. Returns false if there is no event now. */
bool hv_lines_take(struct hv_lines *l, struct hv_event *ret);
/* Adds the line of E, the event taken last. If E is a call and the next event on its vCPU is its
 * return, shows both in one line and consumes the return. */
void hv_lines_add(struct hv_lines *l, struct hv_text *out, const struct hv_style *style,
		  const struct hv_event *e);
