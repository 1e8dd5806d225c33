/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an event: additional records that belong to it. These are the record before an exit
 * with further values, the words of a stack, and the data of a guest event. The guest reserves them
 * together with the event's record, directly before it and with the same time.
 *
 * The ring is untrusted: a guest can write anything anywhere, move its head back, and write there
 * again. So records belong together only if nothing was lost between them, and there are never more
 * than HV_PARTS_MAX.
 *
 * decode.h decodes parts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ringbuf/abi.h"

#define HV_PARTS_MAX HV_DATA_RECORDS_MAX
_Static_assert(HV_PARTS_MAX >= 1 + HV_STACK_RECORDS_MAX, "room for a stack");

/* Zero-initialised: empty. */
struct hv_parts {
	struct hv_record list[HV_PARTS_MAX];
	unsigned nr;
	uint64_t position; /* position of the last part */
	uint64_t run;
};

/* Adds RECORD, an HV_RECORD_MORE, HV_RECORD_WORDS or HV_RECORD_DATA at POSITION. It is the next
 * part, or the first part of another event; otherwise all parts are dropped. RUN is equal for two
 * records of a ring if no record was lost between them. */
void hv_parts_add(struct hv_parts *p, const struct hv_record *record, uint64_t position,
		  uint64_t run);
/* Returns whether these are all the parts of the event RECORD at POSITION. */
bool hv_parts_are_of(const struct hv_parts *p, const struct hv_record *record, uint64_t position,
		     uint64_t run);
