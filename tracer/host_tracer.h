/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the host's kernel that concern the threads of the guest's VMM (docs/users/events.md).
 *
 * Their types are in the catalogue as events/host/. While any of them is enabled, this module reads
 * them from the host's tracing, converts their times to the guest's clock, and queues them. The
 * drain merges them with the guest's events. While none is enabled, the host records nothing.
 *
 * vmm/hosttrace/ records the events, tree/instance/events/match.h selects instances,
 * tree/instance/core/drain.h merges. One thread. */
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

/* Adds the types to TYPES if this host and this guest support them. Borrows all arguments. */
struct hv_host_tracer *hv_host_tracer_new(struct hv_guest *guest, struct hv_clocks *clocks,
					  struct hv_event_types *types, unsigned nr_cpus);
/* Stops recording on the host. */
void hv_host_tracer_free(struct hv_host_tracer *t);

/* Returns why host events are unavailable, or NULL. */
const struct hv_err *hv_host_tracer_why_not(const struct hv_host_tracer *t);

/* Makes the host record exactly the events in MASK, one bit per id from HV_HOST_ID_FIRST on, for
 * the present threads of the VMM. 0: none. On errors none is recorded. */
struct hv_err *hv_host_tracer_set(struct hv_host_tracer *t, uint32_t mask) hv_must_use;
static inline uint32_t hv_host_event_bit(uint32_t id)
{
	return UINT32_C(1) << (id - HV_HOST_ID_FIRST);
}
/* Returns whether events are being recorded or queued. */
bool hv_host_tracer_has_any(const struct hv_host_tracer *t);

struct hv_host_item {
	struct hv_event event; /* its entry is valid until the next call */
	struct hv_record records[HV_HOST_RECORDS_MAX];
	unsigned nr_records;
};
/* Takes the oldest event before UNTIL_NS on the guest's clock. Reads from the host first, unless
 * all events before UNTIL_NS were already read. */
bool hv_host_tracer_next(struct hv_host_tracer *t, uint64_t until_ns, struct hv_host_item *ret);
/* Returns the guest's time up to which the records of the guest are complete, which is shortly
 * before now. */
uint64_t hv_host_tracer_settled_ns(const struct hv_host_tracer *t);
