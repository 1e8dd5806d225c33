/* What calls of functions do besides being recorded: the functions that have actions, and the slots
 * of the stubs by which the guest does them (ringbuf/abi.h).
 * Leaves to others: which functions have which actions (tree/), changing sites (site_stubs.h). One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"

struct hv_actions;
struct hv_scope;
struct hv_tracee;

/* What a call of a function does, just before it is recorded itself. A counted action is done LEFT
 * times at most, and counted when it changes something; none is done when LEFT is 0 or less. */
enum hv_action {
	HV_ACTION_ON,
	HV_ACTION_OFF,
	HV_ACTION_ON_COUNTED,
	HV_ACTION_OFF_COUNTED,
	HV_ACTION_STACK, /* who called is recorded; needs hv_callers_prepare */
	HV_ACTION_STACK_COUNTED,
	HV_ACTION_TELL, /* the host obeys: an HV_EVENT_COMMAND for the drain, recording or not */
	HV_ACTION_TELL_COUNTED,
	HV_NR_ACTIONS
};
struct hv_site_actions {
	uint64_t ip;
	unsigned bits; /* bit N: enum hv_action N */
	int64_t left[HV_NR_ACTIONS];
};
/* Functions that can have a counted action at a time. */
#define HV_ACTIONS_COUNTED_MAX 60

/* Borrows T and SCOPE, whose tasks are followed by actions, too. */
struct hv_actions *hv_actions_new(struct hv_tracee *t, const struct hv_scope *scope);
void hv_actions_free(struct hv_actions *a);

/* From the next hv_site_stubs_set on, for all sites; LIST (copied) is ascending by ip, no two
 * alike. What is counted and was there already goes on from where it is. ENOSPC: too many that are
 * counted. */
struct hv_err *hv_actions_set(struct hv_actions *a, const struct hv_site_actions *list,
			      size_t nr) hv_must_use;
/* What is left of a counted action; NOT_SET where the function has none. */
int64_t hv_actions_left(const struct hv_actions *a, uint64_t ip, enum hv_action action,
			int64_t not_set);
/* Whether the function at IP has actions that somebody asked for. */
bool hv_actions_has(const struct hv_actions *a, uint64_t ip);

/* A change of all sites begins: hv_actions_entry follows for each site, and hv_actions_done when
 * all sites call what it said. Without that they call what they called before. */
void hv_actions_begin(struct hv_actions *a);
/* *RET_HAS false: nothing happens at IP. Else *RET is what its site is to call so as to go on to
 * GOES_ON (0: to nothing). ENOSPC: no slot is free. */
struct hv_err *hv_actions_entry(struct hv_actions *a, uint64_t ip, struct hv_gva goes_on,
				bool *ret_has, struct hv_gva *ret) hv_must_use;
void hv_actions_done(struct hv_actions *a);

/* What an entry at AT goes on to (0: nothing); false: AT is none. */
bool hv_actions_goes_on(const struct hv_actions *a, struct hv_gva at, struct hv_gva *ret);
