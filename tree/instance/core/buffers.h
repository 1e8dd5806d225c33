/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers of an instance: the live buffer, which trace and trace_pipe read, and the snapshot;
 * the readers of trace_pipe; and a dump of the top instance's buffer.
 *
 * Live buffers are in host memory, except that the top instance can use the guest's rings while no
 * other instance needs them and no setting needs more than rings provide (demux.h). demux.h fills
 * the buffers. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "kernel/clock/clock.h"
#include "tracer/events/buffer.h"
#include "tracer/events/cursor.h"
#include "tree/instance/core/tracer.h"
#include "tree/settings/func_commands.h"

struct hv_session;

#define HV_ALL_CPUS -1

/* The page size is a power of two. The buffer of each vCPU has at least two pages. */
#define HV_PAGE_BYTES_MIN  4096u
#define HV_PAGE_BYTES_MAX  (128 * HV_PAGE_BYTES_MIN)
#define HV_PAGE_HEAD_BYTES 16
#define HV_PAGES_MIN	   2

/* A latency tracer can reserve the snapshot for the worst case. Others then cannot take
 * snapshots. */
enum hv_snapshot_use { HV_SNAPSHOT_FREE, HV_SNAPSHOT_KEPT };

struct hv_buffers {
	struct hv_session *session; /* borrowed */
	unsigned nr_cpus;
	struct hv_buffer *host;	    /* owned; NULL: the live buffer is the guest's rings */
	struct hv_buffer *snapshot; /* owned, as large as the live buffer; or NULL */
	enum hv_snapshot_use snapshot_use;
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
	uint32_t page_bytes;   /* page of trace_pipe_raw with header (buffer_subbuf_size_kb) */
	unsigned fill_percent; /* buffer_percent */
	uint64_t start_ns;     /* when the live buffer was last cleared */
};

/* Initially the live buffer is the guest's rings, without a snapshot. */
void hv_buffers_init(struct hv_buffers *b, struct hv_session *session, unsigned nr_cpus);
void hv_buffers_deinit(struct hv_buffers *b);

/* Returns the live buffer, borrowed. A change may replace it; existing cursors keep the old one. */
struct hv_buffer *hv_buffers_live(const struct hv_buffers *b);
/* Makes HOST, now owned by B, the live buffer. Does not free the previous one. */
void hv_buffers_set_host(struct hv_buffers *b, struct hv_buffer *host);

/* Sets the policy for a full live buffer. The guest's rings always overwrite the oldest events. */
void hv_buffers_when_full(struct hv_buffers *b, enum hv_when_full what);
/* Selects the clock for future events. Clears the snapshot, but not the live buffer. */
void hv_buffers_use_clock(struct hv_buffers *b, enum hv_trace_clock clock);
/* Returns the number of event bytes in a page. */
static inline uint32_t hv_buffers_page_data(const struct hv_buffers *b)
{
	return b->page_bytes - HV_PAGE_HEAD_BYTES;
}

/* Returns the kind of time stamps of the selected clock. */
enum hv_clock_kind hv_buffers_clock_kind(const struct hv_buffers *b);

/* Returns the size in bytes of CPU's live buffer. The snapshot has the same size. */
uint64_t hv_buffers_size(const struct hv_buffers *b, unsigned cpu);
/* Returns the sizes for all vCPUs, one number each. The caller frees them. */
uint64_t *hv_buffers_sizes(const struct hv_buffers *b) hv_must_use;
/* Replaces the live buffer by one in host memory with SIZES_BYTES (one size per vCPU), and moves
 * the newest events that fit into it. ENOMEM: the live buffer is unchanged. */
struct hv_err *hv_buffers_resize_live(struct hv_buffers *b,
				      const uint64_t *sizes_bytes) hv_must_use;
/* Like hv_buffers_resize_live(), and also resizes an existing snapshot. ENOMEM: both are
 * unchanged. */
struct hv_err *hv_buffers_resize(struct hv_buffers *b, const uint64_t *sizes_bytes) hv_must_use;

/* Creates an empty snapshot if there is none. ENOMEM. */
struct hv_err *hv_buffers_need_snapshot(struct hv_buffers *b) hv_must_use;
/* Moves the events of the live buffer, of CPU or of all (HV_ALL_CPUS), to the snapshot, replacing
 * its contents. ENOMEM; EBUSY: reserved by a tracer. */
struct hv_err *hv_buffers_take_snapshot(struct hv_buffers *b, int cpu) hv_must_use;
/* Swaps the snapshot and the live buffer with their contents (update_max_tr). Does nothing if there
 * is no snapshot, the live buffer is the guest's rings, or a tracer has reserved the snapshot. */
void hv_buffers_swap_snapshot(struct hv_buffers *b);
/* Reserves the snapshot for a tracer, or releases it. */
void hv_buffers_keep_snapshot(struct hv_buffers *b, enum hv_snapshot_use use);
/* Like hv_buffers_swap_snapshot(), for the tracer with the reservation. The new live buffer is
 * empty. */
void hv_buffers_swap_kept(struct hv_buffers *b);
void hv_buffers_free_snapshot(struct hv_buffers *b);

/* -- readers of trace_pipe --------------------------------------------------------------------- */

/* The readers of an instance's trace_pipe: one reader of all vCPUs, or one per vCPU
 * (open_pipe_on_cpu). Readers of trace_pipe_raw are only counted; they do not exclude other
 * readers. */

struct hv_pipes {
	unsigned nr_cpus;
	unsigned all;	 /* nonzero: one reader reads all vCPUs */
	uint8_t *of_cpu; /* owned, a byte per vCPU; nonzero: the vCPU has a reader */
	unsigned nr;	 /* all readers of trace_pipe */
	unsigned nr_raw; /* open trace_pipe_raw files */
};

void hv_pipes_init(struct hv_pipes *pipes, unsigned nr_cpus);
void hv_pipes_deinit(struct hv_pipes *pipes);

/* Reserves trace_pipe of CPU; CPU < 0 means all vCPUs. EBUSY: another reader has it. */
struct hv_err *hv_pipes_take(struct hv_pipes *pipes, int cpu) hv_must_use;
/* Releases the reservation of hv_pipes_take(). */
void hv_pipes_give_back(struct hv_pipes *pipes, int cpu);

/* -- dumps ------------------------------------------------------------------------------------- */

/* A dump, requested by the commands dump and cpudump: the contents of the top instance's buffer at
 * the call, of all vCPUs or of the calling one (ftrace_dump_one). As in the kernel, only one dump
 * exists at a time. files/trace.c has its text; cli/service/dumps.h writes it. */

enum hv_dump_state {
	HV_DUMP_NONE,
	HV_DUMP_WAITS, /* waits for a reader */
	HV_DUMP_READ,  /* being read, until hv_dump_end() */
};

/* Zero-initialised: no dump. */
struct hv_dump {
	enum hv_dump_state state;
	int cpu;			    /* the calling vCPU; -1: all vCPUs */
	const struct hv_tracer_ops *tracer; /* the top instance's tracer at the call */
	char *why;		  /* owned; function, command, vCPU and task; safe to print */
	struct hv_buffer *buffer; /* the buffer that CURSOR reads */
	struct hv_cursor *cursor; /* owned; NULL: the reader owns it */
};

/* Starts a dump unless one exists. EVENT is the call; SITES contains its function's name. BUFFER
 * and TRACER belong to the top instance. */
void hv_dump_begin(struct hv_dump *dump, const struct hv_sites *sites, struct hv_buffer *buffer,
		   const struct hv_tracer_ops *tracer, enum hv_func_command_kind command,
		   const struct hv_event *event);
/* Ends the dump, read or not. */
void hv_dump_end(struct hv_dump *dump);
