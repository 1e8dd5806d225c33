/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes of events that dynamic_events has defined. All instances share them, as the types of
 * the guest's own events, among which each has a type (tracer/event_types.h). While an instance has
 * one on, or has triggers for it, the guest records the event that is probed, and the host makes of
 * it the event of the probe, for that instance. So it takes the guest's rings then (demux.h).
 * Leaves to others: the words of a definition (tree/settings/eprobe.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "ringbuf/abi.h"
#include "tracer/events/event.h"
#include "tracer/stub_programs.h"
#include "tree/settings/eprobe.h"

struct hv_eprobe_event;
struct hv_instance;
struct hv_instances;
struct hv_part;

/* At most so many at a time. */
#define HV_EPROBES_MAX 256

struct hv_eprobes {
	struct hv_eprobe_event **list; /* owned, as what it points to; the oldest first */
	size_t nr;
	uint64_t nr_made; /* ever */
};

extern const struct hv_part hv_eprobes_part;

/* Defines a probe by the NR words of a command. *RET_FAULT, *RET_FILTER and *RET_FILTER_TEXT as
 * hv_eprobe_parse() sets them. EEXIST: there is an event of that name; EOPNOTSUPP: what the kernel
 * can and this cannot; EINVAL and others as the kernel's. */
struct hv_err *hv_eprobes_define(struct hv_instances *all, char *const *words, size_t nr,
				 struct hv_kprobe_fault *ret_fault,
				 struct hv_filter_fault *ret_filter,
				 char **ret_filter_text) hv_must_use;
/* Removes those of the name NAME, [GRP/]NAME, that have the event and the first arguments that the
 * NR_HEAD words say. Instances that have recorded one lose all their events. ENOENT: none; EBUSY:
 * one is used; those before it are removed. */
struct hv_err *hv_eprobes_remove(struct hv_instances *all, const char *name, char *const *head,
				 size_t nr_head) hv_must_use;
/* Removes all. EBUSY: one is used; then all stay. */
struct hv_err *hv_eprobes_clear(struct hv_instances *all) hv_must_use;
/* Adds their lines in dynamic_events. */
void hv_eprobes_text(const struct hv_instances *all, struct hv_text *ret);

/* Whether TYPE is that of a probe of an event. */
bool hv_eprobes_is(const struct hv_event_type *type);
/* Whether there is a probe of REF. */
bool hv_eprobes_have(const struct hv_instances *all, struct hv_event_ref ref);
/* The type of C that TYPE probes. NULL: TYPE is no probe of an event, or C has it no more. */
const struct hv_event_type *hv_eprobes_probed(const struct hv_instances *all,
					      const struct hv_catalogue *c,
					      const struct hv_event_type *type);
/* Modules were loaded or removed: what probes events that C does not have records nothing more. */
void hv_eprobes_forget(struct hv_instances *all, const struct hv_catalogue *c);

/* Sets *RET, with NR 0, to what the guest reads of memory when it records TYPE of C, for the probes
 * of TYPE, and of system calls that are made of it, that any instance needs. ENOSPC: that is too
 * much.
 */
struct hv_err *hv_eprobes_program(const struct hv_instances *all, const struct hv_catalogue *c,
				  const struct hv_event_type *type,
				  struct hv_stub_program *ret) hv_must_use;

/* Of EVENT makes the event *RET of the INDEXth probe, where and when EVENT was; its entry is in
 * ENTRY, of HV_ENTRY_LEN_MAX bytes. False: the probe is another event's, or its filter leaves EVENT
 * out, or IN has no use for it. */
bool hv_eprobes_event(const struct hv_instance *in, size_t index, const struct hv_event *event,
		      struct hv_event *ret, uint8_t *entry);
