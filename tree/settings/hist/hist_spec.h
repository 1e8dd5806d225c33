/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hist trigger as written to a trigger file and parsed by the kernel (event_hist_trigger_parse):
 *
 *	hist:keys=FIELD[,FIELD[,FIELD]][:values=FIELD[,FIELD]][:NAME=FIELD[,NAME=FIELD]...]
 *	    [:sort=FIELD[.descending][,FIELD]][:size=N][:name=NAME][:clock=NAME][:nohitcount]
 *	    [:pause|:cont|:clear][:HANDLER.ACTION]... [if FILTER]
 *
 * hist_field.h parses fields, event_filter.h the filter. tree/instance/hist/hist_table.h counts;
 * tree/format/hist_text.h prints. Pure. */
#pragma once

#include "tree/settings/hist/hist_field.h"

#define HV_HIST_KEYS_MAX      3
#define HV_HIST_VALUES_MAX    3 /* including hitcount, which is always the first */
#define HV_HIST_SORTS_MAX     2
#define HV_HIST_KEY_BYTES_MAX 384 /* HIST_KEY_SIZE_MAX */
#define HV_HIST_SIZE_MAX      (1u << 17)
#define HV_HIST_ACTIONS_MAX   8

struct hv_hist_sort {
	unsigned by; /* index of a value; key indices start at nr_values */
	bool descending;
};

struct hv_hist_action;

/* A value stored in each entry. */
struct hv_hist_variable {
	char *name; /* owned */
	enum hv_hist_variable_role {
		HV_HIST_DEFINED,   /* NAME=FIELD, set by each hit */
		HV_HIST_PARAMETER, /* parameter of an action, set by each hit */
		HV_HIST_SAVED,	   /* set by save() */
		HV_HIST_TRACKED,   /* last value for onmax() or onchange() */
	} role;
	struct hv_hist_field *field; /* owned; NULL for HV_HIST_TRACKED */
};

/* A reference to a variable. */
struct hv_hist_reference {
	uint64_t serial;   /* of the trigger that has the variable; 0: this trigger */
	unsigned variable; /* index in that trigger */
	bool reads_once;   /* reading unsets the variable until its trigger is hit again */
};

struct hv_hist_spec {
	bool removes; /* written with a '!' */
	/* What to do with an existing trigger; the first that is set counts. A new trigger starts
	 * paused if PAUSES is set. */
	bool pauses, continues, clears;
	struct hv_hist_field *values[HV_HIST_VALUES_MAX]; /* owned */
	unsigned nr_values;				  /* nonzero */
	struct hv_hist_field *keys[HV_HIST_KEYS_MAX];	  /* owned */
	unsigned nr_keys;				  /* nonzero */
	/* An entry's key concatenates all keys: the offset of each, and the total length, a
	 * multiple of 8. A number has 8 bytes; a string is NUL-terminated and padded with NULs. */
	uint32_t key_off[HV_HIST_KEYS_MAX], key_bytes;
	struct hv_hist_variable variables[HV_HIST_VARIABLES_MAX];
	unsigned nr_variables;
	struct hv_hist_reference refs[HV_HIST_VARIABLES_MAX];
	unsigned nr_refs;
	struct hv_hist_action *actions[HV_HIST_ACTIONS_MAX]; /* owned */
	unsigned nr_actions;
	struct hv_hist_sort sorts[HV_HIST_SORTS_MAX];
	unsigned nr_sorts; /* nonzero */
	uint32_t size;	   /* number of entries, a power of two, at most HV_HIST_SIZE_MAX */
	char *name;	   /* owned; "name=NAME"; may be NULL */
	char *clock;	   /* owned */
	bool has_time;	   /* uses common_timestamp */
	bool has_usecs;	   /* common_timestamp is in microseconds */
	bool no_hitcount;  /* hide hitcount */
	char *filter;	   /* owned; may be NULL */
};

/* Returns whether TEXT, written to a trigger file, is a hist trigger. */
bool hv_hist_spec_is(const char *text);
/* Returns "hist:" and the rest of the command in TEXT. The kernel counts error offsets in this
 * string. The caller frees it. */
char *hv_hist_spec_command(const char *text);
/* Parses TEXT, for which hv_hist_spec_is() is true. Names in actions are not resolved yet. On error
 * returns false and sets *RET_FAULTS; offsets count from "hist:". */
bool hv_hist_spec_parse(const struct hv_hist_scope *scope, const char *text,
			struct hv_hist_spec *ret, struct hv_hist_faults *ret_faults);
/* Resolves names in the actions of S, parsed from TEXT. On error returns false, and S can only be
 * freed. May set *RET_FAULTS even on success. */
bool hv_hist_spec_link(const struct hv_hist_scope *scope, const char *text, struct hv_hist_spec *s,
		       struct hv_hist_faults *ret_faults);
void hv_hist_spec_deinit(struct hv_hist_spec *s);

/* Returns the value or key that a sort uses. */
static inline const struct hv_hist_field *hv_hist_spec_field(const struct hv_hist_spec *s,
							     unsigned by)
{
	return by < s->nr_values ? s->values[by] : s->keys[by - s->nr_values];
}

/* Returns whether the kernel considers A and B equal. It ignores size and clock. */
bool hv_hist_spec_is_like(const struct hv_hist_spec *a, const struct hv_hist_spec *b);
bool hv_hist_spec_has_filter(const struct hv_hist_spec *s, const char *filter);

/* Returns whether the event's stack is a key or a variable of S. */
bool hv_hist_spec_needs_stack(const struct hv_hist_spec *s);
/* Returns whether the event's user stack is a key of S. */
bool hv_hist_spec_needs_user_stack(const struct hv_hist_spec *s);
/* Builds the key of RECORD, s->key_bytes long. */
void hv_hist_spec_key(const struct hv_hist_spec *s, const struct hv_hist_record *record,
		      uint8_t *ret_key);

/* -- actions ----------------------------------------------------------------------------------- */

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
 * has to contain the same words. tree/instance/hist/hists.c executes actions. */

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

	/* Set when the names in the actions are resolved: */
	const struct hv_synth *synth;	   /* borrowed; the synthetic event */
	unsigned refs[HV_HIST_PARAMS_MAX]; /* one reference per parameter */
	unsigned ref;			   /* reference to VARIABLE */
	unsigned tracked;		   /* the variable that keeps its last value */
};
