/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What types of events have in common that users define and the host makes: probes (kprobes.h) and
 * synthetic events (synths.h), and what all events need that the host makes. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instance;
struct hv_instances;

/* The highest id that no type of C has; 0: there is none. The guest gives ids upwards. */
uint32_t hv_host_made_free_id(const struct hv_catalogue *c);
/* To be called before TYPE is removed: removes its filters, and all events of the instances that
 * have recorded it (hv_instance.probed). Without its type they cannot be shown, and another type
 * may get its id (tracing_reset_all_online_cpus()). */
void hv_host_made_remove(struct hv_instances *all, const struct hv_event_type *type);
/* Makes what events of TYPE, one of C, need before IN can have triggers of them, or commands that
 * switch them. EOPNOTSUPP: the type cannot have any. */
struct hv_err *hv_host_made_need(struct hv_instance *in, const struct hv_catalogue *c,
				 const struct hv_event_type *type) hv_must_use;
