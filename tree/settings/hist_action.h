/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hist trigger does when it is hit (parse_actions, create_actions):
 *
 *	onmatch(SYSTEM.EVENT).ACTION	always, if all variables that the trigger refers to are set
 *	onmax($NAME).ACTION		when the variable is larger than ever under this key
 *	onchange($NAME).ACTION		when it is another than before
 *
 *	ACTION	SYNTH(PARAM,...), trace(SYNTH,PARAM,...), save(FIELD,...), snapshot()
 *	PARAM	$NAME, SYSTEM.EVENT.$NAME, FIELD, SYSTEM.EVENT.FIELD
 *
 * The kernel reads the words first, and looks for what they name when the trigger is added; so an
 * action that removes a trigger only has to have the same words. Leaves to others: doing it
 * (tree/instance/hist/hist_actions.h). Pure. */
#pragma once

#include "tree/settings/hist_spec.h"

#define HV_HIST_PARAMS_MAX 64 /* SYNTH_FIELDS_MAX */

enum hv_hist_handler { HV_HIST_ON_MATCH, HV_HIST_ON_MAX, HV_HIST_ON_CHANGE };
enum hv_hist_deed { HV_HIST_TRACES, HV_HIST_SAVES, HV_HIST_SNAPSHOTS };

struct hv_hist_action {
	enum hv_hist_handler handler;
	enum hv_hist_deed deed;
	char *name;	      /* owned; as it was written */
	char *synth_name;     /* owned; of trace(): the event; NULL: it is NAME */
	char *variable;	      /* owned; with its '$'; NULL: onmatch */
	char *system, *event; /* owned; of onmatch */
	char **params;	      /* owned, as what it points to */
	unsigned nr_params;

	/* After hv_hist_actions_link(): */
	const struct hv_synth *synth;	   /* borrowed; of a synthetic event */
	unsigned refs[HV_HIST_PARAMS_MAX]; /* of each parameter of it */
	unsigned ref;			   /* of VARIABLE */
	unsigned tracked;		   /* the variable that has its last value */
};

/* Parses TEXT, which is changed, and adds it to P->spec. False: it is wrong. */
bool hv_hist_action_parse(struct hv_hist_parse *p, char *text);
void hv_hist_action_free(struct hv_hist_action *a);
/* Finds what the actions of P->spec name, and adds the variables that they need. May add other
 * triggers. False: something is not there. */
bool hv_hist_actions_link(struct hv_hist_parse *p);
/* Whether the kernel takes them for the same. */
bool hv_hist_action_is_like(const struct hv_hist_action *a, const struct hv_hist_action *b);
