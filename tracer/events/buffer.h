/* The buffer of a tracefs instance: a ring for each vCPU, and what of each was consumed or cleared.
 * The rings are the guest's, or have the same form in host memory (host_buffer.h).
 * Leaves to others: reading them (cursor.h), who fills them. One thread. */
#pragma once

#include <stdint.h>

#include "tracer/events/clocks.h"

struct hv_buffer;
struct hv_decoder;
struct hv_state;

/* Borrows D and STATES, one for each vCPU; both outlive the buffer. No vCPU has a ring yet. */
struct hv_buffer *hv_buffer_over(struct hv_decoder *d, unsigned nr_cpus,
				 const struct hv_state *states);
/* CPU's ring: borrows RECORDS, RING_BYTES of them (a power of two), of which SIZE_BYTES behind the
 * head count. Its content is what is there from position 0 on. */
void hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const void *records, uint64_t ring_bytes,
			uint64_t size_bytes);

/* Buffers are counted, a new one as 1; each of its cursors counts. NULL is fine for unref. */
struct hv_buffer *hv_buffer_ref(struct hv_buffer *b);
void hv_buffer_unref(struct hv_buffer *b);

uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu); /* bytes */

/* The clock that events are shown with, also those that are in the buffer already; what cursors
 * have looked at keeps its time until the buffer is cleared. */
void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock);

/* What becomes of what is put into a full one: it overwrites the oldest, or is dropped. Of buffers
 * in host memory; the guest always overwrites. */
enum hv_when_full { HV_FULL_OVERWRITES, HV_FULL_DROPS };
void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what);

/* What was recorded before is gone, for open cursors too, and not counted as lost; counts begin
 * anew. Of one vCPU, or of all (-1). */
void hv_buffer_clear(struct hv_buffer *b, int only_cpu);

/* What of CPU's ring is not consumed, 0 to 100. */
unsigned hv_buffer_percent(const struct hv_buffer *b, unsigned cpu);
/* Records of CPU that were overwritten before anybody consumed them. */
uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu);
