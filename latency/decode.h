/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes trace events of the guest and the host into struct hv_moment. Defines the events that
 * the analysers need and the fields that they use.
 *
 * The guest supplies the event formats; events that lack a field are skipped. export/page_decode.h
 * decodes the pages, and sched.h follows which groups are throttled. Pure. */
#pragma once

#include "base/text.h"
#include "export/page_decode.h"
#include "kernel/events/catalogue.h"
#include "latency/sched.h"
#include "latency/stall.h"
#include "tracer/events/event.h"

struct hv_exit_names;

#define HV_WANTED_FIELDS 9
#define HV_WANTED_HOST	 "host" /* the system of the host's events */

struct hv_wanted_event {
	const char *system, *name;
	enum hv_moment_kind kind;
	const char *fields[HV_WANTED_FIELDS]; /* indexed by the enum in decode.c; NULL: unused */
	const char *stack; /* trigger that records a stack with the event, or NULL */
};

static inline bool hv_wanted_event_is_hosts(const struct hv_wanted_event *w)
{
	return hv_moment_is_hosts(w->kind);
}

extern const struct hv_wanted_event hv_wanted_events[];
extern const size_t hv_nr_wanted_events;

struct hv_moments {
	const struct hv_page_decode *decode; /* borrowed */
	uint8_t *by_id; /* owned; by event id (65536): index in hv_wanted_events plus 1 */
	const struct hv_event_field *(*fields)[HV_WANTED_FIELDS]; /* owned */
};

/* D must have read the formats, and must not move. */
void hv_moments_init(struct hv_moments *m, const struct hv_page_decode *d);
void hv_moments_deinit(struct hv_moments *m);
/* Decodes E. Returns false if it is not a wanted event, or is shorter than its format. */
bool hv_moments_decode(const struct hv_moments *m, const struct hv_event *e, struct hv_moment *ret);

/* -- names of exit reasons --------------------------------------------------------------------- */

/* Names of exit reasons, such as "cpuid" or "IO_INSTRUCTION". They come from the text of the host
 * kernel's kvm_exit event, so hvtrace needs no table. */

/* C is borrowed. It may lack the event. */
struct hv_exit_names *hv_exit_names_new(const struct hv_catalogue *c);
void hv_exit_names_free(struct hv_exit_names *n);
/* Adds the name of the reason of the kvm_exit event E, or its number if it has no name. */
void hv_exit_names_add(const struct hv_exit_names *n, const struct hv_event *e, uint64_t reason,
		       struct hv_text *out);

/* -- samples of programs ----------------------------------------------------------------------- */

/* A probe of the timer tick with the program's stack, which `hvtrace profile` records, too
 * (profile/profile.h). */
#define HV_SAMPLE_SYSTEM "hvtrace"
#define HV_SAMPLE_EVENT	 "sample"
#define HV_SAMPLE_STACK	 "stack"

/* -- throttled cgroups ------------------------------------------------------------------------- */

/* Reads the event fields that describe a throttled cgroup: path, quota and period. The event is a
 * kprobe on throttle_cfs_rq(). The guest's kernel fills in the fields, so they are untrusted. */

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
