/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cursors: read the rings of a buffer as events in time order, each cursor at a place of its own.
 * Leaves to others: what happens with an event (tree/). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"
#include "tracer/events/parts.h"

struct hv_buffer;
struct hv_cursor;
struct hv_kept;
struct hv_stack_words;

enum hv_cursor_mode {
	HV_CURSOR_FOLLOW,  /* goes on with what is recorded later */
	HV_CURSOR_DUMP,	   /* ends at the last event that was there when it was made */
	HV_CURSOR_TAKE,	   /* the same, but events that are being written then are left for the next
			      cursor */
	HV_CURSOR_DRAIN,   /* as FOLLOW, but also returns cleared events */
	HV_CURSOR_UNNAMED, /* as FOLLOW, but events have no comm and no tgid */
};
/* Makes a cursor at the oldest event that is not consumed or cleared. ONLY_CPU < 0: of all
 * vCPUs. */
struct hv_cursor *hv_cursor_new(struct hv_buffer *b, int only_cpu, enum hv_cursor_mode mode);
void hv_cursor_free(struct hv_cursor *c);

enum hv_next {
	HV_NEXT_EMPTY,
	HV_NEXT_EVENT,
};
enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret);
/* Shows in brief what hv_cursor_next would return next, as far as it is calls and returns of one
 * vCPU of KINDS that are known now: at most MAX and at most HV_BRIEFS_MAX of them. They stay.
 * Returns how many. 0: call hv_cursor_next. KINDS: a set, HV_BRIEF_KIND. */
#define HV_BRIEFS_MAX 64
size_t hv_cursor_briefs(struct hv_cursor *c, size_t max, unsigned kinds, struct hv_brief *ret);
/* Returns the records of those that hv_cursor_briefs showed last, side by side in the same order,
 * and their vCPU. Borrowed, valid until another function than this one is called. */
const struct hv_kept *hv_cursor_brief_records(const struct hv_cursor *c, unsigned *ret_cpu);
/* Passes over the first NR of those that hv_cursor_briefs showed last, as if they had been
 * returned. hv_cursor_records has nothing to say of them. */
void hv_cursor_take_briefs(struct hv_cursor *c, size_t nr);

/* Shows the next event of CPU, if it is known now and nothing was lost before it. False also if
 * another task is running there by then. RET has no comm. */
bool hv_cursor_peek(struct hv_cursor *c, unsigned cpu, struct hv_event *ret);
/* Passes over the event that hv_cursor_peek showed last of CPU, as if it had been returned. */
void hv_cursor_skip(struct hv_cursor *c, unsigned cpu);
/* Marks everything that the cursor has returned as consumed in the buffer (trace_pipe). */
void hv_cursor_consume(struct hv_cursor *c);

/* Returns the records of the event that was returned last, in the order of the ring, at most
 * HV_EVENT_RECORDS_MAX. */
#define HV_EVENT_RECORDS_MAX (HV_PARTS_MAX + 1)
const struct hv_record *hv_cursor_records(const struct hv_cursor *c, unsigned *ret_nr);
/* The last one of them. */
struct hv_record hv_cursor_last_record(const struct hv_cursor *c);

/* Finds the callers of the stack that a drain returned last, into LIST, which has room for
 * HV_CALLERS_MAX and which E, a copy of that event, then borrows. */
void hv_cursor_callers(const struct hv_cursor *c, struct hv_gva *list, struct hv_event *e);

/* Decodes the words of the stack that was returned last. */
void hv_cursor_words(const struct hv_cursor *c, struct hv_stack_words *ret);

struct hv_buffer_stat {
	uint64_t entries;   /* events in the buffer; task records are not events */
	uint64_t overrun;   /* lost since it was cleared: overwritten unread, or torn */
	uint64_t dropped;   /* events dropped since then, for lack of room (HV_FULL_DROPS) */
	uint64_t read;	    /* consumed since it was cleared */
	uint64_t bytes;	    /* length of the entries, as LEN_OF measures them */
	uint64_t oldest_ns; /* 0: empty */
	uint64_t youngest_ns;
};
/* Reads the statistics of B, of one vCPU or of all (-1). Looks at every record. LEN_OF returns the
 * length of an event in the format that the caller shows; NULL: the caller does not need it. */
void hv_buffer_stat(struct hv_buffer *b, int only_cpu, size_t (*len_of)(const struct hv_event *),
		    struct hv_buffer_stat *ret);
