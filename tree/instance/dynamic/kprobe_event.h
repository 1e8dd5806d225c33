/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function probe and its event, shared by the files that implement kprobes.h (kprobes.c,
 * kprobe_calls.c). */
#pragma once

#include "kernel/events/catalogue.h"
#include "kernel/code/probe_site.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/settings/kprobe.h"

struct hv_session;

/* The event of one probe, or of several probes with the same arguments. */
struct hv_kprobe_family {
	size_t nr_probes;
	char *group, *name;	   /* owned */
	struct hv_event_type type; /* in the catalogue; its fields and strings are owned here */
	struct hv_text print_fmt;
	uint32_t args_off; /* in an entry; the probe's addresses come first */
};

struct hv_kprobe_event {
	struct hv_kprobe is;
	struct hv_gva site;		 /* 0: its module is not loaded */
	struct hv_probe_site probe_site; /* for a probe inside a function, at SITE */
	/* For a probe on a tracepoint: the tracepoint and the function that it calls. Borrows
	 * strings of IS, and MODULE. */
	struct hv_event_type tracepoint;
	char *module;			 /* owned; the tracepoint's module; NULL: the core kernel */
	struct hv_kprobe_family *family; /* shared */
	uint64_t nr_hits;
	uint64_t missed_before; /* the function's missed calls at definition */
};

struct hv_kprobes {
	struct hv_kprobe_event **list; /* owned, including the elements; oldest first */
	size_t nr;
	uint64_t nr_made;	      /* including removed ones */
	struct hv_guest_marks *marks; /* owned; NULL: no probe uses marks */
};

static inline struct hv_kprobes *hv_kprobes_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_KPROBES);
}

/* Returns whether any instance has E's event enabled. */
bool hv_kprobe_event_is_on(const struct hv_instances *all, const struct hv_kprobe_event *e);
/* Resolves the symbols in K. ENOENT: a symbol does not exist; EOPNOTSUPP, ENOSPC: K reads memory,
 * which is not possible. */
struct hv_err *hv_kprobe_find_memory(const struct hv_session *s, struct hv_kprobe *k) hv_must_use;
