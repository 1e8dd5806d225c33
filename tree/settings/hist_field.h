/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One key, value or variable of a histogram: a field of the event, what all events have (hitcount,
 * common_timestamp, common_cpu), a number, a variable ($NAME), or an expression of these
 * (parse_expr, create_hist_field and their like in kernel/trace/trace_events_hist.c). A field may
 * have one modifier, which says how it is shown, or changes its value. Leaves to others: the
 * trigger that has it (hist_spec.h), values (tree/instance/hist/hist_table.h). Pure. */
#pragma once

#include "base/bytes.h"
#include "kernel/events/catalogue.h"
#include "tree/settings/field_form.h"

struct hv_hist_spec;
struct hv_synth;

#define HV_HIST_VARIABLES_MAX 16  /* of a trigger; and of its references (TRACING_MAP_VARS_MAX) */
#define HV_HIST_TEXT_BYTES    256 /* of the text in a variable (STR_VAR_LEN_MAX) */
#define HV_HIST_STACK_MAX     31  /* addresses of a stack, in any kernel (HIST_STACKTRACE_DEPTH) */
#define HV_HIST_STACK_USUAL   16  /* before 7.2 */
#define HV_HIST_STACK_BYTES   (8u * HV_HIST_STACK_MAX)

enum hv_hist_kind {
	HV_HIST_NUMBER,	     /* a field of 1, 2, 4 or 8 bytes */
	HV_HIST_TEXT,	     /* a text that the record has */
	HV_HIST_HITS,	     /* hitcount */
	HV_HIST_TIME,	     /* common_timestamp */
	HV_HIST_CPU,	     /* common_cpu */
	HV_HIST_CONSTANT,    /* a number */
	HV_HIST_EXPRESSION,  /* of operands */
	HV_HIST_REFERENCE,   /* the value of a variable */
	HV_HIST_COMM,	     /* a text: the name of the task that hit the entry first */
	HV_HIST_STACK,	     /* the stack of the event */
	HV_HIST_STACK_FIELD, /* one in a field of a synthetic event */
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
	HV_HIST_STACKTRACE,
};
#define HV_NR_HIST_MODIFIERS 12

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
	char *type;		 /* owned; in C */
	uint32_t off;		 /* in the entry */
	uint32_t size_bytes;	 /* in the entry; of a text that is elsewhere, how much is kept */
	bool is_signed;
	bool is_usecs; /* it has .usecs, or is an expression whose first operand has */
	bool is_text;
	bool is_stack;
	bool is_constant; /* a number, or a variable that is one */
	unsigned ref;	  /* of a variable: index of the spec's references */
	uint64_t buckets;
	uint64_t constant;
	enum hv_hist_op op;
	struct hv_hist_field *operands[2]; /* owned; the second may be NULL */
};

/* What is wrong with a trigger, as the kernel says it. */
struct hv_hist_fault {
	const char *why; /* static */
	size_t at;	 /* the character of the command that the kernel marks */
};

/* The kernel may find several for one trigger, and even for one that it takes. */
#define HV_HIST_FAULTS_MAX 8
struct hv_hist_faults {
	int code; /* errno; 0: none */
	struct hv_hist_fault list[HV_HIST_FAULTS_MAX];
	unsigned nr; /* may be 0 if the kernel has no words for it */
};

/* Another hist trigger of the instance. */
struct hv_hist_other {
	uint64_t serial; /* not 0 */
	const struct hv_event_type *type;
	const struct hv_hist_spec *spec;
};

/* What a trigger can refer to. */
struct hv_hist_scope {
	const struct hv_catalogue *catalogue;
	const struct hv_event_type *type; /* of the events that the trigger is for */
	void *of;			  /* passed to each function; any of them may be NULL */
	/* The hist trigger at INDEX, the oldest first. False: there are no more. */
	bool (*other)(void *of, size_t index, struct hv_hist_other *ret);
	/* The synthetic event NAME; NULL: there is none. */
	const struct hv_synth *(*synth)(void *of, const char *name);
	/* Adds the hist trigger TEXT to events of TYPE. Returns an errno, or 0. */
	int (*add)(void *of, const struct hv_event_type *type, const char *text);
	/* This kernel's variables and synthetic events can have stacks (FILTER_STACKTRACE); else
	 * only a key can be one. */
	bool has_stack_fields;
};

/* A variable that a trigger defines: NAME=TEXT. */
struct hv_hist_definition {
	const char *name, *text; /* borrowed */
};

/* The state of parsing one trigger. */
struct hv_hist_parse {
	const struct hv_hist_scope *scope;
	const char *command;	   /* "hist:" and the rest of it */
	struct hv_hist_spec *spec; /* as far as it was parsed */
	struct hv_hist_definition definitions[HV_HIST_VARIABLES_MAX];
	unsigned nr_definitions;
	bool has_time;	/* common_timestamp was used */
	bool has_usecs; /* with .usecs */
	struct hv_hist_faults faults;
};

/* Notes a fault, which the kernel marks where MARKED first occurs in the command (err_pos). WHY
 * NULL: the kernel has no words for it. Returns NULL, so that parsers can return it. */
void *hv_hist_fail(struct hv_hist_parse *p, int code, const char *why, const char *marked);

enum hv_hist_role { HV_HIST_KEY, HV_HIST_VALUE, HV_HIST_VARIABLE };

/* Parses TEXT, which is changed. NULL: it is wrong, and P->faults says how. */
struct hv_hist_field *hv_hist_field_parse(struct hv_hist_parse *p, char *text,
					  enum hv_hist_role role) hv_must_use;
/* Likewise of what is no expression (parse_atom). */
struct hv_hist_field *hv_hist_field_parse_atom(struct hv_hist_parse *p, char *text,
					       enum hv_hist_role role) hv_must_use;
void hv_hist_field_free(struct hv_hist_field *f);
/* Whether TEXT has an operator. */
bool hv_hist_has_operator(const char *text);

/* The name of a modifier; NULL: of none. */
const char *hv_hist_modifier_name(enum hv_hist_modifier modifier);

/* The value of a variable. */
struct hv_hist_value {
	uint64_t number;
	const char *text;      /* with a NUL; NULL: it is none */
	const uint64_t *stack; /* HV_HIST_STACK_MAX addresses, or as many up to a 0; NULL: none */
};

/* One event. The entry is hostile. */
struct hv_hist_record {
	struct hv_span entry;
	unsigned cpu;
	uint64_t time; /* in the unit that common_timestamp has */
	/* Of the variables that the trigger refers to; NULL: it refers to none. */
	const struct hv_hist_value *refs;
	const char *first_comm; /* HV_HIST_COMM; of 16 bytes, perhaps without a NUL; or NULL */
	const uint64_t *stack;	/* HV_HIST_STACK; as that of a value */
};

/* The value of F, which is no text. What is outside of the entry is 0. */
uint64_t hv_hist_field_value(const struct hv_hist_field *f, const struct hv_hist_record *record);
/* Copies the stack of F, with zeros behind it. */
void hv_hist_field_stack(const struct hv_hist_field *f, const struct hv_hist_record *record,
			 uint64_t ret[HV_HIST_STACK_MAX]);
/* The bytes in which the text of F is, perhaps without a NUL. */
struct hv_span hv_hist_field_text(const struct hv_hist_field *f,
				  const struct hv_hist_record *record);

/* References to variables of hist triggers, $NAME or SYSTEM.EVENT.$NAME: of the trigger itself, or
 * of another one of the instance, which has the value under the same key (find_event_var,
 * create_var_ref and their like). */

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
