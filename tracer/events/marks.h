/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of trace_marker, kept on the host by number, since a record has no room for a text. If
 * there are too many, the oldest are forgotten. Leaves to others: the records that have the numbers
 * (marker.h). */
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

/* A zero-initialised list is empty. */
struct hv_marks {
	struct hv_mark *list; /* owned, HV_MARKS_MAX of them; number N is at N % HV_MARKS_MAX */
	uint64_t first;	      /* number of the oldest that is kept */
	uint64_t next;
	size_t nr_bytes;
};

void hv_marks_deinit(struct hv_marks *m);
/* Copies BYTES. Returns the number of the text. */
uint64_t hv_marks_add(struct hv_marks *m, unsigned kind, const char *bytes, size_t len_bytes);
/* NULL: the text was forgotten, or there never was one with this number. */
const struct hv_mark *hv_marks_find(const struct hv_marks *m, uint64_t id);
