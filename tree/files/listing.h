/* A buffer as trace and snapshot show it: the header, the events that were there when the file was
 * opened, and the lines between them. Nothing is taken out of the buffer. */
#pragma once

#include "tree/files/lines.h"

/* Part of a file's state. Zero-initialised shows nothing. */
struct hv_listing {
	struct hv_lines lines;
	unsigned has_overrun; /* events were overwritten */
	uint8_t *started;     /* owned, a byte a vCPU; not 0: it has a line */
	unsigned nr_started;
};

/* Shows BUFFER, for a file at AT. */
void hv_listing_begin(struct hv_listing *l, const struct hv_place *at, struct hv_buffer *buffer);
void hv_listing_deinit(struct hv_listing *l);
/* The operation fill() of F, of which L is the state. */
void hv_listing_fill(struct hv_listing *l, struct hv_file *f);
