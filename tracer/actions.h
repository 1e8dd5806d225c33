/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What calls of functions do besides being recorded: which functions have actions, and the slots of
 * the stubs by which the guest does them (ringbuf/abi.h).
 * Leaves to others: choosing the actions (tree/), changing sites (site_stubs.h). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "ringbuf/abi.h"

struct hv_actions;
struct hv_probe_place;
struct hv_scope;
struct hv_tracee;

/* What a call of a function does, just before the call is recorded. A counted action is done LEFT
 * times at most; it counts when it changes something. It is not done when LEFT is 0 or less. */
enum hv_action {
	HV_ACTION_ON,
	HV_ACTION_OFF,
	HV_ACTION_ON_COUNTED,
	HV_ACTION_OFF_COUNTED,
	HV_ACTION_STACK, /* records the callers; needs hv_callers_prepare */
	HV_ACTION_STACK_COUNTED,
	HV_ACTION_TELL, /* the host obeys: the drain gets an HV_EVENT_COMMAND, also while recording
			   is off */
	HV_ACTION_TELL_COUNTED,
	HV_ACTION_REGS,	  /* an HV_EVENT_GUESTS of the id HV_EVENT_ID_REGS, before all others */
	HV_ACTION_FETCH,  /* with one of the REGS: it has the results of the program, too */
	HV_ACTION_RETURN, /* when the call returns, likewise of the id HV_EVENT_ID_RETURN. Needs
			     frames (graph_tracer.h) */
	HV_ACTION_RETURN_FETCH,	 /* with HV_ACTION_RETURN: with results of the program's second part
				  */
	HV_ACTION_RETURN_ARGS,	 /* with HV_ACTION_RETURN: with the first arguments of the call, of
				    the id HV_EVENT_ID_RETURN_ARGS */
	HV_ACTION_ALL_REGS = 16, /* instead of HV_ACTION_REGS, of the id HV_EVENT_ID_PLACE: with
				    those registers, too, that are free at a function's entry */
	HV_ACTION_DEEPEST = 17,	 /* records the callers where the stack of a task is deeper than
				    ever (hv_actions_set_deepest), whether or not recording is on;
				    needs  hv_callers_prepare */
	HV_NR_ACTIONS
};
struct hv_site_actions {
	uint64_t ip;
	/* Not of a function's site, but of this place inside one, at IP: HV_ACTION_REGS, and
	 * HV_ACTION_FETCH, only. NULL: of a site. Owned by whoever made it. */
	const struct hv_probe_place *place;
	unsigned bits; /* bit N: enum hv_action N */
	int64_t left[HV_NR_ACTIONS];
	/* HV_ACTION_FETCH, HV_ACTION_RETURN_FETCH: owned by whoever made it; at most
	 * HV_FETCH_STEPS_MAX. */
	const struct hv_fetch_step *program;
	size_t nr_steps;
	size_t return_step; /* with which the part for the return begins */
};
/* The number of functions that can have a counted action at a time. */
#define HV_ACTIONS_COUNTED_MAX 60

/* Borrows T and SCOPE, which follows tasks by actions, too. */
struct hv_actions *hv_actions_new(struct hv_tracee *t, const struct hv_scope *scope);
void hv_actions_free(struct hv_actions *a);

/* Why HV_ACTION_FETCH and HV_ACTION_RETURN_FETCH are not possible, whatever the function.
 * EOPNOTSUPP, ENOSPC. */
struct hv_err *hv_actions_check_fetch(const struct hv_actions *a) hv_must_use;

/* Likewise HV_ACTION_DEEPEST. EOPNOTSUPP. */
struct hv_err *hv_actions_check_deepest(const struct hv_actions *a) hv_must_use;

/* Sets the actions of all functions; the next hv_site_stubs_set makes the guest do them. LIST is
 * copied, with its programs and places; it is ascending by ip without duplicates. A count that
 * exists already goes on. ENOSPC: too many functions have counts. */
struct hv_err *hv_actions_set(struct hv_actions *a, const struct hv_site_actions *list,
			      size_t nr) hv_must_use;
/* Returns how often a counted action can still be done; NOT_SET if the function has none. */
int64_t hv_actions_left(const struct hv_actions *a, uint64_t ip, enum hv_action action,
			int64_t not_set);
/* Returns whether the function at IP has actions that were asked for. */
bool hv_actions_has(const struct hv_actions *a, uint64_t ip);
/* Returns whether it has one by which pids follow forks. */
bool hv_actions_follow_forks(const struct hv_actions *a, uint64_t ip);
/* Returns whether it has HV_ACTION_RETURN, and whether any function has. */
bool hv_actions_return(const struct hv_actions *a, uint64_t ip);
bool hv_actions_any_return(const struct hv_actions *a);
/* Returns how many calls of the function at IP had no room for HV_ACTION_RETURN, ever. */
uint64_t hv_actions_missed(const struct hv_actions *a, uint64_t ip);

/* Begins a change of all sites. hv_actions_entry follows for each site, and hv_actions_done when
 * all sites call what hv_actions_entry returned. Without hv_actions_done, all sites call what they
 * called before. */
void hv_actions_begin(struct hv_actions *a);
/* *RET_HAS false: the function at IP has no actions. Otherwise *RET is the entry that its site must
 * call; the entry goes on to GOES_ON (0: to nothing), whose calls are of KIND (hv_stubs_kind()).
 * ENOSPC: no slot is free. */
struct hv_err *hv_actions_entry(struct hv_actions *a, uint64_t ip, struct hv_gva goes_on,
				uint32_t kind, bool *ret_has, struct hv_gva *ret) hv_must_use;
void hv_actions_done(struct hv_actions *a);

/* The places that have actions, and the slot of one, between hv_actions_begin and hv_actions_done
 * as hv_actions_entry. */
size_t hv_actions_nr_places(const struct hv_actions *a);
struct hv_err *hv_actions_place(struct hv_actions *a, size_t index, struct hv_probe_place *ret,
				unsigned *ret_slot) hv_must_use;

/* From which depth of a task's stack on HV_ACTION_DEEPEST records, in bytes. The guest goes on from
 * what it has recorded. */
void hv_actions_set_deepest(struct hv_actions *a, uint64_t bytes);

/* Finds where an entry at AT goes on to (0: nothing). False: there is no entry at AT. */
bool hv_actions_goes_on(const struct hv_actions *a, struct hv_gva at, struct hv_gva *ret);
