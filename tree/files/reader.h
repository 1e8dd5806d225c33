/* The place in an instance's buffer from which an open file reads: all vCPUs, or the one of its
 * per_cpu/ directory.
 * Leaves to others: what becomes of events (lines.h, raw.c). */
#pragma once

#include "tree/files/file.h"

/* Part of a file's state. Zero-initialised reads nothing. */
struct hv_reader {
	struct hv_instance *instance;
	int cpu;
	struct hv_buffer *buffer; /* the cursor's */
	struct hv_cursor *cursor; /* owned */
	struct hv_event held;	  /* taken from the cursor and not used yet */
	unsigned has_held;
};

/* Reads BUFFER, for a file at AT. */
void hv_reader_begin(struct hv_reader *r, const struct hv_place *at, struct hv_buffer *buffer,
		     enum hv_cursor_mode mode);
void hv_reader_deinit(struct hv_reader *r);
/* The instance may have another buffer by now than R's. If so, R goes on in that one. */
void hv_reader_follow(struct hv_reader *r);
/* The operation ready() of struct hv_node: asks for a buffer as full as buffer_percent says, unless
 * the option block is on. */
struct hv_err *hv_reader_ready(struct hv_reader *r, bool *ret_always) hv_must_use;
