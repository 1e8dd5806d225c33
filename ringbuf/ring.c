#include "ringbuf/ring.h"

#include <stdbool.h>

/* After falling a lap behind, this much of the lap is given up as well, so that the writers do not
 * overtake the reader again at once. */
#define MARGIN_MAX 1024
#define LAP_BIT	   (UINT64_C(1) << HV_LAP_BIT)

void hv_ring_init(struct hv_ring *ring, const struct hv_state *state,
		  const struct hv_record *records, uint64_t nr_slots)
{
	*ring = (struct hv_ring){
		.state = state,
		.records = records,
		.nr_slots = nr_slots,
		.nr_kept = nr_slots,
		.stalled_position = UINT64_MAX,
	};
}

uint64_t hv_ring_head(const struct hv_ring *ring)
{
	return __atomic_load_n(&ring->state->head, __ATOMIC_ACQUIRE);
}

static bool runs_backwards(uint64_t ahead)
{
	return ahead >> 63;
}

/* Copies the record at POSITION; true when every word carries that position's lap bit. Acquire: the
 * head that is read next is not older than any of the words. */
static bool copy_record(const struct hv_ring *ring, uint64_t position, struct hv_record *ret)
{
	const struct hv_record *slot = &ring->records[position & (ring->nr_slots - 1)];
	uint64_t lap = (position / ring->nr_slots) & 1 ? 0 : LAP_BIT;
	uint64_t wrong = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t word = __atomic_load_n(&slot->word[i], __ATOMIC_ACQUIRE);

		wrong |= (word ^ lap) & LAP_BIT;
		ret->word[i] = word & ~LAP_BIT;
	}
	return wrong == 0;
}

static enum hv_ring_result pass(struct hv_ring *ring, uint64_t nr, uint64_t *ret_lost)
{
	ring->position += nr;
	if (__builtin_add_overflow(ring->lost, nr, &ring->lost))
		ring->lost = UINT64_MAX;
	*ret_lost = nr;
	return HV_RING_LOST;
}

/* HEAD is further from the position than what counts. */
static enum hv_ring_result catch_up(struct hv_ring *ring, uint64_t head, uint64_t *ret_lost)
{
	uint64_t margin = ring->nr_kept / 8;

	if (runs_backwards(head - ring->position)) {
		/* A lie; how much it hides nobody knows. One lost record says so. */
		ring->position = head - 1;
		return pass(ring, 1, ret_lost);
	}
	if (margin > MARGIN_MAX)
		margin = MARGIN_MAX;
	return pass(ring, head - ring->nr_kept + margin - ring->position, ret_lost);
}

/* The position is reserved and not written. When that is so for too long, it is passed, and with it
 * every unwritten position after it that was reserved as long ago. */
static enum hv_ring_result wait_or_pass(struct hv_ring *ring, uint64_t head, uint64_t now_ns,
					uint64_t *ret_lost)
{
	struct hv_record unused;
	uint64_t nr = 1;

	if (ring->stalled_position != ring->position || now_ns < ring->stalled_since_ns) {
		ring->stalled_position = ring->position;
		ring->stalled_since_ns = now_ns;
		ring->stalled_head = head;
	}
	if (head - ring->position < 2 || now_ns - ring->stalled_since_ns < HV_RING_STALL_NS)
		return HV_RING_EMPTY;
	while (ring->position + nr != ring->stalled_head && nr < head - ring->position &&
	       !copy_record(ring, ring->position + nr, &unused))
		nr++;
	return pass(ring, nr, ret_lost);
}

enum hv_ring_result hv_ring_read(struct hv_ring *ring, uint64_t now_ns, struct hv_record *ret,
				 uint64_t *ret_lost)
{
	uint64_t head = hv_ring_head(ring);
	struct hv_record copy;

	if (head == ring->position)
		return HV_RING_EMPTY;
	if (head - ring->position > ring->nr_kept)
		return catch_up(ring, head, ret_lost);
	if (!copy_record(ring, ring->position, &copy))
		return wait_or_pass(ring, head, now_ns, ret_lost);
	/* A lap bit comes round every second lap: only the head tells that nobody has begun to
	 * write this slot again. */
	head = hv_ring_head(ring);
	if (head - ring->position > ring->nr_kept)
		return catch_up(ring, head, ret_lost);
	ring->position++;
	*ret = copy;
	return HV_RING_RECORD;
}
