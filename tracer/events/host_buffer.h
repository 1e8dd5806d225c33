/* Buffers in host memory: made, put into, and what is in another one taken over.
 * Leaves to others: which events go where (tree/). One thread. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_buffer;
struct hv_cursor;
struct hv_event;

/* One for SIZES_BYTES of records (one a vCPU, none more than 1 << 63), with the vCPUs and the
 * decoder of BESIDE. ENOMEM. */
struct hv_err *hv_buffer_new(const struct hv_buffer *beside, const uint64_t *sizes_bytes,
			     struct hv_buffer **ret) hv_must_use;

/* Puts EVENT, which CURSOR returned last. Of a full one it overwrites the oldest, or is dropped
 * (hv_buffer_when_full). */
void hv_buffer_put(struct hv_buffer *b, const struct hv_cursor *cursor,
		   const struct hv_event *event);
/* Takes what is in FROM, of one vCPU or of all (-1), to behind what TO has of them; counts of what
 * was lost and read go along. */
void hv_buffer_move(struct hv_buffer *from, int only_cpu, struct hv_buffer *to);
