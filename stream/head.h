/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known before the first event (struct hv_export_head), and whose events they are, as one
 * text that is sent as the table HV_STREAM_HEAD: a sequence of u16 kind, u16 0, u32 length, bytes,
 * NUL. Kinds that a reader does not know are left out. Leaves to others: sending it (sender.h),
 * putting its parts together (table.h). Pure. */
#pragma once

#include "base/text.h"
#include "export/export.h"

#define HV_STREAM_CPUS_MAX	 4096
#define HV_STREAM_PAGE_BYTES_MAX (64u << 10)
#define HV_STREAM_EVENTS_MAX	 16384 /* formats */

struct hv_stream_head {
	struct hv_export_head head;	/* borrows the members below */
	const char *guest;		/* as its sender calls it */
	const char *host;		/* on which the sender runs */
	struct hv_text text;		/* owned */
	struct hv_export_event *events; /* owned */
};

/* Makes the text. */
void hv_stream_head_encode(const struct hv_export_head *head, const char *guest, const char *host,
			   struct hv_text *ret);
/* Takes TEXT. False: it cannot be understood, and RET is as it was. */
bool hv_stream_head_decode(struct hv_text *text, struct hv_stream_head *ret);
void hv_stream_head_deinit(struct hv_stream_head *h);
