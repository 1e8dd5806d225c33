/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Combines several pages into one. A page of trace_pipe_raw contains the events that were available
 * when it was read, so a quiet vCPU produces many almost empty pages. The caller writes the
 * combined page. Pure. */
#pragma once

#include "base/bytes.h"

struct hv_page_joiner {
	uint8_t *page; /* owned, PAGE_BYTES long; zeroed after the events */
	size_t page_bytes;
	size_t len_bytes; /* of the events; 0: the page is empty */
	uint64_t time_ns; /* of the last event */
	uint64_t lost;	  /* as in struct hv_raw_events */
	bool has_lost;
	bool has_number;
};

void hv_page_joiner_init(struct hv_page_joiner *j, size_t page_bytes);
void hv_page_joiner_deinit(struct hv_page_joiner *j);

/* Adds the events of PAGE, which has PAGE_BYTES. Returns false if they do not fit, or if they must
 * start a page because events were lost before them: the caller then writes J's page, clears J and
 * retries. An empty J accepts every page. An invalid page counts as empty. */
bool hv_page_joiner_add(struct hv_page_joiner *j, struct hv_span page);
void hv_page_joiner_clear(struct hv_page_joiner *j);
