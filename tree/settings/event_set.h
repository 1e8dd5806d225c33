/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of the guest's own events, by their types. A type is known by the address of its struct
 * trace_event_call and by its id: a module that goes takes both with it, and the id may be given
 * again.
 * Leaves to others: what the types are (kernel/events/catalogue.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_event_type;

struct hv_event_ref {
	uint64_t call; /* address of its struct trace_event_call */
	uint32_t id;
};

struct hv_event_ref hv_event_ref_of(const struct hv_event_type *type);
static inline bool hv_event_ref_is_same(struct hv_event_ref a, struct hv_event_ref b)
{
	return a.call == b.call && a.id == b.id;
}

/* Zero-initialised is empty. */
struct hv_event_set {
	struct hv_event_ref *list; /* owned, sorted by id; of each id at most one */
	size_t nr;
};

void hv_event_set_deinit(struct hv_event_set *s);
struct hv_event_set hv_event_set_dup(const struct hv_event_set *s);
/* Adds REF, in place of another type with this id. */
void hv_event_set_add(struct hv_event_set *s, struct hv_event_ref ref);
void hv_event_set_remove(struct hv_event_set *s, struct hv_event_ref ref);
bool hv_event_set_has(const struct hv_event_set *s, struct hv_event_ref ref);
bool hv_event_set_is_same(const struct hv_event_set *a, const struct hv_event_set *b);
bool hv_event_set_has_id(const struct hv_event_set *s, uint32_t id);
