/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/guest_marks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "guest-agent/hvtrace-mark.h"

#define WORD  8u
#define HALF  4u
#define PARTS HVTRACE_MARK_PARTS

/* An incomplete text. */
struct begun {
	uint32_t pid;
	uint32_t nr_parts; /* 0: the entry is free */
	uint64_t began;	   /* number of its first part */
	size_t len_bytes;
	char text[HV_MARK_BYTES_MAX];
};

struct hv_guest_marks {
	struct begun begun[HV_MARKS_BEGUN_MAX];
	uint64_t nr_begun; /* total */
	struct hv_mark_call last;
	uint64_t lost_ns; /* of the last event that followed a loss */
	unsigned lost_cpu;
	bool last_ends;
	char text[HV_MARK_BYTES_MAX + 1]; /* text of the last call, if it completes a mark */
};

_Static_assert(HV_MARK_BYTES_MAX == PARTS * HVTRACE_MARK_WORDS * WORD, "the longest mark fits");

struct hv_guest_marks *hv_guest_marks_new(void)
{
	return hv_alloc(sizeof(struct hv_guest_marks));
}

void hv_guest_marks_free(struct hv_guest_marks *m)
{
	free(m);
}

struct part {
	bool is_first, is_last;
	unsigned nr;
	size_t len_bytes;
	char text[HVTRACE_MARK_WORDS * WORD];
};

/* Returns false if CALL is not a part of a mark. */
static bool parse(const struct hv_mark_call *call, struct part *ret)
{
	uint32_t option = (uint32_t)call->args[0];
	size_t word_bytes = option & HVTRACE_MARK_HALVES ? HALF : WORD;

	if (option >> 16 != HVTRACE_MARK_MAGIC)
		return false;
	ret->is_first = option & HVTRACE_MARK_FIRST;
	ret->is_last = option & HVTRACE_MARK_LAST;
	ret->nr = option >> HVTRACE_MARK_PART_SHIFT & (PARTS - 1);
	ret->len_bytes = option & HVTRACE_MARK_LEN_MASK;
	for (size_t i = 0; i < HVTRACE_MARK_WORDS; i++)
		memcpy(ret->text + i * word_bytes, &call->args[1 + i], word_bytes);
	return ret->len_bytes <= HVTRACE_MARK_WORDS * word_bytes;
}

/* Returns PID's incomplete text, or NULL. */
static struct begun *find(struct hv_guest_marks *m, uint32_t pid)
{
	for (size_t i = 0; i < HV_MARKS_BEGUN_MAX; i++)
		if (m->begun[i].nr_parts && m->begun[i].pid == pid)
			return &m->begun[i];
	return NULL;
}

/* Returns an entry for PID: its present entry, a free one, or the entry of the oldest text. */
static struct begun *begin(struct hv_guest_marks *m, uint32_t pid)
{
	struct begun *own = find(m, pid), *b = &m->begun[0];

	for (size_t i = 1; i < HV_MARKS_BEGUN_MAX && b->nr_parts; i++)
		if (!m->begun[i].nr_parts || m->begun[i].began < b->began)
			b = &m->begun[i];
	if (own)
		b = own;
	b->pid = pid;
	b->began = m->nr_begun++;
	b->nr_parts = 0;
	b->len_bytes = 0;
	return b;
}

/* Returns whether CALL completes a mark. */
static bool take(struct hv_guest_marks *m, const struct hv_mark_call *call)
{
	struct begun *b;
	struct part part;

	if (!parse(call, &part))
		return false;
	b = part.is_first ? begin(m, call->pid) : find(m, call->pid);
	if (!b)
		return false;
	if (part.nr != b->nr_parts || b->len_bytes + part.len_bytes > HV_MARK_BYTES_MAX) {
		b->nr_parts = 0;
		return false;
	}
	memcpy(b->text + b->len_bytes, part.text, part.len_bytes);
	b->len_bytes += part.len_bytes;
	b->nr_parts++;
	if (!part.is_last)
		return false;
	memcpy(m->text, b->text, b->len_bytes);
	m->text[b->len_bytes] = '\0';
	b->nr_parts = 0;
	return true;
}

const char *hv_guest_marks_read(struct hv_guest_marks *m, const struct hv_mark_call *call)
{
	const struct hv_mark_call *last = &m->last;

	if (call->time_ns != last->time_ns || call->cpu != last->cpu || call->pid != last->pid) {
		m->last_ends = take(m, call);
		m->last = *call;
	}
	return m->last_ends ? m->text : NULL;
}

void hv_guest_marks_note_lost(struct hv_guest_marks *m, uint64_t time_ns, unsigned cpu)
{
	if (m->lost_ns == time_ns && m->lost_cpu == cpu)
		return;
	m->lost_ns = time_ns;
	m->lost_cpu = cpu;
	for (size_t i = 0; i < HV_MARKS_BEGUN_MAX; i++)
		m->begun[i].nr_parts = 0;
}
