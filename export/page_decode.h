/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the payloads of pages, using the event formats, symbols and task names in struct
 * hv_export_head. These texts may come from a modified file: invalid parts are skipped.
 *
 * raw_pages.h parses the pages and sorts the events. Pure. */
#pragma once

#include "base/bytes.h"
#include "export/export.h"
#include "export/field_values.h"
#include "export/raw_pages.h"
#include "kernel/events/catalogue.h"
#include "kernel/image/symbols.h"
#include "tree/format/raw_page.h"

#define HV_PAGE_DECODE_CALLERS_MAX 128

struct hv_page_decode_task {
	uint32_t pid;
	char comm[16];
};

struct hv_page_decode {
	struct hv_catalogue catalogue;
	struct hv_raw_layout layout;
	struct hv_symbols symbols;
	struct hv_page_decode_task
		*tasks; /* owned; a hash table; pid UINT32_MAX marks a free entry */
	size_t nr_buckets, nr_tasks;
	struct hv_gva callers[HV_PAGE_DECODE_CALLERS_MAX]; /* of the last stack */
};

void hv_page_decode_init(struct hv_page_decode *d, const struct hv_export_head *head);
void hv_page_decode_deinit(struct hv_page_decode *d);

/* Returns whether function return events contain the time in which the host did not run the
 * vCPU. */
bool hv_page_decode_has_host(const struct hv_page_decode *d);

/* TEXT is the text of saved_cmdlines. */
void hv_page_decode_name_tasks(struct hv_page_decode *d, struct hv_export_text text);
/* Returns whether PAGE has an event of a task without a known name. */
bool hv_page_decode_lacks_names(const struct hv_page_decode *d, struct hv_span page);

/* Returns the type of the event, or NULL if its format is unknown. */
const struct hv_event_type *hv_page_decode_type(const struct hv_page_decode *d,
						struct hv_span payload);
/* Decodes an event of a tracer, of the guest, or of the host. The task of a host event is named
 * HV_COMM_HOST, even if the guest has a task with that pid. Returns false if the format is unknown
 * or M is too short. RET borrows M and D until the next call. */
bool hv_page_decode_event(struct hv_page_decode *d, const struct hv_merged *m,
			  struct hv_event *ret);
/* Returns the symbol at or before ADDR, or NULL. */
const struct hv_symbol *hv_page_decode_symbol(const struct hv_page_decode *d, struct hv_gva addr);
