/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all buffers of a guest need to make events from records: facts about the guest's kernel,
 * clocks, names of tasks, texts of markers, callers.
 * Leaves to others: decoding one record (decode.h), which records belong together (parts.h), order
 * and loss (cursor.h). One thread. */
#pragma once

#include "tracer/events/callers.h"
#include "tracer/events/clocks.h"
#include "tracer/events/decode.h"
#include "tracer/events/marks.h"
#include "tracer/events/names.h"
#include "tracer/events/parts.h"

#define HV_NR_NAMED 16 /* a power of two */

struct hv_decoder {
	const struct hv_kernel *kernel; /* borrowed, as are these: */
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	struct hv_decode decode;
	struct hv_marks marks; /* owned */
	uint64_t nr_lost;      /* lost records of all buffers */
	/* The tasks of the last events, by the low bits of their pids. */
	struct hv_named_task {
		uint32_t pid; /* 0: none */
		uint32_t tgid;
		uint64_t version; /* hv_names_version() then */
		char comm[HV_COMM_LEN];
	} named[HV_NR_NAMED];
};

/* Borrows its arguments, which outlive it. The addresses of the stubs in ->decode are 0. */
struct hv_decoder *hv_decoder_new(const struct hv_kernel *k, struct hv_clocks *clocks,
				  struct hv_names *names, struct hv_callers *callers);
void hv_decoder_free(struct hv_decoder *d);

/* A part of the function below, for a record of the host's. */
void hv_decoder_mark(const struct hv_decoder *d, const struct hv_record *record,
		     struct hv_event *ret);

/* Decodes RECORD, which is an event, and PARTS, which belong to it (NULL: none, or some are
 * missing). The caller fills in cpu, times, loss, callers and the task's name. */
static inline void hv_decoder_event(const struct hv_decoder *d, const struct hv_record *record,
				    const struct hv_parts *parts, struct hv_event *ret)
{
	if (hv_record_kind(record) == HV_RECORD_MARK)
		hv_decoder_mark(d, record, ret);
	else
		hv_decode_event(&d->decode, record, parts ? parts->list : NULL, ret);
}
/* Notes the name of a task from RECORD, an HV_RECORD_TASK that is newer than all that was noted. */
void hv_decoder_note_task(struct hv_decoder *d, const struct hv_record *record);
/* Likewise from one that may be older: a name that is known stays. */
void hv_decoder_note_old_task(struct hv_decoder *d, const struct hv_record *record);
/* Fills in the name and the thread group of EVENT's task. */
void hv_decoder_name_task(struct hv_decoder *d, struct hv_event *event);
/* Finds the callers of EVENT, a stack, into LIST, which has room for HV_CALLERS_MAX. WORDS are
 * those of the event; without them (NULL) the only caller is the event's. */
void hv_decoder_callers(struct hv_decoder *d, const struct hv_parts *words, struct hv_gva *list,
			struct hv_event *event);
