/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One key or value of a histogram: a field of the event, what all events have (hitcount,
 * common_timestamp, common_cpu), a number, or an expression of these (parse_expr, create_hist_field
 * and their like in kernel/trace/trace_events_hist.c). A field may have one modifier, which says
 * how it is shown, or changes its value. Leaves to others: the trigger that has it (hist_spec.h).
 * Pure. */
#pragma once

#include "base/bytes.h"
#include "kernel/events/catalogue.h"
#include "tree/settings/field_form.h"

enum hv_hist_kind {
	HV_HIST_NUMBER,	    /* a field of 1, 2, 4 or 8 bytes */
	HV_HIST_TEXT,	    /* a text that the record has */
	HV_HIST_HITS,	    /* hitcount */
	HV_HIST_TIME,	    /* common_timestamp */
	HV_HIST_CPU,	    /* common_cpu */
	HV_HIST_CONSTANT,   /* a number */
	HV_HIST_EXPRESSION, /* of operands */
};

enum hv_hist_modifier {
	HV_HIST_PLAIN,
	HV_HIST_HEX,
	HV_HIST_SYM,
	HV_HIST_SYM_OFFSET,
	HV_HIST_EXECNAME, /* the number is a pid; shown with the name of the task */
	HV_HIST_SYSCALL,  /* the number is that of a system call; shown with its name */
	HV_HIST_LOG2,
	HV_HIST_BUCKETS,
	HV_HIST_USECS,
	HV_HIST_PERCENT, /* of the sum of all entries */
	HV_HIST_GRAPH,	 /* a bar, of which the length is relative to the largest */
};
#define HV_NR_HIST_MODIFIERS 11

enum hv_hist_op {
	HV_HIST_NO_OP,
	HV_HIST_ADD,
	HV_HIST_SUBTRACT,
	HV_HIST_MULTIPLY,
	HV_HIST_DIVIDE,
	HV_HIST_NEGATE,
};

struct hv_hist_field {
	enum hv_hist_kind kind;
	enum hv_hist_modifier modifier;
	enum hv_field_form form; /* of texts */
	char *name;		 /* owned; as it is shown, of the guest's or the user's */
	char *type;		 /* owned; in C; NULL: it is no field of the event */
	uint32_t off;		 /* in the entry */
	uint32_t size_bytes;	 /* in the entry; of a text that is elsewhere, how much is kept */
	bool is_signed;
	bool is_usecs; /* it has .usecs, or is an expression whose first operand has */
	uint64_t buckets;
	uint64_t constant;
	enum hv_hist_op op;
	struct hv_hist_field *operands[2]; /* owned; the second may be NULL */
};

/* What is wrong with a trigger, as the kernel says it. */
struct hv_hist_fault {
	int code;	 /* errno */
	const char *why; /* static; NULL: the kernel has no words for it */
	size_t at;	 /* the character of the command that the kernel marks */
};

/* The state of parsing one trigger. */
struct hv_hist_parse {
	const struct hv_catalogue *catalogue;
	const struct hv_event_type *type;
	const char *command; /* "hist:" and the rest of it */
	bool has_time;	     /* common_timestamp was used */
	bool has_usecs;	     /* with .usecs */
	struct hv_hist_fault fault;
};

/* Notes a fault, which the kernel marks where MARKED first occurs in the command (err_pos). Returns
 * NULL, so that parsers can return it. */
void *hv_hist_fail(struct hv_hist_parse *p, int code, const char *why, const char *marked);

enum hv_hist_role { HV_HIST_KEY, HV_HIST_VALUE };

/* Parses TEXT, which is changed. NULL: it is wrong, and P->fault says how. */
struct hv_hist_field *hv_hist_field_parse(struct hv_hist_parse *p, char *text,
					  enum hv_hist_role role) hv_must_use;
void hv_hist_field_free(struct hv_hist_field *f);

/* The name of a modifier; NULL: of none. */
const char *hv_hist_modifier_name(enum hv_hist_modifier modifier);

/* One event. The entry is hostile. */
struct hv_hist_record {
	struct hv_span entry;
	unsigned cpu;
	uint64_t time; /* in the unit that common_timestamp has */
};

/* The value of F, which is no text. What is outside of the entry is 0. */
uint64_t hv_hist_field_value(const struct hv_hist_field *f, const struct hv_hist_record *record);
/* The bytes in which the text of F is, perhaps without a NUL. */
struct hv_span hv_hist_field_text(const struct hv_hist_field *f,
				  const struct hv_hist_record *record);
