/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cursors read the rings of a buffer as events in time order. Each cursor has its own position.
 *
 * tree/ uses the events. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/events/decode.h"
#include "tracer/events/event.h"

struct hv_buffer;
struct hv_cursor;
struct hv_kept;
struct hv_stack_words;

enum hv_cursor_mode {
	HV_CURSOR_FOLLOW, /* continues with events recorded later */
	HV_CURSOR_DUMP,	  /* ends at the last event that existed when the cursor was created */
	HV_CURSOR_TAKE, /* like DUMP, but events still being written are left for the next cursor */
	HV_CURSOR_DRAIN,   /* like FOLLOW, but also returns cleared events */
	HV_CURSOR_UNNAMED, /* like FOLLOW, but events have no comm and no tgid */
};
/* Creates a cursor at the oldest event that is neither consumed nor cleared. ONLY_CPU < 0: all
 * vCPUs. */
struct hv_cursor *hv_cursor_new(struct hv_buffer *b, int only_cpu, enum hv_cursor_mode mode);
void hv_cursor_free(struct hv_cursor *c);

enum hv_next {
	HV_NEXT_EMPTY,
	HV_NEXT_EVENT,
};
enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret);
/* Returns a brief view of the next events, without taking them: the calls and returns of KINDS (a
 * set of HV_BRIEF_KIND) that come next on one vCPU and are known now, at most MAX and at most
 * HV_BRIEFS_MAX. If it returns 0, call hv_cursor_next. */
#define HV_BRIEFS_MAX 64
size_t hv_cursor_briefs(struct hv_cursor *c, size_t max, unsigned kinds, struct hv_brief *ret);
/* Returns the records of the events in the last hv_cursor_briefs(), as an array in the same order,
 * and their vCPU. Borrowed until any other function is called. */
const struct hv_kept *hv_cursor_brief_records(const struct hv_cursor *c, unsigned *ret_cpu);
/* Skips the first NR events of the last hv_cursor_briefs(), as if they had been returned.
 * hv_cursor_records does not cover them. */
void hv_cursor_take_briefs(struct hv_cursor *c, size_t nr);

/* Finds the next event of CPU without taking it, if it is known now and nothing was lost before it.
 * Returns false also if another task's record precedes it. RET has no comm. */
bool hv_cursor_peek(struct hv_cursor *c, unsigned cpu, struct hv_event *ret);
/* Skips the event of the last hv_cursor_peek() for CPU, as if it had been returned. */
void hv_cursor_skip(struct hv_cursor *c, unsigned cpu);
/* Marks everything that the cursor has returned as consumed (trace_pipe). */
void hv_cursor_consume(struct hv_cursor *c);

/* Returns the records of the last event returned, in ring order, at most HV_EVENT_RECORDS_MAX. */
#define HV_EVENT_RECORDS_MAX (HV_PARTS_MAX + 1)
const struct hv_record *hv_cursor_records(const struct hv_cursor *c, unsigned *ret_nr);
/* Returns the last of these records. */
struct hv_record hv_cursor_last_record(const struct hv_cursor *c);

/* Finds the callers of the last stack that a drain returned. LIST has room for HV_CALLERS_MAX; E, a
 * copy of that event, then borrows it. */
void hv_cursor_callers(const struct hv_cursor *c, struct hv_gva *list, struct hv_event *e);

/* Decodes the words of the last stack returned. */
void hv_cursor_words(const struct hv_cursor *c, struct hv_stack_words *ret);

struct hv_buffer_stat {
	uint64_t entries;   /* events in the buffer; task records are not events */
	uint64_t overrun;   /* lost since the last clear: overwritten unread, or torn */
	uint64_t dropped;   /* dropped since the last clear for lack of room (HV_FULL_DROPS) */
	uint64_t read;	    /* consumed since the last clear */
	uint64_t bytes;	    /* total length of the entries, as measured by LEN_OF */
	uint64_t oldest_ns; /* 0: empty */
	uint64_t youngest_ns;
};
/* Reads the statistics of one vCPU of B, or of all (-1). Reads every record. LEN_OF returns the
 * length of an event in the caller's format; NULL: not needed. */
void hv_buffer_stat(struct hv_buffer *b, int only_cpu, size_t (*len_of)(const struct hv_event *),
		    struct hv_buffer_stat *ret);
