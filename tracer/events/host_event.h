/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the host: their formats and pages as the host's kernel writes them, and their records
 * in buffers in host memory. They are stored like guest events (HV_EVENT_GUESTS) on the vCPU they
 * concern, at the guest's time, with a type number that no kernel uses. If such a type appears in a
 * guest's own ring, the record counts as lost. The pid is the host's, and the task name is always
 * HV_COMM_HOST.
 *
 * tracer/host_tracer.h reads the events. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "kernel/events/catalogue.h"
#include "tracer/events/decode.h"

#define HV_COMM_HOST	    "<host>"
#define HV_HOST_ID_FIRST    0xf000 /* event ids; the guest's kernel counts up from 1 */
#define HV_HOST_ID_END	    0xf020
#define HV_HOST_ENTRY_MAX   128 /* bytes */
#define HV_HOST_RECORDS_MAX ((HV_HOST_ENTRY_MAX + HV_DATA_LEN - 1) / HV_DATA_LEN + 1)

static inline bool hv_host_event_is(uint32_t id)
{
	return id >= HV_HOST_ID_FIRST && id < HV_HOST_ID_END;
}

/* Encodes the event ID with ENTRY (HV_ENTRY_HEADER_LEN to HV_HOST_ENTRY_MAX bytes, as the host
 * wrote it) at time TSC of its vCPU. RET has room for HV_HOST_RECORDS_MAX. Returns the number of
 * records. */
unsigned hv_host_event_encode(uint64_t tsc, uint16_t id, struct hv_span entry,
			      struct hv_record *ret);
/* Sets the task and flags of EVENT, which was decoded from RECORD. */
void hv_host_event_decode(const struct hv_record *record, struct hv_event *event);

/* -- formats ----------------------------------------------------------------------------------- */

/* Parses the format of a host event from its text in the host's tracefs.
 *
 * vmm/hosttrace/instance.h lists the events. */

struct hv_host_format {
	uint32_t id;		       /* id on the host: common_type of its entries */
	struct hv_event_fields fields; /* owned; without the common fields */
	const char *print_fmt;	       /* points into TEXT */
	char *text;		       /* owned; names and types point into it */
};

/* Returns false if TEXT is not a format, or if the common fields differ from the guest's. */
bool hv_host_format_parse(const char *text, struct hv_host_format *ret);
void hv_host_format_deinit(struct hv_host_format *f);
/* Returns the offset in entries of the 4-byte number NAME; 0: no such field. */
uint32_t hv_host_format_u32(const struct hv_host_format *f, const char *name);

/* -- pages ------------------------------------------------------------------------------------- */

/* Reads entries and their times from a page of a ring buffer of the host's tracing, as returned by
 * trace_pipe_raw. The page comes from the host's kernel; still, every length is checked, and an
 * invalid one ends the page. Supports only the header of 64-bit kernels (events/header_page: 16
 * bytes). */

struct hv_host_page {
	struct hv_span data; /* borrowed; the page up to the end of its last entry */
	size_t at;
	uint64_t ticks;	  /* time of the last entry read, or of the page */
	uint64_t nr_lost; /* entries lost before the page; at least 1 if any were */
};

/* Returns false if BYTES is not a page. */
bool hv_host_page_begin(struct hv_span bytes, struct hv_host_page *ret);
/* Returns the next entry, which points into the page; P->ticks is its time. Returns false at the
 * end. */
bool hv_host_page_next(struct hv_host_page *p, struct hv_span *ret_entry);
