/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a ring in memory that the input writes. After each change, the read must end with results
 * within bounds, and every passed position must have been read or counted as lost. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ringbuf/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct change { /* a change in the input */
	uint8_t kind;
	uint8_t at;
	uint64_t value;
} __attribute__((packed));

static void check(int holds)
{
	if (!holds)
		abort();
}

static void read_all(struct hv_ring *ring, uint64_t now_ns)
{
	struct hv_record record;
	uint64_t lost;

	for (uint64_t calls = 0;; calls++) {
		uint64_t position = ring->position;
		uint64_t before = ring->lost;
		bool lie = (int64_t)(hv_ring_head(ring) - position) < 0;
		enum hv_ring_result result = hv_ring_read(ring, now_ns, &record, &lost);

		check(calls <= ring->nr_slots + 2);
		if (result == HV_RING_EMPTY)
			return;
		if (result == HV_RING_LOST) {
			check(lie ? lost == 1 : lost > 0);
			check(hv_ring_head(ring) - ring->position <= ring->nr_slots);
			check(ring->lost == before + lost || ring->lost == UINT64_MAX);
			continue;
		}
		check(ring->position == position + 1);
		for (unsigned i = 0; i < 4; i++)
			check((record.word[i] & HV_RECORD_ZEROS) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t nr_slots = len ? UINT64_C(1) << (data[0] % 7) : 1;
	struct hv_record *records = calloc(nr_slots, sizeof(*records));
	struct hv_state state = {.head = hv_ring_head_at(0, nr_slots)};
	uint64_t now_ns = 0;
	struct hv_ring ring;

	check(records != NULL);
	hv_ring_init(&ring, &state, records, nr_slots);
	for (size_t off = 1; off + sizeof(struct change) <= len; off += sizeof(struct change)) {
		struct change c;

		memcpy(&c, data + off, sizeof(c));
		if (c.kind & 1)
			state.head += (c.value & 0xff) * sizeof(struct hv_record);
		if (c.kind & 2)
			state.head = c.value;
		if (c.kind & 4)
			records[c.at % nr_slots].word[c.kind >> 6] = c.value;
		if (c.kind & 8)
			now_ns += c.value;
		if (c.kind & 16)
			read_all(&ring, now_ns);
	}
	read_all(&ring, now_ns + 2 * HV_RING_STALL_NS);
	free(records);
	return 0;
}
