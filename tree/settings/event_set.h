/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of the guest's event types. A type is identified by the address of its struct
 * trace_event_call and by its id: when a module is removed, the kernel can reuse the id.
 * kernel/events/catalogue.h describes types. Pure. */
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
