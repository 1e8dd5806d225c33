/* SPDX-License-Identifier: GPL-2.0-or-later */
/* References to variables of hist triggers, $NAME or SYSTEM.EVENT.$NAME: of the trigger itself, or
 * of another one of the instance, which has the value under the same key (find_event_var,
 * create_var_ref and their like). Leaves to others: values (tree/instance/hist/hist_table.h). Pure.
 */
#pragma once

#include "tree/settings/hist_spec.h"

/* A variable of a trigger. Borrowed. */
struct hv_hist_target {
	uint64_t serial; /* of the trigger; 0: the one that is parsed */
	const struct hv_hist_spec *spec;
	unsigned variable;
};

/* Where an event is named: SYSTEM.EVENT, or both NULL. */
struct hv_hist_place {
	const char *system, *event;
};

/* The variable NAME, which has no '$', of the trigger itself. */
bool hv_hist_find_own(const struct hv_hist_spec *s, const char *name, struct hv_hist_target *ret);
/* That of another trigger, at PLACE, or where an action of the trigger matches, or of the only one
 * that has it. False: there is none, and if there are several P has noted it as a fault. */
bool hv_hist_find_variable(struct hv_hist_parse *p, struct hv_hist_place place, const char *name,
			   struct hv_hist_target *ret);
/* Whether the trigger itself, or another one for the same events, has the variable NAME. */
bool hv_hist_has_variable(const struct hv_hist_parse *p, const char *name);
/* The oldest trigger for events of TYPE whose keys are like those of P->spec. */
bool hv_hist_find_alike(const struct hv_hist_parse *p, const struct hv_event_type *type,
			struct hv_hist_other *ret);

/* Sets *RET to the index of the reference to TARGET, which is added if it is new. False: there are
 * too many. */
bool hv_hist_refer(struct hv_hist_parse *p, const struct hv_hist_target *target, unsigned *ret);
/* The field whose value is that of TARGET; NULL: there are too many references. */
struct hv_hist_field *hv_hist_reference_new(struct hv_hist_parse *p,
					    const struct hv_hist_target *target,
					    struct hv_hist_place place) hv_must_use;
