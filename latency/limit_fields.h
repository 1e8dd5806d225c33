/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the event fields that describe a throttled cgroup: path, quota and period. The event is a
 * kprobe on throttle_cfs_rq(). The guest's kernel fills in the fields, so they are untrusted.
 *
 * limits.h follows which groups are throttled. */
#pragma once

#include "kernel/events/catalogue.h"
#include "latency/limits.h"
#include "tracer/events/event.h"

/* Events of the kprobes that `hvtrace latency` defines. */
#define HV_LIMIT_SYSTEM	 "hvtrace"
#define HV_LIMIT_EVENT	 "throttle"
#define HV_UNLIMIT_EVENT "unthrottle"
#define HV_LIMIT_NAMES	 8   /* path components, from the group up to its ancestors */
#define HV_LIMIT_NAME	 "n" /* prefix of the field names; a number follows */
#define HV_LIMIT_QUOTA	 "quota"
#define HV_LIMIT_PERIOD	 "period"

/* All fields are NULL if the catalogue lacks the event. */
struct hv_limit_fields {
	const struct hv_event_field *names[HV_LIMIT_NAMES], *quota, *period;
};

/* C must outlive F. */
void hv_limit_fields_init(struct hv_limit_fields *f, const struct hv_catalogue *c);
/* Fills in RET from the event E for the group KEY. Returns false if E lacks a field. */
bool hv_limit_fields_read(const struct hv_limit_fields *f, const struct hv_event *e, uint64_t key,
			  struct hv_limit_group *ret);
