/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/event_words.h"

void hv_event_words_set_program(struct hv_event_words *w, const struct hv_region *r, unsigned index,
				const struct hv_stub_program *program)
{
	hv_stub_programs_set(&w->programs, r, index, program);
}

void hv_event_words_set_filter(struct hv_event_words *w, const struct hv_region *r, unsigned index,
			       const struct hv_stub_filter *filter)
{
	hv_stub_filters_set(&w->filters, r, index, filter);
}

void hv_event_words_clear(struct hv_event_words *w, const struct hv_region *r, unsigned index)
{
	hv_event_words_set_program(w, r, index, NULL);
	hv_event_words_set_filter(w, r, index, NULL);
}

/* A file has one word, for a filter or a program. */
void hv_event_words_set(struct hv_event_words *w, const struct hv_region *r,
			const struct hv_event_word *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!list[i].program)
			hv_event_words_set_program(w, r, list[i].index, NULL);
	for (size_t i = 0; i < nr; i++) {
		const struct hv_event_word *word = &list[i];

		hv_event_words_set_filter(w, r, word->index, word->program ? NULL : word->filter);
		hv_event_words_set_program(w, r, word->index, word->program);
	}
}
