/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The position in an instance's buffer from which an open file reads the events of all vCPUs, or of
 * the vCPU of its per_cpu/ directory.
 * Leaves to others: what a file makes of events (lines.h, raw.c). */
#pragma once

#include "tree/files/file.h"

/* Part of a file's state. A zero-initialised reader reads nothing. */
struct hv_reader {
	struct hv_instance *instance;
	int cpu;
	struct hv_buffer *buffer; /* the buffer that CURSOR reads */
	struct hv_cursor *cursor; /* owned */
	struct hv_event kept;	  /* taken from the cursor and not used yet */
	unsigned has_kept;
};

/* Begins to read BUFFER, for a file at AT. */
void hv_reader_begin(struct hv_reader *r, const struct hv_place *at, struct hv_buffer *buffer,
		     enum hv_cursor_mode mode);
void hv_reader_deinit(struct hv_reader *r);
/* If the instance has another buffer by now, R goes on in that one. */
void hv_reader_follow(struct hv_reader *r);
/* The operation ready() of struct hv_node. EAGAIN: the buffer is not as full as buffer_percent
 * says, recording is on, and the option block is off. */
struct hv_err *hv_reader_ready(struct hv_reader *r, bool *ret_always) hv_must_use;
