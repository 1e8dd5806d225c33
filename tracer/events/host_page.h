/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a page of a ring buffer of the host's tracing, as trace_pipe_raw gives it: entries and
 * their times. The page is the host kernel's; nevertheless every length is checked, and what does
 * not fit ends the page. Only with the header that 64-bit kernels have (events/header_page: 16
 * bytes). Leaves to others: what an entry means (host_format.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct hv_host_page {
	struct hv_span data; /* borrowed: the page up to its last entry */
	size_t at;
	uint64_t ticks;	  /* of the entry that was read last, or of the page */
	uint64_t nr_lost; /* entries that are missing before the page; at least 1 if any are */
};

/* False: it is no page. */
bool hv_host_page_begin(struct hv_span bytes, struct hv_host_page *ret);
/* RET_ENTRY is in the page, and P->ticks is its time. False: there is none any more. */
bool hv_host_page_next(struct hv_host_page *p, struct hv_span *ret_entry);
