/* What trace_marker was told: kept on the host by number, since a record of a ring has no room for
 * a text. The oldest are forgotten when there are too many. Leaves to others: the records that name
 * them (marker.h). */
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

/* Zero-initialised is empty. */
struct hv_marks {
	struct hv_mark *list; /* owned, HV_MARKS_MAX of them; number N is at N % HV_MARKS_MAX */
	uint64_t first;	      /* number of the oldest that is kept */
	uint64_t next;
	size_t nr_bytes;
};

void hv_marks_deinit(struct hv_marks *m);
/* BYTES are copied. Returns its number. */
uint64_t hv_marks_add(struct hv_marks *m, unsigned kind, const char *bytes, size_t len_bytes);
/* NULL: forgotten, or there never was one of that number. */
const struct hv_mark *hv_marks_find(const struct hv_marks *m, uint64_t id);
