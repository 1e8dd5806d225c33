/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a buffer as trace and snapshot do: the header, the events that the buffer contained when
 * the file was opened, and the lines between them. The events stay in the buffer. */
#pragma once

#include "tree/files/lines.h"

struct hv_section;

/* Part of a file's state. A zero-initialised listing shows nothing. */
struct hv_listing {
	struct hv_lines lines;
	unsigned has_overrun; /* events were overwritten */
	uint8_t *started;     /* owned, a byte per vCPU; not 0: the vCPU has a line */
	unsigned nr_started;
	struct hv_section *worst; /* has a reference; NULL: all events are shown */
	uint64_t start_ns;	  /* with it: those from then on are */
};

/* Begins to show BUFFER, for a file at AT. */
void hv_listing_begin(struct hv_listing *l, const struct hv_place *at, struct hv_buffer *buffer);
/* Begins to show the worst wait that the tracer of wakeups keeps in the snapshot, from its begin.
 */
void hv_listing_begin_worst(struct hv_listing *l, const struct hv_place *at);
void hv_listing_deinit(struct hv_listing *l);
/* The operation fill() of F, whose state contains L. */
void hv_listing_fill(struct hv_listing *l, struct hv_file *f);
