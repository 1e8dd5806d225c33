/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hist trigger as it is written into a trigger file, and read by the kernel
 * (event_hist_trigger_parse):
 *
 *	hist:keys=FIELD[,FIELD[,FIELD]][:values=FIELD[,FIELD]][:NAME=FIELD[,NAME=FIELD]...]
 *	    [:sort=FIELD[.descending][,FIELD]][:size=N][:name=NAME][:clock=NAME][:nohitcount]
 *	    [:pause|:cont|:clear][:HANDLER.ACTION]... [if FILTER]
 *
 * Leaves to others: fields (hist_field.h), actions (hist_action.h), the filter (event_filter.h),
 * what is counted (tree/instance/hist/hist_table.h), texts (tree/format/hist_text.h). Pure. */
#pragma once

#include "tree/settings/hist_field.h"

#define HV_HIST_KEYS_MAX      3
#define HV_HIST_VALUES_MAX    3 /* with hitcount, which is always the first */
#define HV_HIST_SORTS_MAX     2
#define HV_HIST_KEY_BYTES_MAX 384 /* HIST_KEY_SIZE_MAX */
#define HV_HIST_SIZE_MAX      (1u << 17)
#define HV_HIST_ACTIONS_MAX   8

struct hv_hist_sort {
	unsigned by; /* index of a value; from nr_values on, of a key */
	bool descending;
};

struct hv_hist_action;

/* A value that each entry keeps. */
struct hv_hist_variable {
	char *name; /* owned */
	enum hv_hist_variable_role {
		HV_HIST_DEFINED,   /* NAME=FIELD, set by each hit */
		HV_HIST_PARAMETER, /* a field that an action passes on, likewise */
		HV_HIST_SAVED,	   /* set by save() */
		HV_HIST_TRACKED,   /* the last value for onmax() or onchange() */
	} role;
	struct hv_hist_field *field; /* owned; NULL: HV_HIST_TRACKED */
};

/* A variable whose value the trigger uses. */
struct hv_hist_reference {
	uint64_t serial;   /* of its trigger; 0: it is of the same */
	unsigned variable; /* there */
	bool reads_once;   /* afterwards it is not set any more, until its trigger is hit again */
};

struct hv_hist_spec {
	bool removes; /* it was written with a '!' */
	bool pauses, continues,
		clears; /* an existing one, in this order; or the new one is paused */
	struct hv_hist_field *values[HV_HIST_VALUES_MAX]; /* owned */
	unsigned nr_values;				  /* not 0 */
	struct hv_hist_field *keys[HV_HIST_KEYS_MAX];	  /* owned */
	unsigned nr_keys;				  /* not 0 */
	/* Where each key is in the key of an entry, and the length of that, which is a multiple of
	 * 8. A number has 8 bytes; a text is padded with NULs and ends in one. */
	uint32_t key_off[HV_HIST_KEYS_MAX], key_bytes;
	struct hv_hist_variable variables[HV_HIST_VARIABLES_MAX];
	unsigned nr_variables;
	struct hv_hist_reference refs[HV_HIST_VARIABLES_MAX];
	unsigned nr_refs;
	struct hv_hist_action *actions[HV_HIST_ACTIONS_MAX]; /* owned */
	unsigned nr_actions;
	struct hv_hist_sort sorts[HV_HIST_SORTS_MAX];
	unsigned nr_sorts; /* not 0 */
	uint32_t size;	   /* entries, a power of two, at most HV_HIST_SIZE_MAX */
	char *name;	   /* owned; "name=NAME"; NULL: none */
	char *clock;	   /* owned */
	bool has_time;	   /* it uses common_timestamp */
	bool has_usecs;	   /* which is in microseconds */
	bool no_hitcount;  /* hitcount is not shown */
	char *filter;	   /* owned; NULL: none */
};

/* Whether TEXT, what was written to a trigger file, is a hist trigger. */
bool hv_hist_spec_is(const char *text);
/* "hist:" and what is behind the command of such a TEXT: what the kernel counts places in. The
 * caller frees it. */
char *hv_hist_spec_command(const char *text);
/* Parses TEXT, for which hv_hist_spec_is() is true, but for what its actions name. False: it is
 * wrong, and *RET_FAULTS says how. The character that is wrong is counted in "hist:" and the rest.
 */
bool hv_hist_spec_parse(const struct hv_hist_scope *scope, const char *text,
			struct hv_hist_spec *ret, struct hv_hist_faults *ret_faults);
/* Finds what the actions of S name, which is that of TEXT. Likewise; and there may be faults
 * although it succeeds. After a failure S can only be freed. */
bool hv_hist_spec_link(const struct hv_hist_scope *scope, const char *text, struct hv_hist_spec *s,
		       struct hv_hist_faults *ret_faults);
void hv_hist_spec_deinit(struct hv_hist_spec *s);

/* The value or key that a sort is by. */
static inline const struct hv_hist_field *hv_hist_spec_field(const struct hv_hist_spec *s,
							     unsigned by)
{
	return by < s->nr_values ? s->values[by] : s->keys[by - s->nr_values];
}

/* Whether A and B are the same trigger for the kernel, which looks at neither size nor clock. */
bool hv_hist_spec_is_like(const struct hv_hist_spec *a, const struct hv_hist_spec *b);
bool hv_hist_spec_has_filter(const struct hv_hist_spec *s, const char *filter);

/* Whether the stack of the event is a key or a variable of S. */
bool hv_hist_spec_needs_stack(const struct hv_hist_spec *s);
/* Makes the key of RECORD, of s->key_bytes. */
void hv_hist_spec_key(const struct hv_hist_spec *s, const struct hv_hist_record *record,
		      uint8_t *ret_key);
