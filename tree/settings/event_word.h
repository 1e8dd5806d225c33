/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A word of set_event: which event types it names.
 *
 *   SYSTEM:EVENT   "*", or nothing, in place of either means all
 *   NAME           the system of that name, and the events of that name in all systems
 *   ...:mod:MODULE of these, the events of that module; in place of NAME, "*" or nothing means all
 *
 * There are no other wildcards (ftrace_set_clr_event). Pure. */
#pragma once

#include <stdbool.h>

/* Pointers are into the word that was parsed; NULL means all. */
struct hv_event_word {
	bool is_not;	    /* the word began with '!': the types are switched off */
	const char *system; /* with EVENT */
	const char *event;
	const char *either; /* a system or an event */
	const char *module;
};

/* Changes WORD, into which the result points. */
struct hv_event_word hv_event_word_parse(char *word);
/* MODULE NULL: the event is of the core kernel. */
bool hv_event_word_matches(const struct hv_event_word *w, const char *system, const char *event,
			   const char *module);
