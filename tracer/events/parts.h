/* What an event is made of besides its own record: the record before an exit that has more to say,
 * the words of a stack. The guest reserves them together with the event's record, right before it,
 * with one time. It can also write anything anywhere, take back its head and write there again: so
 * records belong together only when nothing was lost between them, and there are never more than
 * HV_PARTS_MAX.
 * Leaves to others: what they say (decode.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ringbuf/abi.h"

#define HV_PARTS_MAX (1 + HV_STACK_RECORDS_MAX)

/* Zero-initialised is empty. */
struct hv_parts {
	struct hv_record list[HV_PARTS_MAX];
	unsigned nr;
	uint64_t position; /* of the last one */
	uint64_t run;
};

/* RECORD, at POSITION, is HV_RECORD_MORE or HV_RECORD_WORDS: the next part, the first one of
 * another event, or (then there is none) of no use. RUN: no record of a ring was lost between two
 * of the same run. */
void hv_parts_add(struct hv_parts *p, const struct hv_record *record, uint64_t position,
		  uint64_t run);
/* Whether they are those of the event RECORD at POSITION, none missing. */
bool hv_parts_are_of(const struct hv_parts *p, const struct hv_record *record, uint64_t position,
		     uint64_t run);
