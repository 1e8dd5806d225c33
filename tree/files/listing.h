/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a buffer as in trace and snapshot: the header, the events that the buffer contained when
 * the file was opened, and lines about lost events. The events stay in the buffer. */
#pragma once

#include "tree/files/lines.h"

struct hv_section;

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
void hv_listing_begin(struct hv_listing *l, const struct hv_place *at, struct hv_buffer *buffer);
/* Starts to show the worst wait that a wakeup tracer keeps in the snapshot, from its beginning. */
void hv_listing_begin_worst(struct hv_listing *l, const struct hv_place *at);
void hv_listing_deinit(struct hv_listing *l);
/* Implements fill() of F, whose state contains L. */
void hv_listing_fill(struct hv_listing *l, struct hv_file *f);
