/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of the guest's event types, the words of set_event, and the forms of fields. A type is
 * identified by the address of its struct trace_event_call and by its id: when a module is removed,
 * the kernel can reuse the id. kernel/events/catalogue.h describes types. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_event_type;

struct hv_event_ref {
	uint64_t call; /* address of the type's struct trace_event_call */
	uint32_t id;
};

struct hv_event_ref hv_event_ref_of(const struct hv_event_type *type);
static inline bool hv_event_ref_is_same(struct hv_event_ref a, struct hv_event_ref b)
{
	return a.call == b.call && a.id == b.id;
}

/* Zero-initialised is empty. */
struct hv_event_set {
	struct hv_event_ref *list; /* owned, sorted by id, without duplicate ids */
	size_t nr;
};

void hv_event_set_deinit(struct hv_event_set *s);
struct hv_event_set hv_event_set_dup(const struct hv_event_set *s);
/* Adds REF. Replaces another type that has the same id. */
void hv_event_set_add(struct hv_event_set *s, struct hv_event_ref ref);
void hv_event_set_remove(struct hv_event_set *s, struct hv_event_ref ref);
bool hv_event_set_has(const struct hv_event_set *s, struct hv_event_ref ref);
bool hv_event_set_is_same(const struct hv_event_set *a, const struct hv_event_set *b);
bool hv_event_set_has_id(const struct hv_event_set *s, uint32_t id);

/* -- words of set_event ------------------------------------------------------------------------ */

/* A word of set_event, which selects event types:
 *
 *   SYSTEM:EVENT   "*" or an empty string in place of either means all
 *   NAME           all events of system NAME, and events called NAME in all systems
 *   ...:mod:MODULE restricts these to the events of MODULE; "*" or no NAME means all
 *
 * No other wildcards exist (ftrace_set_clr_event). */

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

/* -- forms of fields --------------------------------------------------------------------------- */

/* Classifies a field of a guest event by its C type, as the kernel does (filter_assign_type).
 * Pseudo-fields, which are not part of a record, are not covered. */

enum hv_field_form {
	HV_FIELD_NUMBER,
	HV_FIELD_ARRAY,	   /* string stored in the field */
	HV_FIELD_DYNAMIC,  /* string that a __data_loc field refers to */
	HV_FIELD_RELATIVE, /* string that a __rel_loc field refers to */
	HV_FIELD_POINTER,  /* string in guest memory that the field points to */
	HV_FIELD_CPUMASK,  /* cpumask_t that a __data_loc field refers to */
};

enum hv_field_form hv_field_form_of(const char *type);
