/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first parts of lines that were shown lately: the task, the CPU and the flags, and the second
 * of the time. A task is in few states, and a trace has many lines of each second. Leaves to
 * others: what the texts are (format.c), texts of symbols (symbol_texts.h). */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"

/* The longest part. Every part is copied with this length; bytes after its end are ignored. */
#define HV_LINE_PART_MAX 56

struct hv_line_texts;

struct hv_line_texts *hv_line_texts_new(void) hv_must_use;
void hv_line_texts_free(struct hv_line_texts *t);
/* Forgets all texts if OPTIONS are not those of the last call: any bits that they depend on. */
void hv_line_texts_of(struct hv_line_texts *t, uint64_t options);

/* Puts what a line of E has before the time to AT, which has room for HV_LINE_PART_MAX. Returns its
 * end. NULL: T does not have it. */
char *hv_line_texts_put_context(const struct hv_line_texts *t, const struct hv_event *e, char *at);
/* Keeps it: what OUT has from START on. */
void hv_line_texts_keep_context(struct hv_line_texts *t, const struct hv_text *out, size_t start,
				const struct hv_event *e);

/* Puts TIME_NS as "%5u.%06u", in seconds, to AT, which has room for HV_LINE_PART_MAX. Returns its
 * end. */
char *hv_line_texts_put_time(struct hv_line_texts *t, uint64_t time_ns, char *at);
