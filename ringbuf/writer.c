/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ringbuf/writer.h"

#include "ringbuf/ring.h"

void hv_ring_put(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		 const struct hv_record *record)
{
	uint64_t head = __atomic_fetch_add(&state->head, sizeof(*record), __ATOMIC_ACQ_REL);
	uint64_t position = head / sizeof(*record) - nr_slots;
	struct hv_record *slot = &records[position & (nr_slots - 1)];
	uint64_t key = hv_record_key(position, nr_slots);

	for (unsigned i = 0; i < 4; i++)
		__atomic_store_n(&slot->word[i], (record->word[i] & ~HV_RECORD_ZEROS) ^ key,
				 __ATOMIC_RELEASE);
}
