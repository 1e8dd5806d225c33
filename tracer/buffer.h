/* The buffer of a tracefs instance: a ring a vCPU, what of each was consumed or cleared, and
 * cursors that read them as events in time order. The rings are the guest's, or a copy of the same
 * form in host memory, which others put events into.
 * Leaves to others: what becomes of an event (format.h, raw_page.h), who fills it. One thread. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "tracer/events/clocks.h"
#include "tracer/events/event.h"

struct hv_session;
struct hv_buffer;

/* What the guest's stubs write into; of the session. */
struct hv_buffer *hv_session_buffer(struct hv_session *s);

/* One in host memory, for SIZES_BYTES of records (one a vCPU, none more than 1 << 63). ENOMEM. */
struct hv_err *hv_buffer_new(struct hv_session *s, const uint64_t *sizes_bytes,
			     struct hv_buffer **ret) hv_must_use;
/* Buffers in host memory are counted; cursors count too. NULL is fine. */
struct hv_buffer *hv_buffer_ref(struct hv_buffer *b);
void hv_buffer_unref(struct hv_buffer *b);
uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu); /* bytes */

/* The clock that events are shown with, also those that are in the buffer already; what cursors
 * have looked at keeps its time until the buffer is cleared. */
void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock);

enum hv_when_full { HV_FULL_OVERWRITES, HV_FULL_DROPS };
/* What is put into a full one: overwrites the oldest, or is dropped. In host memory only. */
void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what);

/* Into B, in host memory: EVENT, which CURSOR returned last, of the same session. */
struct hv_cursor;
void hv_buffer_put(struct hv_buffer *b, const struct hv_cursor *cursor,
		   const struct hv_event *event);
/* Takes what is in FROM, of one vCPU or of all (-1), to behind what TO, in host memory, has of
 * them; counts of what was lost and read go along. */
void hv_buffer_move(struct hv_buffer *from, int only_cpu, struct hv_buffer *to);

/* What was recorded before is gone, for open cursors too, and not counted as lost; counts begin
 * anew. Of one vCPU, or of all (-1). */
void hv_buffer_clear(struct hv_buffer *b, int only_cpu);

/* What of CPU's ring is not consumed, 0 to 100. */
unsigned hv_buffer_percent(const struct hv_buffer *b, unsigned cpu);

struct hv_buffer_stat {
	uint64_t entries;   /* events in it; records of tasks' names are not events */
	uint64_t overrun;   /* lost since it was cleared: overwritten unread, or torn */
	uint64_t dropped;   /* since then: there was no room (HV_FULL_DROPS) */
	uint64_t read;	    /* consumed since it was cleared */
	uint64_t bytes;	    /* of the entries, as LEN_OF measures them */
	uint64_t oldest_ns; /* 0: empty */
	uint64_t youngest_ns;
};
/* Of one vCPU, or of all (-1). Looks at every record. LEN_OF: bytes of an event in the format that
 * the caller shows; NULL: the caller does not ask. */
void hv_buffer_stat(struct hv_buffer *b, int only_cpu, size_t (*len_of)(const struct hv_event *),
		    struct hv_buffer_stat *ret);

/* A cursor has its own position in every ring and is freed before the session. */
enum hv_cursor_mode {
	HV_CURSOR_FOLLOW, /* goes on with what is recorded later */
	HV_CURSOR_DUMP,	  /* ends at what is there when it is made */
	HV_CURSOR_TAKE,	  /* likewise, but what is being written then stays for the next one */
	HV_CURSOR_DRAIN,  /* as FOLLOW; what is cleared is returned all the same */
};
/* At the oldest event that is not yet consumed or cleared. ONLY_CPU < 0: all vCPUs. */
struct hv_cursor *hv_cursor_new(struct hv_buffer *b, int only_cpu, enum hv_cursor_mode mode);
void hv_cursor_free(struct hv_cursor *c);

enum hv_next {
	HV_NEXT_EMPTY,
	HV_NEXT_EVENT,
};
/* At most what is written as one event (TRACE_MARKER_MAX_SIZE). */
#define HV_MARK_LEN_MAX 4096
/* A line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) of the host's, at the guest's time now, as
 * an event of vCPU 0 and of no task. Not earlier than what is in the rings already. */
void hv_buffer_mark(struct hv_buffer *b, enum hv_event_kind kind, const char *bytes,
		    size_t len_bytes);

enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret);
/* What comes next of CPU alone, if it is known now and nothing was lost before it; false also when
 * another task is running there by then. No comm. */
bool hv_cursor_peek(struct hv_cursor *c, unsigned cpu, struct hv_event *ret);
/* Passes over what hv_cursor_peek showed last of CPU, as if it had been returned. */
void hv_cursor_skip(struct hv_cursor *c, unsigned cpu);
/* What the cursor has returned is consumed for the buffer (trace_pipe). */
void hv_cursor_consume(struct hv_cursor *c);
