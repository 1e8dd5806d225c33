/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definition of a synthetic event in synthetic_events or dynamic_events. Actions of hist
 * triggers make these events (kernel/trace/trace_events_synth.c).
 *
 *	NAME TYPE FIELD[; TYPE FIELD]...
 *	s:[synthetic/]NAME TYPE FIELD[; TYPE FIELD]...
 *
 *	TYPE	u8 to u64, s8 to s64, char, int, long, unsigned variants, bool, pid_t, gfp_t;
 *		a char FIELD may be an array, FIELD[N] or FIELD[]; a long FIELD[] is a stack
 *
 * tree/instance/dynamic/synths.h keeps the events; tree/format/arg_texts.h prints them. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "tree/settings/hist/hist_field.h"

#define HV_SYNTH_SYSTEM	    "synthetic"
#define HV_SYNTH_FIELDS_MAX 64

struct hv_synth_field {
	char *name;	     /* owned */
	char *type;	     /* owned; as in the format file */
	uint32_t size_bytes; /* as in the format file */
	uint32_t off;	     /* after the common fields */
	bool is_signed;
	bool is_text;
	bool is_stack;
	bool is_dynamic; /* a string or stack stored after all fields */
};

struct hv_synth {
	char *name; /* owned */
	struct hv_synth_field fields[HV_SYNTH_FIELDS_MAX];
	unsigned nr_fields;
	uint32_t fields_bytes; /* size of all fields in an entry */
	unsigned stack_depth;  /* stack words in an entry, at most HV_HIST_STACK_MAX */
};

/* An error in a definition, as the kernel reports it. */
struct hv_synth_fault {
	int code;	 /* errno */
	const char *why; /* static; NULL: the kernel has no message for it */
	size_t at;	 /* offset that the kernel marks */
};

/* Returns whether TEXT is a definition in dynamic_events syntax. */
bool hv_synth_is_dynamic(const char *text);
/* Parses a definition in the syntax of either file. On error returns false. */
bool hv_synth_parse(const char *text, struct hv_synth *ret, struct hv_synth_fault *ret_fault);
void hv_synth_deinit(struct hv_synth *s);

/* Returns whether TYPE, as in a format file, is a stack. */
bool hv_synth_is_stack_type(const char *type);
/* Adds the line of synthetic_events, with a newline. */
void hv_synth_text(const struct hv_synth *s, struct hv_text *ret);
/* Adds the event's print_fmt. BETWEEN: separator of the fields in the text. */
void hv_synth_print_fmt(const struct hv_synth *s, const char *between, struct hv_text *ret);
/* Returns the printf format for a number of TYPE. */
const char *hv_synth_number_format(const char *type);

/* Fills the fields of an entry with VALUES, one per field, starting at FIELDS_OFF of ENTRY, which
 * has MAX_BYTES. Returns the length of the entry, or 0 if it does not fit. */
uint32_t hv_synth_fill(const struct hv_synth *s, const struct hv_hist_value *values,
		       uint32_t fields_off, uint8_t *entry, uint32_t max_bytes);
