/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the fields of tracers' events are in the records of trace_pipe_raw. Programs read these
 * records with the help of the formats in events/ftrace/. These are the guest kernel's own, and
 * kernels differ: 5.10 has the fields of funcgraph_exit in another order, 7.x wider ones,
 * PREEMPT_RT before 6.12 one more in each record. Leaves to others: the formats' text
 * (event_format.h), pages (raw_page.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"

struct hv_catalogue;
struct hv_event_field;

/* A page of the first size, which has a head and data. */
#define HV_RAW_PAGE_LEN 4096
#define HV_RAW_HEAD_LEN 16
#define HV_RAW_DATA_LEN (HV_RAW_PAGE_LEN - HV_RAW_HEAD_LEN)

/* The greatest length of a record without its text, bytes or callers. */
#define HV_RAW_FIXED_MAX 96

enum hv_raw_field {
	/* Of every record */
	HV_RAW_TYPE,
	HV_RAW_FLAGS,
	HV_RAW_PREEMPT_COUNT,
	HV_RAW_PID,
	HV_RAW_LAZY_COUNT,
	/* Of some */
	HV_RAW_IP,
	HV_RAW_PARENT_IP,
	HV_RAW_DEPTH,
	HV_RAW_OVERRUN,
	HV_RAW_CALL_NS,
	HV_RAW_RETURN_NS,
	HV_RAW_RETVAL,
	HV_RAW_HOST, /* hvtrace's own: ns for which the host did not run the vCPU in a call */
	HV_RAW_NR_CALLERS,
	HV_RAW_REST, /* the part without a fixed length at the end: text, bytes or callers */
	HV_NR_RAW_FIELDS
};

struct hv_raw_record {
	uint16_t id;	   /* its common_type */
	uint8_t len_bytes; /* up to where HV_RAW_REST begins, if there is one */
	struct {
		uint8_t off, len_bytes; /* len_bytes 0: there is no such field */
	} fields[HV_NR_RAW_FIELDS];
};

struct hv_raw_layout {
	size_t data_bytes; /* of a page, without its head (raw_page.h) */
	struct hv_raw_record records[HV_EVENT_COMMAND]; /* by enum hv_event_kind */
	/* Not 0: the record is the one of hv_raw_layout_known, but for its id. */
	uint8_t is_known[HV_EVENT_COMMAND];
};

/* The layout of 6.1. */
extern const struct hv_raw_layout hv_raw_layout_known;

/* Makes the layout from C, with pages of 4 KiB. A record for which C has no sensible type is taken
 * from hv_raw_layout_known. */
void hv_raw_layout_init(struct hv_raw_layout *l, const struct hv_catalogue *c);

/* Adds HV_RAW_HOST behind all fields of a return, which stay where they are. RET, the format's line
 * of it, has constant strings. False: there is no room, or the record has it; RET is not set. */
bool hv_raw_layout_add_host(struct hv_raw_layout *l, struct hv_event_field *ret);
