/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads events of an instance's buffer for an open file, of all vCPUs or of the vCPU of its
 * per_cpu/ directory. listing.h and raw.c render the events. */
#pragma once

#include "tree/files/file.h"

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
void hv_reader_begin(struct hv_reader *r, const struct hv_place *at, struct hv_buffer *buffer,
		     enum hv_cursor_mode mode);
void hv_reader_deinit(struct hv_reader *r);
/* If the instance's buffer was replaced, continues in the new one. */
void hv_reader_follow(struct hv_reader *r);
/* Implements ready() of struct hv_node. EAGAIN: the buffer is filled less than buffer_percent,
 * recording is on, and the option block is off. */
struct hv_err *hv_reader_ready(struct hv_reader *r, bool *ret_always) hv_must_use;
