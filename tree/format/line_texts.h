/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cache for the start of recent lines: the text of task, CPU and flags, and the text of the time's
 * full seconds. A task has few different states, and a trace has many lines per second. format.c
 * makes the texts; symbol.h caches symbols. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"

/* Maximum length of a part. Every part is copied with this length; bytes after its end are
 * ignored. */
#define HV_LINE_PART_MAX 56

struct hv_line_texts;

struct hv_line_texts *hv_line_texts_new(void) hv_must_use;
void hv_line_texts_free(struct hv_line_texts *t);
/* Clears the cache if OPTIONS differ from the previous call. OPTIONS are any bits that the texts
 * depend on. */
void hv_line_texts_of(struct hv_line_texts *t, uint64_t options);

/* Writes the text before the time in a line of E to AT, which has room for HV_LINE_PART_MAX.
 * Returns its end, or NULL if it is not cached. */
char *hv_line_texts_put_context(const struct hv_line_texts *t, const struct hv_event *e, char *at);
/* Caches that text: the part of OUT from START on. */
void hv_line_texts_keep_context(struct hv_line_texts *t, const struct hv_text *out, size_t start,
				const struct hv_event *e);

/* Writes TIME_NS in seconds, "%5u.%06u", to AT, which has room for HV_LINE_PART_MAX. Returns its
 * end. */
char *hv_line_texts_put_time(struct hv_line_texts *t, uint64_t time_ns, char *at);
