/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event probes that dynamic_events defines. All instances share them, and each has an event
 * type (tracer/tracepoints/event_types.h). While an instance has one enabled, or has triggers for
 * it, the guest records the probed event and the host derives the probe's event for that instance.
 * This requires the drain (demux.h). tree/settings/eprobe.h parses definitions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "tracer/events/event.h"
#include "tracer/guest/trampoline_programs.h"
#include "tree/settings/eprobe.h"

struct hv_instance;
struct hv_instances;
struct hv_part;

/* Maximum number of event probes. */
#define HV_EPROBES_MAX 256

extern const struct hv_part hv_eprobes_part;

/* Defines a probe from the NR words of a command. Sets *RET_FAULT, *RET_FILTER and *RET_FILTER_TEXT
 * as hv_eprobe_parse() does. EEXIST: the event name is in use; EOPNOTSUPP: supported by the kernel
 * but not by hvtrace; EINVAL and others as in the kernel. */
struct hv_err *hv_eprobes_define(struct hv_instances *all, char *const *words, size_t nr,
				 struct hv_kprobe_fault *ret_fault,
				 struct hv_filter_fault *ret_filter,
				 char **ret_filter_text) hv_must_use;
/* Removes the probes called NAME ("[GRP/]NAME") with the event and the first arguments that the
 * NR_HEAD words of HEAD name. Instances that recorded one lose all their events. ENOENT: none
 * matches; EBUSY: one is in use, but the probes before it are removed. */
struct hv_err *hv_eprobes_remove(struct hv_instances *all, const char *name, char *const *head,
				 size_t nr_head) hv_must_use;
/* Removes all event probes. EBUSY: one is in use; nothing is removed. */
struct hv_err *hv_eprobes_clear(struct hv_instances *all) hv_must_use;
/* Adds their lines of dynamic_events. */
void hv_eprobes_text(const struct hv_instances *all, struct hv_text *ret);

/* Returns whether TYPE is an event probe's type. */
bool hv_eprobes_is(const struct hv_event_type *type);
size_t hv_eprobes_nr(const struct hv_instances *all);
/* Returns whether an event probe on REF exists. */
bool hv_eprobes_have(const struct hv_instances *all, struct hv_event_ref ref);
/* Returns the type in C that the event probe TYPE probes. NULL: TYPE is not an event probe, or C no
 * longer has the probed type. */
const struct hv_event_type *hv_eprobes_probed(const struct hv_instances *all,
					      const struct hv_catalogue *c,
					      const struct hv_event_type *type);
/* Call it after modules were loaded or removed: probes of events that are no longer in C stop
 * recording. */
void hv_eprobes_forget(struct hv_instances *all, const struct hv_catalogue *c);

/* Sets *RET, whose NR is 0, to the program that reads memory when the guest records TYPE of C, for
 * all event probes and system call events derived from TYPE that any instance needs. ENOSPC: the
 * program is too long. */
struct hv_err *hv_eprobes_program(const struct hv_instances *all, const struct hv_catalogue *c,
				  const struct hv_event_type *type,
				  struct hv_trampoline_program *ret) hv_must_use;

/* Makes event *RET of the INDEXth probe from EVENT, with its time and vCPU. ENTRY, HV_ENTRY_LEN_MAX
 * bytes, receives the entry. Returns false if the probe is for another event, its filter rejects
 * EVENT, or IN does not need it. */
bool hv_eprobes_event(const struct hv_instance *in, size_t index, const struct hv_event *event,
		      struct hv_event *ret, uint8_t *entry);
