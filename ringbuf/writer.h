/* A record that the host itself puts into a vCPU's ring, by the rules of a stub (docs/ring.md),
 * while the guest writes there too. Leaves to others: what it says (abi.h), when. */
#pragma once

#include "ringbuf/abi.h"

/* NR_SLOTS: a power of two. RECORD's lap bits are filled in. */
void hv_ring_put(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		 const struct hv_record *record);
