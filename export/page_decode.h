/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the payloads of pages mean, by the texts that describe them (struct hv_export_head): formats
 * of events, symbols, names of tasks. These texts may come from a file that somebody changed: what
 * cannot be understood is left out.
 * Leaves to others: the pages (raw_events.h), their order (page_merge.h). Pure. */
#pragma once

#include "export/export.h"
#include "export/page_merge.h"
#include "kernel/events/catalogue.h"
#include "kernel/symbols.h"
#include "tree/format/raw_layout.h"

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
		*tasks; /* owned; a hash table, in which pid UINT32_MAX is free */
	size_t nr_places, nr_tasks;
	struct hv_gva callers[HV_PAGE_DECODE_CALLERS_MAX]; /* of the last stack */
};

void hv_page_decode_init(struct hv_page_decode *d, const struct hv_export_head *head);
void hv_page_decode_deinit(struct hv_page_decode *d);

/* Whether returns of calls say for how long of a call the host did not run the vCPU. */
bool hv_page_decode_has_host(const struct hv_page_decode *d);

/* TEXT is that of saved_cmdlines. */
void hv_page_decode_name_tasks(struct hv_page_decode *d, struct hv_export_text text);
/* Whether PAGE has an event of a task whose name is not known. */
bool hv_page_decode_lacks_names(const struct hv_page_decode *d, struct hv_span page);

/* The type of an event. NULL: its format is not known. */
const struct hv_event_type *hv_page_decode_type(const struct hv_page_decode *d,
						struct hv_span payload);
/* Makes an event of a tracer, one of the guest's own, or one of the host, whose task has the name
 * HV_COMM_HOST, whatever the guest calls that of this pid. False: its format is not known, or M is
 * too short. RET borrows M and D until the next call. */
bool hv_page_decode_event(struct hv_page_decode *d, const struct hv_merged *m,
			  struct hv_event *ret);
/* The symbol at or before ADDR. NULL: there is none. */
const struct hv_symbol *hv_page_decode_symbol(const struct hv_page_decode *d, struct hv_gva addr);
