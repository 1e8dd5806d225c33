/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the events of an instance's buffer for an open file, and shows them as text, for the files
 * trace, snapshot, trace_pipe and dumps. */
#pragma once

#include "tree/files/file.h"
#include "tree/files/files.h"
#include "tree/format/graph.h"
#include "tree/format/style.h"

struct hv_section;

/* -- reading events ---------------------------------------------------------------------------- */

/* Reads events of all vCPUs, or of the vCPU of the file's per_cpu/ directory. */

/* Part of a file's state. A zero-initialised reader reads nothing. */
struct hv_reader {
	struct hv_instance *instance;
	int cpu;
	struct hv_buffer *buffer; /* the buffer that CURSOR reads */
	struct hv_cursor *cursor; /* owned */
	struct hv_event kept;	  /* read from the cursor but not used yet */
	unsigned has_kept;
};

/* Starts to read BUFFER, for a file at AT. */
void hv_reader_begin(struct hv_reader *r, const struct hv_path *at, struct hv_buffer *buffer,
		     enum hv_cursor_mode mode);
void hv_reader_deinit(struct hv_reader *r);
/* If the instance's buffer was replaced, continues in the new one. */
void hv_reader_follow(struct hv_reader *r);
/* Implements ready() of struct hv_node. EAGAIN: the buffer is filled less than buffer_percent,
 * recording is on, and the option block is off. */
struct hv_err *hv_reader_ready(struct hv_reader *r, bool *ret_always) hv_must_use;

/* -- lines of events --------------------------------------------------------------------------- */

/* Renders events as lines of text, according to the instance's options. function_graph calls and
 * returns are shown as a tree, even if the tracer has changed since. pipe.c and trace.c add other
 * lines. */

/* Part of a file's state. All members except the reader start zeroed. */
struct hv_lines {
	struct hv_reader reader;
	struct hv_graph *graph;		 /* owned; NULL until a call or return is read */
	struct hv_symbol_texts *symbols; /* owned, like line_texts; NULL until the first line */
	struct hv_line_texts *line_texts;
	struct hv_user_objects *user_objects; /* owned; NULL until an option needs it */
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

/* -- the contents of a buffer ------------------------------------------------------------------ */

/* Shows a buffer as in trace and snapshot: the header, the events that the buffer contained when
 * the file was opened, and lines about lost events. The events stay in the buffer. */

/* Part of a file's state. A zero-initialised listing shows nothing. */
struct hv_listing {
	struct hv_lines lines;
	unsigned has_overrun; /* events were overwritten */
	uint8_t *started;     /* owned, a byte per vCPU; not 0: the vCPU has a line */
	unsigned nr_started;
	struct hv_section *worst; /* owns a reference; NULL: show all events */
	uint64_t start_ns;	  /* with WORST: show events from this time on */
};

/* Starts to show BUFFER, for a file at AT. */
void hv_listing_begin(struct hv_listing *l, const struct hv_path *at, struct hv_buffer *buffer);
/* Starts to show the worst wait that a wakeup tracer keeps in the snapshot, from its beginning. */
void hv_listing_begin_worst(struct hv_listing *l, const struct hv_path *at);
void hv_listing_deinit(struct hv_listing *l);
/* Implements fill() of F, whose state contains L. */
void hv_listing_fill(struct hv_listing *l, struct hv_file *f);

/* -- the kept section -------------------------------------------------------------------------- */

/* Shows the section kept by a section tracer, as trace does: the header, its start, the calls in
 * it, its end, and the stack there. */

/* Part of a file's state. A zero-initialised listing shows nothing. */
struct hv_section_listing {
	struct hv_section *section;	 /* owns a reference; may be NULL */
	struct hv_graph *graph;		 /* owned; NULL until the first line in graph format */
	size_t next;			 /* next line to show */
	struct hv_symbol_texts *symbols; /* owned; NULL until the first line */
};

/* Starts to show the section that the tracer of F's instance keeps now. Truncating the file drops
 * the section first. A per-vCPU file shows it only if it occurred on that vCPU. */
void hv_section_listing_begin(struct hv_section_listing *l, struct hv_file *f);
void hv_section_listing_deinit(struct hv_section_listing *l);
/* Implements fill() of F, whose state contains L. */
void hv_section_listing_fill(struct hv_section_listing *l, struct hv_file *f);
