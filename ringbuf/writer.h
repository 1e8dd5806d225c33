/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes records to a ring in host memory with the protocol of the trampolines
 * (docs/internals/ring.md). abi.h describes the contents. */
#pragma once

#include <stddef.h>

#include "ringbuf/abi.h"

/* Reserves and writes NR records. NR must not exceed NR_SLOTS, a power of two. The function adds
 * the key and clears HV_RECORD_ZEROS. */
void hv_ring_put(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		 const struct hv_record *list, size_t nr);
