/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of trace_marker, stored on the host by number because a record has no room for a text. If
 * there are too many, the oldest are evicted.
 *
 * marker.h writes the records with the numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HV_MARKS_MAX	   65536
#define HV_MARKS_BYTES_MAX (8u << 20)

struct hv_mark {
	uint64_t id;
	unsigned kind; /* enum hv_event_kind */
	char *bytes;   /* owned */
	size_t len_bytes;
};

/* Zero-initialised: empty. */
struct hv_marks {
	struct hv_mark *list; /* owned; HV_MARKS_MAX entries; text N is at N % HV_MARKS_MAX */
	uint64_t first;	      /* number of the oldest text that is kept */
	uint64_t next;
	size_t nr_bytes;
};

void hv_marks_deinit(struct hv_marks *m);
/* Copies BYTES and returns the number of the text. */
uint64_t hv_marks_add(struct hv_marks *m, unsigned kind, const char *bytes, size_t len_bytes);
/* Returns NULL if the text was evicted or never existed. */
const struct hv_mark *hv_marks_find(const struct hv_marks *m, uint64_t id);
