/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stub of commit does with events by the word of their files: it leaves some out, by a
 * filter, or reads memory for them, by a program. An event has one of both or none.
 * Leaves to others: where filters and programs are in the region (stub_filters.h, stub_programs.h),
 * which events are on (event_tracer.h). */
#pragma once

#include "tracer/stub_filters.h"
#include "tracer/stub_programs.h"

/* Zero-initialised: no file has a word. */
struct hv_event_words {
	struct hv_stub_filters filters;
	struct hv_stub_programs programs;
};

/* What the file INDEX is to have. NULL: none. With a program it has no filter. Borrowed. */
struct hv_event_word {
	unsigned index;
	const struct hv_stub_filter *filter;
	const struct hv_stub_program *program;
};

/* From now on the file of each of LIST has what that says. What loses a program makes place for the
 * others first. If there is no place for one, its file has none. */
void hv_event_words_set(struct hv_event_words *w, const struct hv_region *r,
			const struct hv_event_word *list, size_t nr);
/* The program, or the filter, alone. */
void hv_event_words_set_program(struct hv_event_words *w, const struct hv_region *r, unsigned index,
				const struct hv_stub_program *program);
void hv_event_words_set_filter(struct hv_event_words *w, const struct hv_region *r, unsigned index,
			       const struct hv_stub_filter *filter);
/* The file INDEX has neither. */
void hv_event_words_clear(struct hv_event_words *w, const struct hv_region *r, unsigned index);
