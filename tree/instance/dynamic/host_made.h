/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers for event types that users define and the host makes: probes (kprobes.h, eprobes.h) and
 * synthetic events (synths.h); and preparation that all host-made events need. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "tree/settings/event_set.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instance;
struct hv_instances;
struct hv_part;

extern const struct hv_part hv_host_made_part;

/* Returns the highest id that no type of C uses, or 0. The guest assigns ids in ascending order. */
uint32_t hv_host_made_free_id(const struct hv_catalogue *c);
/* ENOSPC: the types of C use all ids. */
struct hv_err *hv_host_made_check_id(const struct hv_catalogue *c) hv_must_use;
/* Notes that IN's buffer may contain events of REF, defined by users or enabled by triggers,
 * because REF is enabled now. */
void hv_host_made_note_enabled(struct hv_instance *in, struct hv_event_ref ref);
/* Call it before TYPE is removed. Removes its filters, and all events of the instances that
 * recorded it: without the type they cannot be shown, and another type may get the id
 * (tracing_reset_all_online_cpus()). */
void hv_host_made_remove(struct hv_instances *all, const struct hv_event_type *type);
/* Prepares events of TYPE, a type in C, before IN can have triggers for them or commands that
 * switch them. EOPNOTSUPP: TYPE does not support these. */
struct hv_err *hv_host_made_need(struct hv_instance *in, const struct hv_catalogue *c,
				 const struct hv_event_type *type) hv_must_use;
