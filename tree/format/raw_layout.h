/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Field offsets of tracer events in the records of trace_pipe_raw. Programs decode these records
 * with the formats in events/ftrace/, which are the guest kernel's. Kernels differ: 5.10 orders the
 * fields of funcgraph_exit differently, 7.x has wider ones, PREEMPT_RT before 6.12 has an extra
 * field in each record. event_format.h prints formats; raw_page.h writes pages. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"

struct hv_catalogue;
struct hv_event_field;

/* A page of the default size: header and data. */
#define HV_RAW_PAGE_LEN 4096
#define HV_RAW_HEAD_LEN 16
#define HV_RAW_DATA_LEN (HV_RAW_PAGE_LEN - HV_RAW_HEAD_LEN)

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
	HV_RAW_HOST, /* added by hvtrace: ns during the call in which the host did not run the vCPU
		      */
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
	size_t data_bytes; /* page size without the header (raw_page.h) */
	struct hv_raw_record records[HV_EVENT_COMMAND]; /* indexed by enum hv_event_kind */
	/* Nonzero: the record matches hv_raw_layout_known except for the id. */
	uint8_t is_known[HV_EVENT_COMMAND];
};

/* The layout of Linux 6.1. */
extern const struct hv_raw_layout hv_raw_layout_known;

/* Makes the layout from C, with pages of 4 KiB. Uses hv_raw_layout_known for records without a
 * usable type in C. */
void hv_raw_layout_init(struct hv_raw_layout *l, const struct hv_catalogue *c);

/* Adds HV_RAW_HOST after the existing fields of a return. RET is its line in the format, with
 * constant strings. Returns false and leaves RET unset if there is no room or the record already
 * has it. */
bool hv_raw_layout_add_host(struct hv_raw_layout *l, struct hv_event_field *ret);
