/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function probes that kprobe_events and dynamic_events define: at entries, inside functions,
 * and at returns. All instances share them, and each has an event type
 * (tracer/tracepoints/event_types.h).
 *
 * While an instance has one enabled, the guest records the registers of each call or return
 * (tracer/guest/actions.h), and the host builds the event as the kernel's own probe would have
 * recorded it. This requires the drain (demux.h). tree/settings/kprobe.h parses definitions;
 * publish.h enables events. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "ringbuf/abi.h"
#include "tracer/events/event.h"
#include "tree/settings/event_set.h"

struct hv_event_type;
struct hv_probe_site;
struct hv_instance;
struct hv_instances;
struct hv_kernel;
struct hv_part;
struct hv_kprobe_fault;

/* Maximum number of function probes. */
#define HV_KPROBES_MAX 1024

extern const struct hv_part hv_kprobes_part;

/* The number of probes. */
size_t hv_kprobes_nr(const struct hv_instances *all);
/* Returns whether the guest's own probes accept typecasts: their parser then keeps a stack of
 * nested expressions. */
bool hv_kprobes_have_casts(const struct hv_kernel *k);
/* Returns whether the guest's own probes look up the function before they parse arguments, as
 * kernels do that count functions of the same name. Such kernels also refuse too many arguments. */
bool hv_kprobes_ask_first(const struct hv_kernel *k);

/* A file that defines and shows probes. */
enum hv_kprobe_file {
	HV_KPROBE_EVENTS, /* without fprobes */
	HV_DYNAMIC_EVENTS,
};

/* Defines a probe from the NR words of a command in FILE. A probe with the name and the arguments
 * of existing probes becomes another address of their event, and is enabled if that is. See
 * hv_kprobe_parse() for WORDS, *RET_FAULT and *RET_MEANT. EEXIST: a different event has this name,
 * or the probe exists; ENOENT: no function of that name; EOPNOTSUPP: supported by the kernel but
 * not by hvtrace; EINVAL and others as in the kernel. */
struct hv_err *hv_kprobes_define(struct hv_instances *all, char **words, size_t nr,
				 enum hv_kprobe_file file, struct hv_kprobe_fault *ret_fault,
				 char **ret_meant) hv_must_use;
/* Removes the probes of FILE called NAME ("[GRP/]NAME") with the function and the first arguments
 * that the NR_HEAD words of HEAD name. When the last probe of an event is removed, instances that
 * recorded it lose all their events, as in the kernel. ENOENT: none matches; EBUSY: an enabled
 * event would lose its last probe, but the probes before it are removed. */
struct hv_err *hv_kprobes_remove(struct hv_instances *all, const char *name, char *const *head,
				 size_t nr_head, enum hv_kprobe_file file) hv_must_use;
/* Removes all probes of FILE. EBUSY: one is enabled; nothing is removed. */
struct hv_err *hv_kprobes_clear(struct hv_instances *all, enum hv_kprobe_file file) hv_must_use;

/* Call it after modules were loaded or removed: a probe whose function is gone stops recording,
 * even if another function gets its address. Returns whether any probe changed; instances with
 * enabled ones must then be published again. */
unsigned hv_kprobes_renew(struct hv_instances *all);

/* Disables the events of return probes in IN, and removes their triggers. Returns whether any was
 * enabled or had triggers; IN must then be published again. */
unsigned hv_kprobes_end_returns(struct hv_instance *in);

/* Add the lines of FILE, and of kprobe_profile. */
void hv_kprobes_text(const struct hv_instances *all, enum hv_kprobe_file file, struct hv_text *ret);
void hv_kprobes_profile(const struct hv_instances *all, struct hv_text *ret);

/* Returns whether TYPE is a function probe's type. */
bool hv_kprobes_is(const struct hv_event_type *type);
/* The location of a probe. */
struct hv_kprobe_site {
	struct hv_gva at;
	bool is_return;
	bool needs_all_regs;
	bool needs_args; /* a return probe that needs the arguments of the call */
	const struct hv_probe_site *probe_site; /* inside a function; NULL: at its entry */
};
/* Finds the next probe, from *INDEX on, that the guest must record for IN. Advances *INDEX. Returns
 * false after the last one. */
bool hv_kprobes_needed_site(const struct hv_instance *in, size_t *index,
			    struct hv_kprobe_site *ret);
/* Like hv_kprobes_needed_site(), for the next tracepoint that must call a function for event ID;
 * NULL after the last one. Borrowed until its probe is removed. */
const struct hv_event_type *hv_kprobes_tracepoint(const struct hv_instances *all, uint32_t id,
						  size_t *index);
bool hv_kprobes_have_tracepoints(const struct hv_instances *all);
/* Appends to RET, which has *NR of HV_FETCH_STEPS_MAX steps, the steps that read memory for the
 * enabled probes of calls at SITE. ENOSPC: too many steps. */
struct hv_err *hv_kprobes_call_program(const struct hv_instances *all, struct hv_gva site,
				       struct hv_fetch_step *ret, size_t *nr) hv_must_use;
/* Like hv_kprobes_call_program(), for probes of returns. */
struct hv_err *hv_kprobes_return_program(const struct hv_instances *all, struct hv_gva site,
					 struct hv_fetch_step *ret, size_t *nr) hv_must_use;
/* Returns why TYPE, a probe's type that was enabled or got triggers, is not recorded. NULL: it is
 * recorded. */
struct hv_err *hv_kprobes_why_not(const struct hv_instances *all,
				  const struct hv_event_type *type) hv_must_use;

/* Like hv_kprobes_why_not(), for REF after publishing. NULL: it is recorded or is not a probe. */
struct hv_err *hv_kprobes_check(const struct hv_instances *all,
				struct hv_event_ref ref) hv_must_use;

/* Returns whether EVENT is a call or return recorded for probes. */
bool hv_kprobes_is_call(const struct hv_event *event);
/* Makes event *RET of the INDEXth probe from CALL, for which hv_kprobes_is_call() is true. ENTRY,
 * HV_ENTRY_LEN_MAX bytes, receives the entry. Returns false if the probe is for another
 * function. */
bool hv_kprobes_event(const struct hv_instances *all, size_t index, const struct hv_event *call,
		      struct hv_event *ret, uint8_t *entry);
/* Returns the results of CALL's program (HV_FETCH_HEAD), in its entry. */
struct hv_span hv_kprobes_results(const struct hv_event *call);
/* Counts CALL, for which hv_kprobes_is_call() is true, as a hit of each of its enabled probes. */
void hv_kprobes_count(struct hv_instances *all, const struct hv_event *call);
