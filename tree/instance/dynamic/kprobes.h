/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes that kprobe_events has defined, at the entries of functions, inside them and of their
 * returns. All
 * instances share them, as the types of the guest's own events, among which each has a type
 * (tracer/event_types.h). While an instance has one on, the guest records the registers of each
 * call of its function, or of each return (tracer/actions.h), and the host makes of these the
 * event, in the form in which the kernel's own probe would have recorded it. So it takes the
 * guest's rings then (demux.h). Leaves to others: the words of a definition
 * (tree/settings/kprobe.h), which instances have an event on (events.h). */
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
struct hv_probe_place;
struct hv_instance;
struct hv_instances;
struct hv_kernel;
struct hv_part;
struct hv_kprobe_event;
struct hv_kprobe_fault;
struct hv_guest_marks;

/* At most so many at a time. */
#define HV_KPROBES_MAX 1024

struct hv_kprobes {
	struct hv_kprobe_event **list; /* owned, as what it points to; the oldest first */
	size_t nr;
	uint64_t nr_made;	      /* ever */
	struct hv_guest_marks *marks; /* owned; NULL: nobody has asked for one */
};

extern const struct hv_part hv_kprobes_part;

/* Whether the guest's own probes know typecasts: their parser keeps a stack of what is in what. */
bool hv_kprobes_have_casts(const struct hv_kernel *k);
/* Whether the guest's own probes look for their function before they parse arguments, as kernels do
 * that count the functions of a name. Such kernels also refuse too many arguments. */
bool hv_kprobes_ask_first(const struct hv_kernel *k);

/* A file that defines and shows probes. */
enum hv_kprobe_file {
	HV_KPROBE_EVENTS, /* without fprobes */
	HV_DYNAMIC_EVENTS,
};

/* Defines a probe by the NR words of a command of FILE. *RET_FAULT as hv_kprobe_parse() sets it. A
 * probe with the name and the arguments of others is one more place of their event, and on if that
 * is. EEXIST: there is another event of that name, or the same probe; ENOENT: no function of that
 * name; EOPNOTSUPP: what the kernel can and this cannot; EINVAL and others as the kernel's. WORDS
 * and *RET_MEANT as hv_kprobe_parse() changes and sets them. */
struct hv_err *hv_kprobes_define(struct hv_instances *all, char **words, size_t nr,
				 enum hv_kprobe_file file, struct hv_kprobe_fault *ret_fault,
				 char **ret_meant) hv_must_use;
/* Removes those of FILE and the name NAME, [GRP/]NAME, that have the function and the first
 * arguments that the NR_HEAD words say. With the last probe of an event, instances that have
 * recorded it lose all their events, as in the kernel. ENOENT: none; EBUSY: an event is on and
 * would have no probe any more; those before it are removed. */
struct hv_err *hv_kprobes_remove(struct hv_instances *all, const char *name, char *const *head,
				 size_t nr_head, enum hv_kprobe_file file) hv_must_use;
/* Removes all of FILE. EBUSY: one is on; then all stay. */
struct hv_err *hv_kprobes_clear(struct hv_instances *all, enum hv_kprobe_file file) hv_must_use;

/* After modules came or went: a probe whose function is gone records nothing, also when another
 * function comes to its address. Returns whether any has changed; the instances that have it on
 * must be traced again. */
unsigned hv_kprobes_renew(struct hv_instances *all);

/* Switches the events of return probes off in IN, and forgets their triggers. Returns whether any
 * was on or had triggers; then IN must be traced again. */
unsigned hv_kprobes_end_returns(struct hv_instance *in);

/* Adds the lines of FILE, and of kprobe_profile. */
void hv_kprobes_text(const struct hv_instances *all, enum hv_kprobe_file file, struct hv_text *ret);
void hv_kprobes_profile(const struct hv_instances *all, struct hv_text *ret);

/* Whether TYPE is that of a probe. */
bool hv_kprobes_is(const struct hv_event_type *type);
/* Where a probe is. */
struct hv_kprobe_site {
	struct hv_gva at;
	bool is_return;
	bool needs_all_regs;
	bool needs_args;		    /* of the call, when it returns */
	const struct hv_probe_place *place; /* inside a function; NULL: its entry */
};
/* The function of the next probe that the guest must record for IN, from *INDEX on, which is moved
 * behind it. False: there is none. */
bool hv_kprobes_needed_site(const struct hv_instance *in, size_t *index,
			    struct hv_kprobe_site *ret);
/* Likewise: the next tracepoint that has to call a function for the event ID; NULL: there is none.
 * Borrowed until its probe is removed. */
const struct hv_event_type *hv_kprobes_tracepoint(const struct hv_instances *all, uint32_t id,
						  size_t *index);
bool hv_kprobes_have_tracepoints(const struct hv_instances *all);
/* Adds to the program RET, of HV_FETCH_STEPS_MAX steps of which *NR are there, what reads for the
 * probes at SITE that are on: for those of returns, or the others. ENOSPC: it would be too long. */
struct hv_err *hv_kprobes_program(const struct hv_instances *all, struct hv_gva site,
				  bool is_return, struct hv_fetch_step *ret,
				  size_t *nr) hv_must_use;
/* Why TYPE, that of a probe which was switched on or has got triggers, is not recorded. NULL: it
 * is.
 */
struct hv_err *hv_kprobes_why_not(const struct hv_instances *all,
				  const struct hv_event_type *type) hv_must_use;

/* Afterwards: why REF is not recorded, if it is that of a probe. NULL: it is, or it is no probe. */
struct hv_err *hv_kprobes_check(const struct hv_instances *all,
				struct hv_event_ref ref) hv_must_use;

/* Whether EVENT is a call, or a return, that was recorded for probes. */
bool hv_kprobes_is_call(const struct hv_event *event);
/* Of CALL, such an event, makes the event *RET of the INDEXth probe; its entry is in ENTRY, of
 * HV_ENTRY_LEN_MAX bytes. False: the probe is another function's. */
bool hv_kprobes_event(const struct hv_instances *all, size_t index, const struct hv_event *call,
		      struct hv_event *ret, uint8_t *entry);
/* Counts CALL, such an event, as a hit of each of its probes that any instance has on. */
void hv_kprobes_count(struct hv_instances *all, const struct hv_event *call);
