/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a stream: the metadata needed to decode its events (struct hv_export_head), and the
 * names of guest and host. It is encoded as a sequence of records: u16 kind, u16 0, u32 length,
 * bytes, NUL. Readers skip unknown kinds.
 *
 * sender.h sends it as the table HV_STREAM_HEAD; table.h reassembles it. Pure. */
#pragma once

#include "base/text.h"
#include "export/export.h"

#define HV_STREAM_CPUS_MAX	 4096
#define HV_STREAM_PAGE_BYTES_MAX (64u << 10)
#define HV_STREAM_EVENTS_MAX	 16384 /* event formats */

struct hv_stream_head {
	struct hv_export_head head;	/* borrows from the fields below */
	const char *guest;		/* name of the guest given by its sender */
	const char *host;		/* name of the sender's host */
	struct hv_text text;		/* owned */
	struct hv_export_event *events; /* owned */
};

/* Appends the encoded head to RET. */
void hv_stream_head_encode(const struct hv_export_head *head, const char *guest, const char *host,
			   struct hv_text *ret);
/* Takes ownership of TEXT, also on failure. Returns false and leaves RET unchanged if TEXT is
 * invalid. */
bool hv_stream_head_decode(struct hv_text *text, struct hv_stream_head *ret);
void hv_stream_head_deinit(struct hv_stream_head *h);
