/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts records into a ring in host memory, by the rules of a stub (docs/internals/ring.md). Leaves
 * to others: what a record says (abi.h), when. */
#pragma once

#include <stddef.h>

#include "ringbuf/abi.h"

/* Puts NR records, at most NR_SLOTS, which is a power of two. They are reserved at once. They are
 * without a key; the bits of HV_RECORD_ZEROS are cleared. */
void hv_ring_put(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		 const struct hv_record *list, size_t nr);
