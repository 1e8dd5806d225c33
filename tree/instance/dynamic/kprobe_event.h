/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe and the event that is made of its calls: what the parts of kprobes.h share (kprobes.c,
 * kprobe_calls.c). */
#pragma once

#include "kernel/events/catalogue.h"
#include "kernel/probe_place.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/settings/kprobe.h"

struct hv_session;

/* The event of one probe, or of several at different places with the same arguments. */
struct hv_kprobe_family {
	size_t nr_probes;
	char *group, *name; /* owned */
	struct hv_event_type
		type; /* of the catalogue; its fields are owned here, with all strings */
	struct hv_text print_fmt;
	uint32_t args_off; /* in an entry; the places of the probe are before them */
};

struct hv_kprobe_event {
	struct hv_kprobe is;
	struct hv_gva site;	     /* 0: its module is not loaded */
	struct hv_probe_place place; /* of a probe inside a function, at SITE */
	/* How its tracepoint calls its function; it borrows the strings of IS, and MODULE. */
	struct hv_event_type tracepoint;
	char *module;			 /* owned; of the tracepoint; NULL: the core kernel's */
	struct hv_kprobe_family *family; /* shared */
	uint64_t nr_hits;
	uint64_t missed_before; /* of its function, when it was defined */
};

/* Whether any instance has the event of E on. */
bool hv_kprobe_event_is_on(const struct hv_instances *all, const struct hv_kprobe_event *e);
/* Finds the addresses of the symbols of K. ENOENT: there is none; EOPNOTSUPP, ENOSPC: K reads
 * memory, which cannot be read. */
struct hv_err *hv_kprobe_find_memory(const struct hv_session *s, struct hv_kprobe *k) hv_must_use;
/* Finds the tracepoint of E in the catalogue C. ENOENT: there is none of the name. */
struct hv_err *hv_kprobe_event_find_tracepoint(const struct hv_catalogue *c,
					       struct hv_kprobe_event *e) hv_must_use;
/* Whether the function of E is in a module that is not loaded: E records once it is. */
bool hv_kprobe_event_waits(const struct hv_session *s, const struct hv_kprobe_event *e);
/* From now on E is at SITE; 0: nowhere. */
void hv_kprobe_event_set_site(const struct hv_instances *all, struct hv_kprobe_event *e,
			      struct hv_gva site);
/* *RET: where E is, of which IS is known; sets PLACE. Errors are those of the definition. */
struct hv_err *hv_kprobe_event_find(const struct hv_session *s, struct hv_kprobe_event *e,
				    struct hv_gva *ret) hv_must_use;
