/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads from a session the data that precedes the first event in a trace file: event formats, the
 * guest's symbols, the clock, sizes. export/export.h writes the file, file.h the events. */
#pragma once

#include "cli/client.h"
#include "export/export.h"

struct record_head {
	struct hv_export_head head; /* borrows the members below */
	struct hv_text kallsyms;
	struct hv_text printk_formats;
	struct hv_text header_page;
	struct hv_text header_event;
	struct hv_text trace_clock;
	struct hv_text version;
	char *clock;
	struct hv_export_event *events; /* each owns its texts */
	size_t nr_events;
};

/* DIR is the directory of the instance. */
struct hv_err *record_head_read(struct record_head *h, struct client *c,
				const char *dir) hv_must_use;
/* Like record_head_read(), but without the guest's symbols, printk_formats, formats of tracers'
 * events, and version. */
struct hv_err *record_head_read_events(struct record_head *h, struct client *c,
				       const char *dir) hv_must_use;
/* For --date: finds the time of day of the clock's zero, by the guest's or this host's time,
 * depending on the clock. ENOTSUP: unknown. Call it after record_head_read(). */
struct hv_err *record_head_read_date(struct record_head *h, struct client *c) hv_must_use;
void record_head_deinit(struct record_head *h);
