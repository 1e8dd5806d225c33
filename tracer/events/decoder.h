/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The context that all buffers of a guest share to decode records into events: properties of the
 * guest's kernel, clocks, task names, texts of markers, callers.
 *
 * decode.h decodes one record and groups records, cursor.h orders them and detects losses. One
 * thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracer/events/callers.h"
#include "tracer/events/clocks.h"
#include "tracer/events/decode.h"
#include "tracer/events/names.h"

/* -- texts of markers -------------------------------------------------------------------------- */

/* Texts of trace_marker, stored on the host by number because a record has no room for a text. If
 * there are too many, the oldest are evicted. host_buffer.h writes the records with the numbers. */

#define HV_MARKER_TEXTS_MAX	  65536
#define HV_MARKER_TEXTS_BYTES_MAX (8u << 20)

struct hv_marker_text {
	uint64_t id;
	unsigned kind; /* enum hv_event_kind */
	char *bytes;   /* owned */
	size_t len_bytes;
};

/* Zero-initialised: empty. */
struct hv_marker_texts {
	/* Owned; HV_MARKER_TEXTS_MAX entries. Text N is at N % HV_MARKER_TEXTS_MAX. */
	struct hv_marker_text *list;
	uint64_t first; /* number of the oldest text that is kept */
	uint64_t next;
	size_t nr_bytes;
};

void hv_marker_texts_deinit(struct hv_marker_texts *m);
/* Copies BYTES and returns the number of the text. */
uint64_t hv_marker_texts_add(struct hv_marker_texts *m, unsigned kind, const char *bytes,
			     size_t len_bytes);
/* Returns NULL if the text was evicted or never existed. */
const struct hv_marker_text *hv_marker_texts_find(const struct hv_marker_texts *m, uint64_t id);

/* -- the decoder ------------------------------------------------------------------------------- */

#define HV_NR_NAMED 16 /* a power of two */

struct hv_decoder {
	const struct hv_kernel *kernel; /* borrowed, like the next three */
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	struct hv_decode decode;
	struct hv_marker_texts marker_texts; /* owned */
	uint64_t nr_lost;		     /* lost records in all buffers */
	/* Names of the latest tasks, indexed by the low bits of their pids. */
	struct hv_named_task {
		uint32_t pid; /* 0: none */
		uint32_t tgid;
		uint64_t version; /* hv_names_version() when this was looked up */
		char comm[HV_COMM_LEN];
	} named[HV_NR_NAMED];
};

/* Borrows its arguments, which must outlive it. The trampoline addresses in ->decode are 0. */
struct hv_decoder *hv_decoder_new(const struct hv_kernel *k, struct hv_clocks *clocks,
				  struct hv_names *names, struct hv_callers *callers);
void hv_decoder_free(struct hv_decoder *d);

/* Part of hv_decoder_event(), for a record of the host. */
void hv_decoder_marker(const struct hv_decoder *d, const struct hv_record *record,
		       struct hv_event *ret);

/* Decodes RECORD, an event, and its PARTS (NULL: none, or some are missing). The caller sets cpu,
 * times, loss, callers and the task's name. */
static inline void hv_decoder_event(const struct hv_decoder *d, const struct hv_record *record,
				    const struct hv_parts *parts, struct hv_event *ret)
{
	if (hv_record_kind(record) == HV_RECORD_MARK)
		hv_decoder_marker(d, record, ret);
	else
		hv_decode_event(&d->decode, record, parts ? parts->list : NULL, ret);
}
/* Notes a task's name from RECORD, an HV_RECORD_TASK that is newer than all noted before. */
void hv_decoder_note_task(struct hv_decoder *d, const struct hv_record *record);
/* Like hv_decoder_note_task(), for a record that may be older: does not replace a known name. */
void hv_decoder_note_old_task(struct hv_decoder *d, const struct hv_record *record);
/* Sets the name and the thread group of EVENT's task. */
void hv_decoder_name_task(struct hv_decoder *d, struct hv_event *event);
/* Finds the callers of EVENT, a stack. LIST has room for HV_CALLERS_MAX. WORDS are the event's
 * stack words; if NULL, the only caller is the event's parent. */
void hv_decoder_callers(struct hv_decoder *d, const struct hv_parts *words, struct hv_gva *list,
			struct hv_event *event);
