/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the host's kernel that concern the threads of the guest's VMM (docs/users/events.md):
 * their types are in the catalogue as events/host/, and while some are on, they are read from the
 * host's tracing and wait here, in the order of the guest's clock, for the drain to take them to
 * their place between the guest's own. While none is on, nothing of the host records and nothing is
 * read. Leaves to others: what records them (vmm/hosttrace/), which instance wants them
 * (tree/instance/events/host_events.h), the place (tree/instance/core/drain.h). One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/events/host_event.h"

struct hv_clocks;
struct hv_event_types;
struct hv_guest;
struct hv_host_tracer;

#define HV_HOST_SYSTEM "host"

/* Adds the types to TYPES, if this host and this guest can have them. All are borrowed. */
struct hv_host_tracer *hv_host_tracer_new(struct hv_guest *guest, struct hv_clocks *clocks,
					  struct hv_event_types *types, unsigned nr_cpus);
/* Ends what the host records. */
void hv_host_tracer_free(struct hv_host_tracer *t);

/* Why there are no events of the host. NULL: there are. */
const struct hv_err *hv_host_tracer_why_not(const struct hv_host_tracer *t);

/* From now on the host records the events of MASK, a bit for each id from HV_HOST_ID_FIRST on, of
 * the threads that are the VMM's now. 0: none. On errors none is recorded. */
struct hv_err *hv_host_tracer_set(struct hv_host_tracer *t, uint32_t mask) hv_must_use;
static inline uint32_t hv_host_event_bit(uint32_t id)
{
	return UINT32_C(1) << (id - HV_HOST_ID_FIRST);
}
/* Whether events are recorded, or some wait here. */
bool hv_host_tracer_has_any(const struct hv_host_tracer *t);

struct hv_host_item {
	struct hv_event event; /* its entry is valid until the next call */
	struct hv_record records[HV_HOST_RECORDS_MAX];
	unsigned nr_records;
};
/* Takes the oldest event that is before UNTIL_NS of the guest's clock. Reads from the host before,
 * unless it did so after UNTIL_NS. */
bool hv_host_tracer_next(struct hv_host_tracer *t, uint64_t until_ns, struct hv_host_item *ret);
/* Returns the time, on the guest's clock, before which records of the guest are complete: a little
 * before now. */
uint64_t hv_host_tracer_settled_ns(const struct hv_host_tracer *t);
