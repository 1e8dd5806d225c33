/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets the words in event files that control the commit stub: it discards events with a filter, or
 * reads memory for them with a program. An event has at most one of the two.
 *
 * stub_filters.h and stub_programs.h allocate filters and programs in the region; event_tracer.h
 * decides which events are on. */
#pragma once

#include "tracer/guest/stub_filters.h"
#include "tracer/guest/stub_programs.h"

/* Zero-initialised: no file has a word. */
struct hv_event_words {
	struct hv_stub_filters filters;
	struct hv_stub_programs programs;
};

/* The word to set for file INDEX. NULL: none. A file with a program has no filter. Borrowed. */
struct hv_event_word {
	unsigned index;
	const struct hv_stub_filter *filter;
	const struct hv_stub_program *program;
};

/* Sets the words of the files in LIST. Removes programs first to make room for new ones. If there
 * is still no room for one, its file gets none. */
void hv_event_words_set(struct hv_event_words *w, const struct hv_region *r,
			const struct hv_event_word *list, size_t nr);
/* Set only the program or only the filter. */
void hv_event_words_set_program(struct hv_event_words *w, const struct hv_region *r, unsigned index,
				const struct hv_stub_program *program);
void hv_event_words_set_filter(struct hv_event_words *w, const struct hv_region *r, unsigned index,
			       const struct hv_stub_filter *filter);
/* Clears both. */
void hv_event_words_clear(struct hv_event_words *w, const struct hv_region *r, unsigned index);
