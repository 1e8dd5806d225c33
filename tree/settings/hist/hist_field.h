/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A key, value or variable of a histogram: an event field, a common field (hitcount,
 * common_timestamp, common_cpu), a number, a variable ($NAME), or an expression of these
 * (parse_expr, create_hist_field and others in kernel/trace/trace_events_hist.c). A modifier
 * changes the value of a field or how it is shown. hist_spec.h parses triggers;
 * tree/instance/hist/hist_table.h stores values. Pure. */
#pragma once

#include "base/bytes.h"
#include "kernel/events/catalogue.h"
#include "tree/settings/event_set.h"

struct hv_hist_spec;
struct hv_synth;

#define HV_HIST_VARIABLES_MAX 16  /* per trigger; also of references (TRACING_MAP_VARS_MAX) */
#define HV_HIST_TEXT_BYTES    256 /* string length of a variable (STR_VAR_LEN_MAX) */
#define HV_HIST_STACK_MAX     31  /* maximum stack depth in any kernel (HIST_STACKTRACE_DEPTH) */
#define HV_HIST_STACK_USUAL   16  /* stack depth before 7.2 */
#define HV_HIST_STACK_BYTES   (8u * HV_HIST_STACK_MAX)

enum hv_hist_kind {
	HV_HIST_NUMBER,	     /* a field of 1, 2, 4 or 8 bytes */
	HV_HIST_TEXT,	     /* a string in the record */
	HV_HIST_HITS,	     /* hitcount */
	HV_HIST_TIME,	     /* common_timestamp */
	HV_HIST_CPU,	     /* common_cpu */
	HV_HIST_CONSTANT,    /* a number */
	HV_HIST_EXPRESSION,  /* built from operands */
	HV_HIST_REFERENCE,   /* the value of a variable */
	HV_HIST_COMM,	     /* string: the name of the task that first hit the entry */
	HV_HIST_STACK,	     /* the stack of the event */
	HV_HIST_STACK_FIELD, /* stack in a field of a synthetic event */
	HV_HIST_USER_STACK,  /* the user stack of the event; hvtrace's own */
};

enum hv_hist_modifier {
	HV_HIST_PLAIN,
	HV_HIST_HEX,
	HV_HIST_SYM,
	HV_HIST_SYM_OFFSET,
	HV_HIST_EXECNAME, /* the number is a pid; show the task's name */
	HV_HIST_SYSCALL,  /* the number is a system call number; show its name */
	HV_HIST_LOG2,
	HV_HIST_BUCKETS,
	HV_HIST_USECS,
	HV_HIST_PERCENT, /* of the sum of all entries */
	HV_HIST_GRAPH,	 /* a bar, relative to the largest value */
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
	enum hv_field_form form; /* for strings */
	char *name;		 /* owned; name for display, from the guest or the user */
	char *type;		 /* owned; C type */
	uint32_t off;		 /* in the entry */
	uint32_t size_bytes;	 /* in the entry; for strings stored elsewhere: bytes kept */
	bool is_signed;
	bool is_usecs; /* has .usecs, or is an expression whose first operand has it */
	bool is_text;
	bool is_stack;
	bool is_constant; /* a number, or a variable with a constant value */
	unsigned ref;	  /* for a variable: index into the spec's references */
	uint64_t buckets;
	uint64_t constant;
	enum hv_hist_op op;
	struct hv_hist_field *operands[2]; /* owned; the second may be NULL */
};

/* An error in a trigger, as the kernel reports it. */
struct hv_hist_fault {
	const char *why; /* static */
	size_t at;	 /* offset in the command that the kernel marks */
};

/* The kernel can report several errors for one trigger, even if it accepts the trigger. */
#define HV_HIST_FAULTS_MAX 8
struct hv_hist_faults {
	int code; /* errno; 0: no error */
	struct hv_hist_fault list[HV_HIST_FAULTS_MAX];
	unsigned nr;	       /* may be 0 if the kernel has no message for the error */
	bool refers_too_often; /* has more than HV_HIST_VARIABLES_MAX references */
};

/* Another hist trigger of the same instance. */
struct hv_hist_other {
	uint64_t serial; /* nonzero */
	const struct hv_event_type *type;
	const struct hv_hist_spec *spec;
};

/* Context that a trigger can refer to. Any function may be NULL. */
struct hv_hist_scope {
	const struct hv_catalogue *catalogue;
	const struct hv_event_type *type; /* the trigger's event type */
	void *of;			  /* passed to each function */
	/* Returns the hist trigger at INDEX, oldest first, or false after the last one. */
	bool (*other)(void *of, size_t index, struct hv_hist_other *ret);
	/* Returns the synthetic event NAME, or NULL. */
	const struct hv_synth *(*synth)(void *of, const char *name);
	/* Adds the hist trigger TEXT to events of TYPE. Returns an errno, or 0. */
	int (*add)(void *of, const struct hv_event_type *type, const char *text);
	/* This kernel allows stacks in variables and synthetic events (FILTER_STACKTRACE), not only
	 * as keys. */
	bool has_stack_fields;
	bool has_user_stacks; /* the guest can record user stacks */
};

/* A variable definition: NAME=TEXT. */
struct hv_hist_definition {
	const char *name, *text; /* borrowed */
};

/* The state of parsing one trigger. */
struct hv_hist_parse {
	const struct hv_hist_scope *scope;
	const char *command;	   /* the command from "hist:" on */
	struct hv_hist_spec *spec; /* partially filled while parsing */
	struct hv_hist_definition definitions[HV_HIST_VARIABLES_MAX];
	unsigned nr_definitions;
	bool has_time;	/* the trigger uses common_timestamp */
	bool has_usecs; /* the trigger uses common_timestamp.usecs */
	struct hv_hist_faults faults;
};

/* Records an error. The kernel marks the first occurrence of MARKED in the command (err_pos). WHY
 * NULL: the kernel has no message for it. Always returns NULL, so that parsers can return the
 * result. */
void *hv_hist_fail(struct hv_hist_parse *p, int code, const char *why, const char *marked);

enum hv_hist_role { HV_HIST_KEY, HV_HIST_VALUE, HV_HIST_VARIABLE };

/* Parses TEXT, which it modifies. On error returns NULL and adds to P->faults. */
struct hv_hist_field *hv_hist_field_parse(struct hv_hist_parse *p, char *text,
					  enum hv_hist_role role) hv_must_use;
/* Like hv_hist_field_parse(), for an operand without operators (parse_atom). */
struct hv_hist_field *hv_hist_field_parse_atom(struct hv_hist_parse *p, char *text,
					       enum hv_hist_role role) hv_must_use;
void hv_hist_field_free(struct hv_hist_field *f);

/* Returns the name of a modifier, or NULL. */
const char *hv_hist_modifier_name(enum hv_hist_modifier modifier);

/* The value of a variable. */
struct hv_hist_value {
	uint64_t number;
	const char *text;      /* NUL-terminated; NULL: the value is not a string */
	const uint64_t *stack; /* up to HV_HIST_STACK_MAX addresses, then 0; NULL: not a stack */
};

/* One event. The entry is untrusted. */
struct hv_hist_record {
	struct hv_span entry;
	unsigned cpu;
	uint64_t time; /* in the unit of common_timestamp */
	/* Values of the referenced variables; NULL: no references. */
	const struct hv_hist_value *refs;
	const char *first_comm;	    /* for HV_HIST_COMM: 16 bytes, may lack a NUL; or NULL */
	const uint64_t *stack;	    /* for HV_HIST_STACK: as in struct hv_hist_value */
	const uint64_t *user_stack; /* for HV_HIST_USER_STACK: as STACK */
};

/* Returns the value of F, which must not be a string. Bytes outside the entry read as 0. */
uint64_t hv_hist_field_value(const struct hv_hist_field *f, const struct hv_hist_record *record);
/* Copies the stack of F and fills the rest with zeros. */
void hv_hist_field_stack(const struct hv_hist_field *f, const struct hv_hist_record *record,
			 uint64_t ret[HV_HIST_STACK_MAX]);
/* Returns the bytes of the string F, which may lack a NUL. */
struct hv_span hv_hist_field_text(const struct hv_hist_field *f,
				  const struct hv_hist_record *record);

/* References to variables of hist triggers, $NAME or SYSTEM.EVENT.$NAME. The variable belongs to
 * the trigger itself or to another one of the instance, which stores the value under the same key
 * (find_event_var, create_var_ref and others). */

/* A variable of a trigger. Borrowed. */
struct hv_hist_target {
	uint64_t serial; /* of the trigger; 0: the one being parsed */
	const struct hv_hist_spec *spec;
	unsigned variable;
};

/* SYSTEM.EVENT qualifier of a name; both NULL if absent. */
struct hv_hist_qualifier {
	const char *system, *event;
};

/* Finds variable NAME, without '$', of the trigger itself. */
bool hv_hist_find_own(const struct hv_hist_spec *s, const char *name, struct hv_hist_target *ret);
/* Finds variable NAME of another trigger: on the event QUALIFIER, on an event that an onmatch
 * action names, or the only trigger with that variable. Returns false if there is none; if there
 * are several, also adds to P->faults. */
bool hv_hist_find_variable(struct hv_hist_parse *p, struct hv_hist_qualifier qualifier,
			   const char *name, struct hv_hist_target *ret);
/* Returns whether the trigger, or another one for the same event, has variable NAME. */
bool hv_hist_has_variable(const struct hv_hist_parse *p, const char *name);
/* Finds the oldest trigger for events of TYPE with keys compatible with those of P->spec. */
bool hv_hist_find_alike(const struct hv_hist_parse *p, const struct hv_event_type *type,
			struct hv_hist_other *ret);

/* Sets *RET to the index of the reference to TARGET, which is added if new. Returns false if there
 * are too many references. */
bool hv_hist_refer(struct hv_hist_parse *p, const struct hv_hist_target *target, unsigned *ret);
