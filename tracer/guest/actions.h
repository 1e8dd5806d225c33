/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions: the guest's additional work at a call of a function besides recording it, and the action
 * groups of the trampolines that implement this (ringbuf/abi.h).
 *
 * tree/ chooses the actions; site_trampolines.h changes the sites. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "ringbuf/abi.h"

struct hv_actions;
struct hv_probe_site;
struct hv_scope;
struct hv_tracee;

/* Done just before the call is recorded. A counted action is done at most LEFT times and only
 * counts when it changes something. It is not done when LEFT is 0 or negative. */
enum hv_action {
	HV_ACTION_ON,
	HV_ACTION_OFF,
	HV_ACTION_ON_COUNTED,
	HV_ACTION_OFF_COUNTED,
	HV_ACTION_STACK, /* records the callers; needs hv_callers_prepare */
	HV_ACTION_STACK_COUNTED,
	HV_ACTION_REPORT, /* sends an HV_EVENT_COMMAND to the drain, so that the host executes
			   commands; also while recording is off */
	HV_ACTION_REPORT_COUNTED,
	HV_ACTION_REGS,	  /* records an HV_EVENT_GUESTS with id HV_EVENT_ID_REGS before all other
			     records */
	HV_ACTION_FETCH,  /* adds the results of the program to the registers; needs an action that
			     records them */
	HV_ACTION_RETURN, /* records the return of the call, with id HV_EVENT_ID_RETURN. Needs
			     frames (graph_tracer.h) */
	HV_ACTION_RETURN_FETCH,	 /* with HV_ACTION_RETURN: adds the results of the program's second
				    part */
	HV_ACTION_RETURN_ARGS,	 /* with HV_ACTION_RETURN: adds the first arguments of the call; the
				    id is HV_EVENT_ID_RETURN_ARGS */
	HV_ACTION_ALL_REGS = 16, /* instead of HV_ACTION_REGS, with id HV_EVENT_ID_ALL_REGS: also
				    records scratch registers (%ax, %r10, %r11, flags) */
	HV_ACTION_DEEPEST = 17,	 /* records the callers when a task's stack is deeper than ever
				    before (hv_actions_set_deepest), also while recording is off;
				    needs hv_callers_prepare */
	HV_NR_ACTIONS
};
struct hv_site_actions {
	uint64_t ip;
	/* NULL: the actions belong to the function's site at IP. Otherwise to this probe site
	 * inside a function, at IP, which allows only HV_ACTION_REGS and HV_ACTION_FETCH.
	 * Borrowed. */
	const struct hv_probe_site *probe_site;
	unsigned bits; /* bit N: enum hv_action N */
	int64_t left[HV_NR_ACTIONS];
	/* For HV_ACTION_FETCH and HV_ACTION_RETURN_FETCH. Borrowed; at most HV_FETCH_STEPS_MAX
	 * steps. */
	const struct hv_fetch_step *program;
	size_t nr_steps;
	size_t return_step; /* index of the first step of the return part */
};
/* Maximum number of functions with a counted action. */
#define HV_ACTIONS_COUNTED_MAX 60

/* Borrows T and SCOPE. To follow forks, SCOPE adds actions of its own. */
struct hv_actions *hv_actions_new(struct hv_tracee *t, const struct hv_scope *scope);
void hv_actions_free(struct hv_actions *a);

/* Returns why this guest cannot do HV_ACTION_FETCH and HV_ACTION_RETURN_FETCH: EOPNOTSUPP or
 * ENOSPC. */
struct hv_err *hv_actions_check_fetch(const struct hv_actions *a) hv_must_use;

/* Like hv_actions_check_fetch(), for HV_ACTION_DEEPEST. EOPNOTSUPP. */
struct hv_err *hv_actions_check_deepest(const struct hv_actions *a) hv_must_use;

/* Sets the actions of all functions; they take effect with the next hv_site_trampolines_set. Copies
 * LIST with its programs and probe sites. LIST is ascending by ip without duplicates. A counter
 * that already exists keeps its value. ENOSPC: too many functions have counters. */
struct hv_err *hv_actions_set(struct hv_actions *a, const struct hv_site_actions *list,
			      size_t nr) hv_must_use;
/* Returns the remaining count of an action. Returns NOT_SET if the function does not have it, or if
 * the guest does not keep the count because it is negative or does not fit into 32 bits. */
int64_t hv_actions_left(const struct hv_actions *a, uint64_t ip, enum hv_action action,
			int64_t not_set);
/* Returns whether the user requested actions for the function at IP. */
bool hv_actions_has(const struct hv_actions *a, uint64_t ip);
/* Returns whether hv_actions_entry() will find actions for the function at IP. */
bool hv_actions_acts(const struct hv_actions *a, uint64_t ip);
/* Returns whether the function at IP has an action that makes pid filters follow forks. */
bool hv_actions_follow_forks(const struct hv_actions *a, uint64_t ip);
/* Returns whether the function at IP, or any function, has HV_ACTION_RETURN. */
bool hv_actions_return(const struct hv_actions *a, uint64_t ip);
bool hv_actions_any_return(const struct hv_actions *a);
/* Returns how many calls of the function at IP had no free frame for HV_ACTION_RETURN. */
uint64_t hv_actions_missed(const struct hv_actions *a, uint64_t ip);

/* Begins a change of all sites. The caller then calls hv_actions_entry for each site, and
 * hv_actions_done once all sites call their new entries. Without hv_actions_done, the old entries
 * stay valid. */
void hv_actions_begin(struct hv_actions *a);
/* *RET_HAS false: the function at IP has no actions. Otherwise *RET is the entry that its site must
 * call. The entry continues at GOES_ON (0: nowhere), and calls there are of KIND
 * (hv_trampolines_kind()). ENOSPC: no action group is free.
 *
 * GOES_ON may be a chain (chains.h), if the site calls one that jumps to the entry. An action group
 * that has continued at a chain never continues elsewhere in this session: a task that was stopped
 * in the action group must reach that chain, because the guest relies on it. There are
 * HV_GROUPS_FOR_CHAINS such groups, unless other functions need them. */
#define HV_GROUPS_FOR_CHAINS 32
struct hv_err *hv_actions_entry(struct hv_actions *a, uint64_t ip, struct hv_gva goes_on,
				uint32_t kind, bool *ret_has, struct hv_gva *ret) hv_must_use;
void hv_actions_done(struct hv_actions *a);

/* For a function with HV_ACTION_RETURN whose ENTRY continues at a chain: returns the trampoline that
 * records the return, and makes ENTRY continue at CHAIN, which calls that trampoline. Call both
 * after hv_actions_entry(); no site may call ENTRY in between. */
struct hv_gva hv_actions_probed(const struct hv_actions *a, struct hv_gva entry);
void hv_actions_set_probed(struct hv_actions *a, struct hv_gva entry, struct hv_gva chain);

/* The probe sites that have actions, and the action group of one of them. Like hv_actions_entry,
 * call them between hv_actions_begin and hv_actions_done. */
size_t hv_actions_nr_probe_sites(const struct hv_actions *a);
struct hv_err *hv_actions_probe_site(struct hv_actions *a, size_t index, struct hv_probe_site *ret,
				     unsigned *ret_group) hv_must_use;

/* Sets the stack depth in bytes above which HV_ACTION_DEEPEST records. The guest raises it to the
 * depth of each stack that it records. */
void hv_actions_set_deepest(struct hv_actions *a, uint64_t bytes);

/* Finds where the entry at AT continues (0: nowhere). Returns false if AT is not an entry. */
bool hv_actions_goes_on(const struct hv_actions *a, struct hv_gva at, struct hv_gva *ret);
