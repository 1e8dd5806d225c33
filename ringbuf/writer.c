#include "ringbuf/writer.h"

void hv_ring_put(struct hv_state *state, struct hv_record *records, uint64_t nr_slots,
		 const struct hv_record *record)
{
	uint64_t position = __atomic_fetch_add(&state->head, 1, __ATOMIC_ACQ_REL);
	struct hv_record *slot = &records[position & (nr_slots - 1)];
	uint64_t lap = (uint64_t) !(position / nr_slots & 1) << HV_LAP_BIT;
	uint64_t mask = ~(UINT64_C(1) << HV_LAP_BIT);

	for (unsigned i = 0; i < 4; i++)
		__atomic_store_n(&slot->word[i], (record->word[i] & mask) | lap, __ATOMIC_RELEASE);
}
