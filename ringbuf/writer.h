/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a record of the host into a vCPU's ring, by the rules of a stub (docs/ring.md), while the
 * guest writes there, too. Leaves to others: what the record says (abi.h), when. */
#pragma once

#include <stddef.h>

#include "ringbuf/abi.h"

/* NR_SLOTS: a power of two. RECORD is without a key; the bits of HV_RECORD_ZEROS
 * are cleared. */
void hv_ring_put(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		 const struct hv_record *record);
/* Likewise NR records, at most NR_SLOTS, which are reserved at once. */
void hv_ring_put_all(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		     const struct hv_record *list, size_t nr);
