/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records that belong to an event besides its own: the record before an exit that has more to
 * say, the words of a stack, and the data of an event of the guest's own. The guest reserves them
 * together with the event's record, right before it, with one time. A hostile guest can write
 * anything anywhere, move its head back, and write there again. So records belong together only if
 * nothing was lost between them, and there are never more than HV_PARTS_MAX. Leaves to others:
 * their meaning (decode.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ringbuf/abi.h"

#define HV_PARTS_MAX HV_DATA_RECORDS_MAX
_Static_assert(HV_PARTS_MAX >= 1 + HV_STACK_RECORDS_MAX, "room for a stack");

/* A zero-initialised list is empty. */
struct hv_parts {
	struct hv_record list[HV_PARTS_MAX];
	unsigned nr;
	uint64_t position; /* of the last part */
	uint64_t run;
};

/* Adds RECORD at POSITION, an HV_RECORD_MORE, HV_RECORD_WORDS or HV_RECORD_DATA. It is the next
 * part, or the first part of another event, or of no use; then there are no parts. RUN: two records
 * of the same run of a ring have no lost records between them. */
void hv_parts_add(struct hv_parts *p, const struct hv_record *record, uint64_t position,
		  uint64_t run);
/* Returns whether these are the parts of the event RECORD at POSITION, with none missing. */
bool hv_parts_are_of(const struct hv_parts *p, const struct hv_record *record, uint64_t position,
		     uint64_t run);
