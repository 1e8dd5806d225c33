/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders events as pages of the kernel's ring buffer, which trace_pipe_raw returns and
 * libtraceevent reads (include/linux/ring_buffer.h, struct buffer_data_page).
 *
 *   0   u64 time of the first event
 *   8   u64 length of the data; bit 31: events were lost before this page; bit 30: their number
 *       is in a u64 after the data
 *   16  data: the events. Each has a header (5 bits type_len, 27 bits time since the last
 *       event), an optional TIME_EXTEND before it, and the fields of events/ftrace/NAME/format
 *
 * files/pipe.c reads events; files/event.c has the formats. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/events/catalogue.h"
#include "tracer/events/event.h"

/* A page of the default size: header and data. */
#define HV_RAW_PAGE_LEN 4096
#define HV_RAW_HEAD_LEN 16
#define HV_RAW_DATA_LEN (HV_RAW_PAGE_LEN - HV_RAW_HEAD_LEN)

/* -- layout of records ------------------------------------------------------------------------- */

/* Field offsets of tracer events in the records of trace_pipe_raw. Programs decode these records
 * with the formats in events/ftrace/, which are the guest kernel's. Kernels differ: 5.10 orders the
 * fields of funcgraph_exit differently, 7.x has wider ones, PREEMPT_RT before 6.12 has an extra
 * field in each record. event_format.h prints formats. */

/* Maximum record length without its string, bytes or callers. */
#define HV_RAW_FIXED_MAX 96

enum hv_raw_field {
	/* In every record */
	HV_RAW_TYPE,
	HV_RAW_FLAGS,
	HV_RAW_PREEMPT_COUNT,
	HV_RAW_PID,
	HV_RAW_LAZY_COUNT,
	/* In some records */
	HV_RAW_IP,
	HV_RAW_PARENT_IP,
	HV_RAW_DEPTH,
	HV_RAW_OVERRUN,
	HV_RAW_CALL_NS,
	HV_RAW_RETURN_NS,
	HV_RAW_RETVAL,
	HV_RAW_HOST, /* hvtrace's: ns of the call in which the host did not run the vCPU */
	HV_RAW_NR_CALLERS,
	HV_RAW_REST, /* variable-length part at the end: string, bytes or callers */
	HV_NR_RAW_FIELDS
};

struct hv_raw_record {
	uint16_t id;	   /* its common_type */
	uint8_t len_bytes; /* up to HV_RAW_REST, if present */
	struct {
		uint8_t off, len_bytes; /* len_bytes 0: the record does not have the field */
	} fields[HV_NR_RAW_FIELDS];
};

struct hv_raw_layout {
	size_t data_bytes;				/* page size without the header */
	struct hv_raw_record records[HV_EVENT_COMMAND]; /* indexed by enum hv_event_kind */
	/* Nonzero: the record matches hv_raw_layout_known except for the id. */
	uint8_t is_known[HV_EVENT_COMMAND];
};

/* The layout of Linux 6.1. */
extern const struct hv_raw_layout hv_raw_layout_known;

/* Makes the layout from C, with pages of 4 KiB. Uses hv_raw_layout_known for records without a
 * usable type in C. */
void hv_raw_layout_init(struct hv_raw_layout *l, const struct hv_catalogue *c);

/* Fields of a return that the kernel's own format lacks: their lines in the format, with constant
 * strings. */
struct hv_raw_more {
	struct hv_event_field list[2];
	size_t nr;
};

/* Adds FIELD, which is HV_RAW_RETVAL or HV_RAW_HOST, after the existing fields of a return, and its
 * line to RET. Returns false and changes nothing if there is no room or the record already has
 * it. */
bool hv_raw_layout_add(struct hv_raw_layout *l, enum hv_raw_field field, struct hv_raw_more *ret);

/* -- pages ------------------------------------------------------------------------------------- */

/* Payloads up to this size store their length in the four-byte header. */
#define HV_RAW_SMALL_MAX 112

#define HV_RAW_BRIEF_MIN 24 /* size of the shortest call or return, with its header */

/* Returns the maximum length of the text (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) of an event
 * in a kernel (tracing_mark_write of 6.12). Longer ones are truncated in a page. */
size_t hv_raw_text_max(const struct hv_raw_layout *l, enum hv_event_kind kind);

/* Returns the length in bytes of an event, header and payload without a TIME_EXTEND, with the
 * records of hv_raw_layout_known. */
size_t hv_raw_event_len(const struct hv_event *e);

struct hv_raw_page {
	const struct hv_raw_layout *layout; /* borrowed */
	uint8_t *bytes;			    /* borrowed; zeros after the added events */
	size_t len_bytes;		    /* length of the data */
	size_t max_bytes;		    /* limit of the data */
	uint64_t time_ns;		    /* time of the last event */
	uint64_t lost;			    /* events lost before the page */
};

/* Makes P an empty page for at most MAX_BYTES of data (data_bytes of LAYOUT or less). Borrows
 * LAYOUT and BYTES. BYTES has room for the header and MAX_BYTES, all zeros. */
void hv_raw_page_init(struct hv_raw_page *p, const struct hv_raw_layout *layout, uint8_t *bytes,
		      size_t max_bytes);

/* Adds E. Returns false if E does not fit, or must begin a page because events were lost before
 * it. */
bool hv_raw_page_add(struct hv_raw_page *p, const struct hv_event *e);

/* Returns the kinds of events that hv_raw_page_add_briefs() accepts: those whose records match
 * hv_raw_layout_known. */
unsigned hv_raw_brief_kinds(const struct hv_raw_layout *l);
/* Adds calls and returns of such kinds from the front of BRIEFS, while they fit and need not begin
 * a page. Returns how many. Adds nothing to an empty page: use hv_raw_page_add() first. */
size_t hv_raw_page_add_briefs(struct hv_raw_page *p, const struct hv_brief *briefs, size_t nr);

/* Writes the page header. Add nothing afterwards. */
void hv_raw_page_finish(struct hv_raw_page *p);
