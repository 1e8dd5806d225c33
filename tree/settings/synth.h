/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A synthetic event as synthetic_events and dynamic_events define it, which actions of hist
 * triggers make (kernel/trace/trace_events_synth.c):
 *
 *	NAME TYPE FIELD[; TYPE FIELD]...
 *	s:[synthetic/]NAME TYPE FIELD[; TYPE FIELD]...
 *
 *	TYPE	u8 to u64, s8 to s64, char, int, long, unsigned ones of these, bool, pid_t, gfp_t;
 *		a FIELD of type char may be an array, FIELD[N] or FIELD[]; one of type long,
 *FIELD[], is a stack
 *
 * Leaves to others: which events there are (tree/instance/dynamic/synths.h), their text
 * (tree/format/synth_text.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "tree/settings/hist_field.h"

#define HV_SYNTH_SYSTEM	    "synthetic"
#define HV_SYNTH_FIELDS_MAX 64

struct hv_synth_field {
	char *name;	     /* owned */
	char *type;	     /* owned; as in a format file */
	uint32_t size_bytes; /* as in a format file */
	uint32_t off;	     /* behind what all entries begin with */
	bool is_signed;
	bool is_text;
	bool is_stack;
	bool is_dynamic; /* a text or stack behind all fields */
};

struct hv_synth {
	char *name; /* owned */
	struct hv_synth_field fields[HV_SYNTH_FIELDS_MAX];
	unsigned nr_fields;
	uint32_t fields_bytes; /* of all fields, in an entry */
	unsigned stack_depth;  /* words of a stack in an entry, at most HV_HIST_STACK_MAX */
};

/* What is wrong with a definition, as the kernel says it. */
struct hv_synth_fault {
	int code;	 /* errno */
	const char *why; /* static; NULL: the kernel has no words for it */
	size_t at;	 /* the character that it marks */
};

/* Whether TEXT is of dynamic_events, and is a definition. */
bool hv_synth_is_dynamic(const char *text);
/* Parses TEXT, a definition of either file. False: it is wrong. */
bool hv_synth_parse(const char *text, struct hv_synth *ret, struct hv_synth_fault *ret_fault);
void hv_synth_deinit(struct hv_synth *s);

/* Whether TYPE, as in a format file, is that of a stack. */
bool hv_synth_is_stack_type(const char *type);
/* Adds the line of synthetic_events, with a newline. */
void hv_synth_text(const struct hv_synth *s, struct hv_text *ret);
/* Adds the print_fmt of the event. BETWEEN: what is between the fields in its text. */
void hv_synth_print_fmt(const struct hv_synth *s, const char *between, struct hv_text *ret);
/* How a number of TYPE is printed. */
const char *hv_synth_number_format(const char *type);

/* Fills the fields of an entry with VALUES, one for each, from offset FIELDS_OFF of ENTRY on, of
 * MAX_BYTES. Returns the length of the entry; 0: it does not fit. */
uint32_t hv_synth_fill(const struct hv_synth *s, const struct hv_hist_value *values,
		       uint32_t fields_off, uint8_t *entry, uint32_t max_bytes);
