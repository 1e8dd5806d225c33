/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A word of set_event, which selects event types:
 *
 *   SYSTEM:EVENT   "*" or an empty string in place of either means all
 *   NAME           all events of system NAME, and events called NAME in all systems
 *   ...:mod:MODULE restricts these to the events of MODULE; "*" or no NAME means all
 *
 * No other wildcards exist (ftrace_set_clr_event). Pure. */
#pragma once

#include <stdbool.h>

/* Pointers point into the parsed word; NULL means all. */
struct hv_event_word {
	bool is_not;	    /* the word begins with '!': disable the types */
	const char *system; /* set together with EVENT */
	const char *event;
	const char *either; /* the name of a system or of an event */
	const char *module;
};

/* Modifies WORD. The result points into it. */
struct hv_event_word hv_event_word_parse(char *word);
/* MODULE NULL: the event belongs to the core kernel. */
bool hv_event_word_matches(const struct hv_event_word *w, const char *system, const char *event,
			   const char *module);
