/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the events of several pages into one. A page of trace_pipe_raw has the events that were
 * there when it was read, so a quiet vCPU gives many pages that are almost empty. Leaves to others:
 * writing the page. Pure. */
#pragma once

#include "base/bytes.h"

struct hv_page_joiner {
	uint8_t *page; /* owned, PAGE_BYTES long; zeros after the events */
	size_t page_bytes;
	size_t len_bytes; /* of the events; 0: the page is empty */
	uint64_t time_ns; /* of the last event */
	uint64_t lost;	  /* as in struct hv_raw_events */
	bool has_lost;
	bool has_number;
};

void hv_page_joiner_init(struct hv_page_joiner *j, size_t page_bytes);
void hv_page_joiner_deinit(struct hv_page_joiner *j);

/* Adds the events of PAGE, which has PAGE_BYTES. False: they do not fit, or events were lost before
 * them, so that they have to begin a page; the caller writes J's page, empties J and tries again.
 * An empty J takes every page. A page that cannot be understood is taken as empty. */
bool hv_page_joiner_add(struct hv_page_joiner *j, struct hv_span page);
/* Empties J. */
void hv_page_joiner_clear(struct hv_page_joiner *j);
