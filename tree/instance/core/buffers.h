/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers of an instance: the live buffer, which trace and trace_pipe read, and the snapshot.
 * A live buffer is in host memory. Only that of the top may be the guest's rings instead, while no
 * other instance uses them and nothing needs more than they can do (demux.h).
 * Leaves to others: who puts events into them (demux.h). */
#pragma once

#include "base/err.h"
#include "kernel/clock.h"
#include "tracer/events/buffer.h"

struct hv_session;

#define HV_ALL_CPUS -1

/* Pages have a power of two of bytes. A part of a buffer has at least two pages. */
#define HV_PAGE_BYTES_MIN  4096u
#define HV_PAGE_BYTES_MAX  (128 * HV_PAGE_BYTES_MIN)
#define HV_PAGE_HEAD_BYTES 16
#define HV_PAGES_MIN	   2

/* Whether a tracer keeps the worst latency in the snapshot. Then nobody else takes one. */
enum hv_snapshot_use { HV_SNAPSHOT_FREE, HV_SNAPSHOT_KEPT };

struct hv_buffers {
	struct hv_session *session; /* borrowed */
	unsigned nr_cpus;
	struct hv_buffer *host;	    /* owned; NULL: the live buffer is the guest's rings */
	struct hv_buffer *snapshot; /* owned, as large as the live buffer; NULL: there is none */
	enum hv_snapshot_use snapshot_use;
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
	uint32_t
		page_bytes; /* of a page of trace_pipe_raw, with its head (buffer_subbuf_size_kb) */
	uint64_t start_ns;  /* when the live buffer was emptied last */
};

/* At first the live buffer is the guest's rings, and there is no snapshot. */
void hv_buffers_init(struct hv_buffers *b, struct hv_session *session, unsigned nr_cpus);
void hv_buffers_deinit(struct hv_buffers *b);

/* Returns the live buffer, borrowed. A change may replace it; cursors keep the buffer for which
 * they were made. */
struct hv_buffer *hv_buffers_live(const struct hv_buffers *b);
/* Makes HOST, which B then owns, the live buffer. Does not free the one before. */
void hv_buffers_set_host(struct hv_buffers *b, struct hv_buffer *host);

/* Sets what happens to new events when the live buffer is full. The guest's rings always overwrite
 * the oldest. */
void hv_buffers_when_full(struct hv_buffers *b, enum hv_when_full what);
/* Chooses the clock for what is recorded from now on. Empties the snapshot, but not the live
 * buffer. */
void hv_buffers_use_clock(struct hv_buffers *b, enum hv_trace_clock clock);
/* Returns the length of the part of a page that has events. */
static inline uint32_t hv_buffers_page_data(const struct hv_buffers *b)
{
	return b->page_bytes - HV_PAGE_HEAD_BYTES;
}

/* Returns what kind of times the chosen clock gives. */
enum hv_clock_kind hv_buffers_clock_kind(const struct hv_buffers *b);

/* Returns the size in bytes of CPU's part of the live buffer. The snapshot's part has the same
 * size. */
uint64_t hv_buffers_size(const struct hv_buffers *b, unsigned cpu);
/* Returns the sizes of all vCPUs' parts, one number each. The caller frees them. */
uint64_t *hv_buffers_sizes(const struct hv_buffers *b) hv_must_use;
/* Replaces the live buffer by one in host memory with SIZES_BYTES (one size per vCPU), and moves
 * the contents into it, or as many of the newest events as fit. ENOMEM: the live buffer is as
 * before. */
struct hv_err *hv_buffers_resize_live(struct hv_buffers *b,
				      const uint64_t *sizes_bytes) hv_must_use;
/* Likewise, and resizes the snapshot, too, if there is one. ENOMEM: both are as before. */
struct hv_err *hv_buffers_resize(struct hv_buffers *b, const uint64_t *sizes_bytes) hv_must_use;

/* Makes an empty snapshot if there is none. ENOMEM. */
struct hv_err *hv_buffers_need_snapshot(struct hv_buffers *b) hv_must_use;
/* Moves the contents of the live buffer, of one vCPU or of all (HV_ALL_CPUS), into the snapshot and
 * replaces its contents. ENOMEM; EBUSY: a tracer keeps the snapshot. */
struct hv_err *hv_buffers_take_snapshot(struct hv_buffers *b, int cpu) hv_must_use;
/* Exchanges the snapshot, with what is in it, and the live buffer (update_max_tr). Does nothing
 * when there is no snapshot, the live buffer is the guest's rings, or a tracer keeps the snapshot.
 */
void hv_buffers_swap_snapshot(struct hv_buffers *b);
/* Says whether a tracer keeps the snapshot from now on. */
void hv_buffers_keep_snapshot(struct hv_buffers *b, enum hv_snapshot_use use);
/* Exchanges them for that tracer, and the live buffer is empty then. */
void hv_buffers_swap_kept(struct hv_buffers *b);
void hv_buffers_free_snapshot(struct hv_buffers *b);
