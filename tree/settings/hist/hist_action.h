/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions of a hist trigger (parse_actions, create_actions):
 *
 *	onmatch(SYSTEM.EVENT).ACTION	on each hit, if all referenced variables are set
 *	onmax($NAME).ACTION		if the variable is a new maximum for this key
 *	onchange($NAME).ACTION		if the variable changed
 *
 *	ACTION	SYNTH(PARAM,...), trace(SYNTH,PARAM,...), save(FIELD,...), snapshot()
 *	PARAM	$NAME, SYSTEM.EVENT.$NAME, FIELD, SYSTEM.EVENT.FIELD
 *
 * The kernel resolves names only when a trigger is added, so a command that removes a trigger only
 * has to contain the same words. tree/instance/hist/hist_actions.h executes actions. Pure. */
#pragma once

#include "tree/settings/hist/hist_spec.h"

#define HV_HIST_PARAMS_MAX 64 /* SYNTH_FIELDS_MAX */

enum hv_hist_handler { HV_HIST_ON_MATCH, HV_HIST_ON_MAX, HV_HIST_ON_CHANGE };
enum hv_hist_deed { HV_HIST_TRACES, HV_HIST_SAVES, HV_HIST_SNAPSHOTS };

struct hv_hist_action {
	enum hv_hist_handler handler;
	enum hv_hist_deed deed;
	char *name;	      /* owned; as written */
	char *synth_name;     /* owned; the event of trace(); NULL: the event is NAME */
	char *variable;	      /* owned; with its '$'; NULL for onmatch */
	char *system, *event; /* owned; for onmatch */
	char **params;	      /* owned, including the strings */
	unsigned nr_params;

	/* Set by hv_hist_actions_link(): */
	const struct hv_synth *synth;	   /* borrowed; the synthetic event */
	unsigned refs[HV_HIST_PARAMS_MAX]; /* one reference per parameter */
	unsigned ref;			   /* reference to VARIABLE */
	unsigned tracked;		   /* the variable that keeps its last value */
};

/* Parses TEXT, which it modifies, and adds the action to P->spec. Returns false on error. */
bool hv_hist_action_parse(struct hv_hist_parse *p, char *text);
void hv_hist_action_free(struct hv_hist_action *a);
/* Resolves names in the actions of P->spec and adds the variables that they need. May add other
 * triggers. Returns false if a name does not exist. */
bool hv_hist_actions_link(struct hv_hist_parse *p);
/* Returns whether the kernel considers A and B equal. */
bool hv_hist_action_is_like(const struct hv_hist_action *a, const struct hv_hist_action *b);
