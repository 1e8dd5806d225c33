/* Events as lines of text, for a file that reads them. The instance's options say how they look.
 * Calls and returns of function_graph become a tree, whatever the tracer is by now.
 * Leaves to others: lines that are no events (listing.h, pipe.c, dump.c). */
#pragma once

#include "tree/files/reader.h"
#include "tree/format/graph.h"
#include "tree/format/latency.h"

/* Part of a file's state. Zero-initialised but for the reader. */
struct hv_lines {
	struct hv_reader reader;
	struct hv_graph *graph; /* owned; NULL: no call or return was read yet */
	struct hv_latency latency;
	unsigned is_latency; /* events are shown in latency format */
	uint64_t nr;	     /* of events shown */
};

void hv_lines_deinit(struct hv_lines *l);
/* How events are shown now. Borrows L. */
struct hv_style hv_lines_style(struct hv_lines *l);
/* Takes the next event. In latency format a line says how far the next event is, so that one is
 * taken, too, and held. False: there are no more now. */
bool hv_lines_take(struct hv_lines *l, struct hv_event *ret);
/* Adds the line of E, which was taken last. An entry takes its return along when that comes next on
 * its vCPU. */
void hv_lines_add(struct hv_lines *l, struct hv_text *out, const struct hv_style *style,
		  const struct hv_event *e);
