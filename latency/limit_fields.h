/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of the probe at throttle_cfs_rq() that describe the cgroup: its path, quota and
 * period. The guest's kernel fills them in, so they are hostile.
 * Leaves to others: which groups are throttled (limits.h). */
#pragma once

#include "kernel/events/catalogue.h"
#include "latency/limits.h"
#include "tracer/events/event.h"

/* Own events of hvtrace, of probes that `hvtrace latency` defines. */
#define HV_LIMIT_SYSTEM	 "hvtrace"
#define HV_LIMIT_EVENT	 "throttle"
#define HV_UNLIMIT_EVENT "unthrottle"
#define HV_LIMIT_NAMES	 8   /* of the group and its parents, the group's own first */
#define HV_LIMIT_NAME	 "n" /* and the number */
#define HV_LIMIT_QUOTA	 "quota"
#define HV_LIMIT_PERIOD	 "period"

/* Of a catalogue without the event all are NULL. */
struct hv_limit_fields {
	const struct hv_event_field *names[HV_LIMIT_NAMES], *quota, *period;
};

/* C outlives F. */
void hv_limit_fields_init(struct hv_limit_fields *f, const struct hv_catalogue *c);
/* Describes the group KEY as the event E does. Returns false if E lacks a field. */
bool hv_limit_fields_read(const struct hv_limit_fields *f, const struct hv_event *e, uint64_t key,
			  struct hv_limit_group *ret);
