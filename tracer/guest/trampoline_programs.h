/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that the commit trampoline executes for an event: it discards the event with a filter,
 * or reads memory for it. An event has at most one of the two. Allocates them in the region, and
 * sets the word in the event's file that leads to its program.
 *
 * event_tracer.h decides which events are on; plug.h owns the files. One thread. */
#pragma once

#include <stddef.h>

#include "patcher/region.h"

/* -- programs that read memory ----------------------------------------------------------------- */

/* Programs that read memory for an event's probes. The trampoline records the results after the
 * entry (struct hv_fetch_step in ringbuf/abi.h).
 *
 * An event's program can change at any time, even while vCPUs execute the old one: the old one
 * stays unchanged until its entry has been free for longer than all others. So nothing needs to
 * stop for a change. Events recorded during the change have the results of the old or the new
 * program. Events with the same program share an entry.
 *
 * tree/settings/kprobe.h defines the reads, tree/instance/dynamic/eprobes.h lists the probes. */

/* A program. NR 0: none. Steps after the last one are 0. */
struct hv_trampoline_program {
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	size_t nr;
};

/* Maximum number of different programs; one entry stays free for changes. */
#define HV_TRAMPOLINE_PROGRAMS_MAX (HV_REGION_NR_READS - 1)

/* Use of the programs in the region. Zero-initialised: none is used. */
struct hv_trampoline_programs {
	uint16_t nr_users[HV_REGION_NR_READS]; /* number of files that have the program; 0: free */
	uint8_t banks[HV_REGION_NR_EVENTS];    /* each file's entry + 1; 0: none */
	unsigned next;			       /* the entry used longest ago, if it is free */
};

/* Gives the file INDEX the program PROGRAM (NULL: none). Such a file must have no filter
 * (publish.h). Does nothing if the file already has it. If no program is free, the file gets
 * none. */
void hv_trampoline_programs_set(struct hv_trampoline_programs *s, const struct hv_region *r,
				unsigned index, const struct hv_trampoline_program *program);

/* -- filters ----------------------------------------------------------------------------------- */

/* Filter programs discard events before they reach the ring (struct hv_filter_step in
 * ringbuf/abi.h).
 *
 * An event's program can change at any time, even while vCPUs execute the old one: a trampoline
 * discards an event only if the word in the event's file is unchanged afterwards. So nothing needs
 * to stop for a change.
 *
 * Discarded events reach no consumer. So a program passes events that any consumer wants, and the
 * consumers' own filters still check the events that pass. An event without a program works too,
 * but costs more.
 *
 * tree/instance/publish.h chooses the filters, tree/settings/event_filter.h compiles them. */

/* A filter program. NR 0: none. Steps after the last one are 0. */
struct hv_trampoline_filter {
	struct hv_filter_step steps[HV_FILTER_STEPS_MAX];
	unsigned nr;
};

/* Use of the filter programs in the region. Zero-initialised: none is used. */
struct hv_trampoline_filters {
	uint64_t nr_changes;		       /* of all files */
	uint16_t owners[HV_REGION_NR_FILTERS]; /* index of the file + 1; 0: free */
};

/* Gives the file INDEX the program FILTER (NULL: none). If all programs are used, the file gets
 * none. Does nothing if the file already has it. */
void hv_trampoline_filters_set(struct hv_trampoline_filters *s, const struct hv_region *r,
			       unsigned index, const struct hv_trampoline_filter *filter);

/* -- words of event files ---------------------------------------------------------------------- */

/* Zero-initialised: no file has a word. */
struct hv_event_words {
	struct hv_trampoline_filters filters;
	struct hv_trampoline_programs programs;
};

/* The word to set for file INDEX. NULL: none. A file with a program has no filter. Borrowed. */
struct hv_event_file_word {
	unsigned index;
	const struct hv_trampoline_filter *filter;
	const struct hv_trampoline_program *program;
};

/* Sets the words of the files in LIST. Removes programs first to make room for new ones. If there
 * is still no room for one, its file gets none. */
void hv_event_words_set(struct hv_event_words *w, const struct hv_region *r,
			const struct hv_event_file_word *list, size_t nr);
/* Set only the program or only the filter. */
void hv_event_words_set_program(struct hv_event_words *w, const struct hv_region *r, unsigned index,
				const struct hv_trampoline_program *program);
void hv_event_words_set_filter(struct hv_event_words *w, const struct hv_region *r, unsigned index,
			       const struct hv_trampoline_filter *filter);
/* Clears both. */
void hv_event_words_clear(struct hv_event_words *w, const struct hv_region *r, unsigned index);
