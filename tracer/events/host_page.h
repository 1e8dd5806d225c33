/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads entries and their times from a page of a ring buffer of the host's tracing, as returned by
 * trace_pipe_raw. The page comes from the host's kernel; still, every length is checked, and an
 * invalid one ends the page. Supports only the header of 64-bit kernels (events/header_page: 16
 * bytes).
 *
 * host_format.h interprets entries. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct hv_host_page {
	struct hv_span data; /* borrowed; the page up to the end of its last entry */
	size_t at;
	uint64_t ticks;	  /* time of the last entry read, or of the page */
	uint64_t nr_lost; /* entries lost before the page; at least 1 if any were */
};

/* Returns false if BYTES is not a page. */
bool hv_host_page_begin(struct hv_span bytes, struct hv_host_page *ret);
/* Returns the next entry, which points into the page; P->ticks is its time. Returns false at the
 * end. */
bool hv_host_page_next(struct hv_host_page *p, struct hv_span *ret_entry);
