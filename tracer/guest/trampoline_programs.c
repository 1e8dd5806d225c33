/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/trampoline_programs.h"

#include <string.h>

/* -- filters ----------------------------------------------------------------------------------- */

#define NUMBER_BITS 16 /* low bits of the word in a file */

_Static_assert(HV_REGION_NR_FILTERS <= 1 << NUMBER_BITS, "number of a program");
_Static_assert(HV_REGION_NR_EVENTS < UINT16_MAX, "index of a file");
_Static_assert(sizeof(struct hv_filter_step) % sizeof(uint64_t) == 0, "words of a step");

/* Returns the number of the program with the owner OF, or HV_REGION_NR_FILTERS. */
static unsigned find_filter(const struct hv_trampoline_filters *s, unsigned of)
{
	unsigned number = 0;

	while (number < HV_REGION_NR_FILTERS && s->owners[number] != of)
		number++;
	return number;
}

/* A trampoline may be executing these steps. It reads each field in its old or new state; both lead
 * forward in the program. */
static void write_filter(struct hv_filter_step *to, const struct hv_filter_step *from)
{
	uint64_t word;

	for (size_t i = 0; i < HV_FILTER_STEPS_MAX * sizeof(*to) / sizeof(word); i++) {
		memcpy(&word, (const uint64_t *)from + i, sizeof(word));
		__atomic_store_n((uint64_t *)to + i, word, __ATOMIC_RELAXED);
	}
}

void hv_trampoline_filters_set(struct hv_trampoline_filters *s, const struct hv_region *r,
			       unsigned index, const struct hv_trampoline_filter *filter)
{
	uint64_t *word = &hv_region_event_file(r, index)->filter;
	unsigned number = find_filter(s, index + 1);
	bool has_one = number < HV_REGION_NR_FILTERS;
	struct hv_filter_step *steps;

	if (!has_one && (!filter || !filter->nr))
		return;
	if (!has_one)
		number = find_filter(s, 0);
	if (number == HV_REGION_NR_FILTERS)
		return;
	steps = hv_region_filter(r, number);
	if (has_one && filter && *word && memcmp(steps, filter->steps, sizeof(filter->steps)) == 0)
		return;
	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* clear the word before the steps change */
	s->owners[number] = filter && filter->nr ? (uint16_t)(index + 1) : 0;
	if (!s->owners[number])
		return;
	write_filter(steps, filter->steps);
	__atomic_store_n(word, ++s->nr_changes << NUMBER_BITS | number, __ATOMIC_RELEASE);
}

/* -- programs that read memory ----------------------------------------------------------------- */

#define READS (UINT64_C(1) << HV_EVENT_FILE_READS_BIT)

_Static_assert(HV_REGION_NR_EVENTS < UINT16_MAX, "index of a file");
_Static_assert(HV_REGION_NR_READS > 1, "room for a change");
_Static_assert(HV_REGION_NR_READS < UINT8_MAX, "number of an entry + 1");

static bool has_steps(const struct hv_fetch_step *now, const struct hv_trampoline_program *program)
{
	return memcmp(now, program->steps, sizeof(program->steps)) == 0;
}

/* Returns the entry whose program is PROGRAM, or a free one, or HV_REGION_NR_READS. */
static unsigned find_program(const struct hv_trampoline_programs *s, const struct hv_region *r,
			     const struct hv_trampoline_program *program)
{
	for (unsigned i = 0; i < HV_REGION_NR_READS; i++)
		if (s->nr_users[i] && has_steps(hv_region_reads(r, i), program))
			return i;
	for (unsigned i = 0; i < HV_REGION_NR_READS; i++) {
		unsigned bank = (s->next + i) % HV_REGION_NR_READS;

		if (!s->nr_users[bank])
			return bank;
	}
	return HV_REGION_NR_READS;
}

/* Steps after the last one are 0, which ends the program. */
static void write_program(struct hv_fetch_step *to, const struct hv_trampoline_program *from)
{
	memset(to, 0, HV_FETCH_STEPS_MAX * sizeof(*to));
	memcpy(to, from->steps, from->nr * sizeof(*to));
}

/* Gives the file INDEX the program in entry BANK. */
static void use(struct hv_trampoline_programs *s, const struct hv_region *r, unsigned index,
		unsigned bank, const struct hv_trampoline_program *program)
{
	if (!s->nr_users[bank]) {
		s->next = (bank + 1) % HV_REGION_NR_READS;
		write_program(hv_region_reads(r, bank), program);
	}
	s->nr_users[bank]++;
	s->banks[index] = (uint8_t)(bank + 1);
	__atomic_store_n(&hv_region_event_file(r, index)->filter, READS | bank, __ATOMIC_RELEASE);
}

void hv_trampoline_programs_set(struct hv_trampoline_programs *s, const struct hv_region *r,
				unsigned index, const struct hv_trampoline_program *program)
{
	uint64_t *word = &hv_region_event_file(r, index)->filter;
	unsigned has_one = s->banks[index], now = has_one - 1, bank = HV_REGION_NR_READS;

	if (!has_one && (!program || !program->nr))
		return;
	if (has_one && program && *word == (READS | now) &&
	    has_steps(hv_region_reads(r, now), program))
		return;
	if (program && program->nr)
		bank = find_program(s, r, program);
	if (has_one)
		s->nr_users[now]--;
	s->banks[index] = 0;
	if (bank == HV_REGION_NR_READS)
		__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	else
		use(s, r, index, bank, program);
}

/* -- words of event files ---------------------------------------------------------------------- */

void hv_event_words_set_program(struct hv_event_words *w, const struct hv_region *r, unsigned index,
				const struct hv_trampoline_program *program)
{
	hv_trampoline_programs_set(&w->programs, r, index, program);
}

void hv_event_words_set_filter(struct hv_event_words *w, const struct hv_region *r, unsigned index,
			       const struct hv_trampoline_filter *filter)
{
	hv_trampoline_filters_set(&w->filters, r, index, filter);
}

void hv_event_words_clear(struct hv_event_words *w, const struct hv_region *r, unsigned index)
{
	hv_event_words_set_program(w, r, index, NULL);
	hv_event_words_set_filter(w, r, index, NULL);
}

/* A file has one word, for a filter or a program. */
void hv_event_words_set(struct hv_event_words *w, const struct hv_region *r,
			const struct hv_event_file_word *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!list[i].program)
			hv_event_words_set_program(w, r, list[i].index, NULL);
	for (size_t i = 0; i < nr; i++) {
		const struct hv_event_file_word *word = &list[i];

		hv_event_words_set_filter(w, r, word->index, word->program ? NULL : word->filter);
		hv_event_words_set_program(w, r, word->index, word->program);
	}
}
