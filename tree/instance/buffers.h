/* The buffers of an instance: the live one, which trace and trace_pipe read, and the snapshot.
 * The live one is in host memory. Only the top's may be the guest's rings instead, as long as they
 * serve nobody else and nothing asks for more than they can do (share.h).
 * Leaves to others: who puts events into them (share.h). */
#pragma once

#include "base/err.h"
#include "kernel/clock.h"
#include "tracer/events/buffer.h"

struct hv_session;

#define HV_ALL_CPUS -1

struct hv_buffers {
	struct hv_session *session; /* borrowed */
	unsigned nr_cpus;
	struct hv_buffer *host;	    /* owned; NULL: the live one is the guest's rings */
	struct hv_buffer *snapshot; /* owned, as large as the live one; NULL: freed */
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
	uint64_t start_ns; /* when the live one was emptied last */
};

/* The live one is the guest's rings. */
void hv_buffers_init(struct hv_buffers *b, struct hv_session *session, unsigned nr_cpus);
void hv_buffers_deinit(struct hv_buffers *b);

/* Borrowed. It may be another one after a change; cursors stay with the one they were made for. */
struct hv_buffer *hv_buffers_live(const struct hv_buffers *b);
/* HOST, which B owns then, is the live one from now on. B does not free the one before. */
void hv_buffers_set_host(struct hv_buffers *b, struct hv_buffer *host);

/* What happens to events when the live one is full. The guest's rings always overwrite. */
void hv_buffers_when_full(struct hv_buffers *b, enum hv_when_full what);
/* What is recorded from now on has times of CLOCK. Empties the snapshot, not the live one. */
void hv_buffers_use_clock(struct hv_buffers *b, enum hv_trace_clock clock);
/* What those times are. */
enum hv_clock_kind hv_buffers_clock_kind(const struct hv_buffers *b);

/* Bytes of CPU's part of the live one, which are also those of the snapshot's. */
uint64_t hv_buffers_size(const struct hv_buffers *b, unsigned cpu);
/* Of all vCPUs, one number each; the caller's to free. */
uint64_t *hv_buffers_sizes(const struct hv_buffers *b) hv_must_use;
/* The live one becomes one in host memory of SIZES_BYTES (one a vCPU). It keeps what was in the one
 * before, or the newest of it. ENOMEM: it is as before. */
struct hv_err *hv_buffers_resize_live(struct hv_buffers *b,
				      const uint64_t *sizes_bytes) hv_must_use;
/* Likewise, and the snapshot with it, if there is one. ENOMEM: both are as before. */
struct hv_err *hv_buffers_resize(struct hv_buffers *b, const uint64_t *sizes_bytes) hv_must_use;

/* Makes an empty snapshot if there is none. ENOMEM. */
struct hv_err *hv_buffers_need_snapshot(struct hv_buffers *b) hv_must_use;
/* Moves what is in the live one, of one vCPU or of all (HV_ALL_CPUS), into the snapshot, in place
 * of what was there. ENOMEM. */
struct hv_err *hv_buffers_take_snapshot(struct hv_buffers *b, int cpu) hv_must_use;
/* The live one becomes the snapshot, and the snapshot, emptied, the live one. Does nothing without
 * a snapshot or when the live one is the guest's rings. */
void hv_buffers_swap_snapshot(struct hv_buffers *b);
void hv_buffers_free_snapshot(struct hv_buffers *b);
