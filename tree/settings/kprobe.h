/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definition of a probe in kprobe_events or dynamic_events: at the entry of a function, inside
 * one, or at its return.
 *
 *	p[:[GRP/][NAME]] SYMBOL[+OFFS] [[ARG=]FETCH[:TYPE]]...
 *	p[:[GRP/][NAME]] ADDRESS [[ARG=]FETCH[:TYPE]]...
 *	p[:[GRP/][NAME]] SYMBOL%return [[ARG=]FETCH[:TYPE]]...
 *	r[MAXACTIVE][:[GRP/][NAME]] SYMBOL [[ARG=]FETCH[:TYPE]]...
 *	f[MAXACTIVE][:[GRP/][NAME]] SYMBOL[%return] [[ARG=]FETCH[:TYPE]]...
 *	t[:[GRP/][NAME]] TRACEPOINT [[ARG=]FETCH[:TYPE]]...
 *
 *	FETCH	%REGISTER, $argN, $retval, $stack, $stackN, $comm, $mark, \NUMBER, \"string",
 *		@ADDRESS, @SYMBOL[+-OFFSET], +-[u]OFFSET(FETCH),
 *		PARAMETER[->MEMBER[.MEMBER]...], $retval[->MEMBER...],
 *		(STRUCT[,MEMBER])FETCH->MEMBER[->MEMBER]..., (STRUCT[,MEMBER])(FETCH)->MEMBER...
 *		$ustack in the group hvtrace: the task's stack in user space (HV_FETCH_USER_STACK)
 *		$ustackcopy in that group: its registers and a copy of the stack (HV_FETCH_USER_COPY)
 *		$ustackrest in that group: the same from HV_USER_COPY_REST on
 *	TYPE	u8 to u64, s8 to s64, x8 to x64, char, symbol, string, ustring,
 *		bWIDTH@OFFSET/SIZE, TYPE[N], %pd, %pD
 *
 * $arg* as a FETCH stands for all parameters. Names and types of parameters, members and return
 * values come from the kernel's BTF. %pd and %pD, for the address of a dentry or a file, expand to
 * the FETCH that reads its name.
 *
 * The host computes each FETCH from the registers that a trampoline records with a call
 * (HV_EVENT_ID_REGS) or a return (HV_EVENT_ID_RETURN, HV_EVENT_ID_RETURN_ARGS), and from guest
 * memory. A program made here (struct hv_fetch_step) tells the trampoline which memory to read at
 * that time. The number of concurrent calls, MAXACTIVE, is not limited.
 *
 * Syntax and errors are the kernel's (kernel/trace/trace_probe.c, trace_kprobe.c, trace_fprobe.c).
 * EOPNOTSUPP: the kernel would accept the definition, but hvtrace does not support it. eprobe.h
 * handles event probes; tree/instance/dynamic/kprobes.h finds the function and makes the event.
 * Pure. */
#pragma once

#include <stdbool.h>

#include "arch/arch.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/text.h"
#include "ringbuf/abi.h"
#include "tree/settings/event_set.h"

#define HV_KPROBE_ARGS_MAX 128	/* MAX_TRACE_ARGS */
#define HV_KPROBE_NAME_MAX 64	/* MAX_EVENT_NAME_LEN, including the NUL */
#define HV_KPROBE_SIZE_MAX 2048 /* maximum size of all arguments in a record */

#define HV_KPROBE_DEREFS_MAX 14 /* per argument */

enum hv_kprobe_source {
	HV_KPROBE_NUMBER, /* a register, a constant, or memory */
	HV_KPROBE_COMM,	  /* the task's name */
	HV_KPROBE_STRING, /* a constant string */
	HV_KPROBE_MARK,	  /* a mark's text; a call that ends no mark is not an event of the probe */
	HV_KPROBE_FIELD,  /* a field of the probed event */
	HV_KPROBE_USTACK, /* the words of the task's stack in user space */
	HV_KPROBE_USTACK_COPY,
	HV_KPROBE_USTACK_REST,
};

struct hv_kprobe_type; /* type of an argument */

/* A field of the probed event. */
struct hv_kprobe_event_field {
	uint32_t off, size_bytes;
	bool is_signed;
	enum hv_field_form form;
};

/* A memory read at the current value plus an offset. */
struct hv_kprobe_deref {
	int64_t off;
	bool is_user; /* user space, regardless of the address */
};

struct hv_kprobe_arg {
	char *name, *fetch; /* owned; FETCH includes the type, as written */
	char *field;	    /* owned; the type for the format file */
	enum hv_kprobe_source source;
	struct hv_arch_register number;
	struct hv_kprobe_event_field event_field;
	char *symbol; /* owned; NUMBER's addend is relative to this symbol; may be NULL */
	struct hv_kprobe_deref derefs[HV_KPROBE_DEREFS_MAX]; /* innermost first */
	unsigned nr_derefs;
	bool is_memory; /* the user wrote the last read as a memory access; false for $stackN */
	char *string;	/* owned */
	const struct hv_kprobe_type *type;
	unsigned count; /* array length; 0: not an array */
	bool is_bitfield;
	uint8_t left, right;   /* shifts for a bit-field */
	uint32_t off;	       /* offset of the argument's field after the probe's address */
	uint16_t first_result; /* index of its first memory result */
};

struct hv_kprobe {
	char *group, *name, *symbol; /* owned; SYMBOL as shown */
	/* Owned. The probed function: usually SYMBOL. If SYMBOL is a tracepoint: the no-op kernel
	 * function that the tracepoint is made to call; its arguments follow a pointer. */
	char *function;
	/* The probe is not at a function entry, but OFF bytes after the start of FUNCTION, or at
	 * address OFF if FUNCTION is empty. SYMBOL includes the offset. */
	bool is_inside;
	uint64_t off;
	/* The patch site of FUNCTION, if the definition used an address or an offset, because other
	 * functions may have the same name. 0: FUNCTION alone identifies it. */
	struct hv_gva entry;
	bool is_return;
	bool needs_all_regs; /* at an entry: needs the registers of HV_EVENT_ID_ALL_REGS */
	bool needs_args;     /* IS_RETURN: fetches an argument of the call at its return */
	bool is_fprobe;	     /* written with f or t: listed only in dynamic_events */
	bool is_tracepoint;
	bool is_event;		    /* an event probe; SYMBOL is SYSTEM.EVENT (eprobe.h) */
	unsigned maxactive;	    /* 0: not specified */
	struct hv_kprobe_arg *args; /* owned */
	size_t nr_args;
	uint32_t len_bytes;  /* size of the fields of all arguments */
	uint16_t nr_results; /* number of results of its program */
	uint16_t serial;     /* set by the caller: upper half of the tags of its results */
};

#define HV_KPROBE_NOWHERE (~0u)
/* Details that the kernel's error_log reports in addition to the error. */
struct hv_kprobe_fault {
	/* The column, with one blank between words; HV_KPROBE_NOWHERE: no column is reported. */
	unsigned at;
	const char *also; /* a second message for this column; NULL: none */
};
/* Returns the subsystem that refuses a command with first word WORD, as named in the kernel's
 * error_log. */
const char *hv_kprobe_where(const char *word);
/* A function entry that an address or an offset refers to. */
struct hv_kprobe_entry {
	const char *function; /* borrowed from the kernel image */
	struct hv_gva site;   /* patch site of FUNCTION */
};

/* Properties of the guest's kernel. */
struct hv_kprobe_kernel {
	const struct hv_arch *arch;
	const struct hv_btf *btf; /* NULL: the kernel has no BTF */
	/* The kernel's own probes use BTF (CONFIG_PROBE_EVENTS_BTF_ARGS): an unnamed $argN gets the
	 * parameter's name, and $retval the function's return type. */
	bool has_btf_args;
	/* Returns the BTF of the module that contains FUNCTION, written FUNCTION or
	 * MODULE:FUNCTION, if vmlinux BTF does not have it. NULL if no module has it. Borrowed
	 * until the parser returns. May be NULL: modules have no BTF. */
	const struct hv_btf *(*module_btf)(void *module_data, const char *function);
	/* Returns whether FUNCTION exists. NULL: the kernel checks this after it has parsed the
	 * arguments, so the parser does not check it. */
	bool (*has_function)(void *module_data, const char *function);
	/* Finds the function with its entry, i.e. its first instruction or its patch site, at
	 * ADDRESS. Returns false if ADDRESS is not an entry. NULL: finds no entries. */
	bool (*entry_at)(void *module_data, uint64_t address, struct hv_kprobe_entry *ret);
	/* Like entry_at(), for the address OFF bytes after the start of FUNCTION. */
	bool (*entry_behind)(void *module_data, const char *function, uint64_t off,
			     struct hv_kprobe_entry *ret);
	void *module_data;
	bool no_maxactive; /* fprobes do not accept MAXACTIVE */
	bool drops_args;   /* ignores arguments after HV_KPROBE_ARGS_MAX; otherwise refuses them */
	bool has_dentries; /* accepts %pd and %pD */
	bool keeps_args;   /* return probes can fetch the arguments of the call */
	bool has_casts;	   /* accepts typecasts, and limits a FETCH to eight nested levels */
	/* Finds the value that the steps HV_FETCH_USER_STACK and HV_FETCH_USER_COPY need; 0: unknown.
	 * NULL: stacks in user space are not supported. */
	struct hv_err *(*find_user_regs)(void *module_data, uint32_t *ret);
};
/* Parses the NR words of a command. Sets *RET_FAULT only on error. Replaces words with %pd or %pD
 * in WORDS by their expansion, which the kernel also shows. *RET_MEANT owns the expanded words, or
 * is NULL; the caller frees it, also on error. */
struct hv_err *hv_kprobe_parse(const struct hv_kprobe_kernel *kernel, char **words, size_t nr,
			       struct hv_kprobe *ret, struct hv_kprobe_fault *ret_fault,
			       char **ret_meant) hv_must_use;
void hv_kprobe_deinit(struct hv_kprobe *k);

/* Returns the number, from 1, of the first argument with another name or type; 0: none. */
size_t hv_kprobe_different_arg(const struct hv_kprobe *a, const struct hv_kprobe *b);
/* Returns whether A and B, whose arguments have the same names and types, probe the same address
 * and fetch the same values. */
bool hv_kprobe_is_same(const struct hv_kprobe *a, const struct hv_kprobe *b);
/* Returns whether NAME ("[GRP/]NAME" or "GRP/") is the name of K or of its group. Without a group,
 * any group matches. */
bool hv_kprobe_is_named(const struct hv_kprobe *k, const char *name);
/* Returns whether K has the location and the first arguments that the NR words name, as shown. */
bool hv_kprobe_has_head(const struct hv_kprobe *k, char *const *words, size_t nr);

/* Adds K's line of kprobe_events, with a newline. */
void hv_kprobe_text(const struct hv_kprobe *k, struct hv_text *ret);
/* Adds the print_fmt of K's event. */
void hv_kprobe_print_fmt(const struct hv_kprobe *k, struct hv_text *ret);

/* An argument in a format file. */
struct hv_kprobe_field {
	const char *type;
	uint32_t size_bytes;
	bool is_signed;
};
struct hv_kprobe_field hv_kprobe_field_of(const struct hv_kprobe_arg *arg);

/* How the guest records the probed event: as it is, or, if IS_OF_SEVERAL, inside a carrier from
 * which the host makes several events. The carrier's entry then has NR in the eight bytes at
 * NR_OFF, and the probed event's words start at CARRIER_WORDS_OFF instead of WORDS_OFF. */
struct hv_kprobe_carrier {
	bool is_of_several;
	uint64_t nr;
	uint32_t nr_off, words_off, carrier_words_off;
};
/* Appends to the *NR steps in RET the steps that read memory for K. Symbols must be resolved.
 * CARRIER: of the probed event; NULL: K probes a function. Returns false if there would be more
 * than HV_FETCH_STEPS_MAX steps. */
bool hv_kprobe_program(const struct hv_kprobe *k, const struct hv_kprobe_carrier *carrier,
		       struct hv_fetch_step *ret, size_t *nr);

/* The data recorded for one call. */
struct hv_kprobe_call {
	uint64_t words[HV_WORDS_MAX]; /* words that were not recorded are 0 */
	struct hv_span results;	      /* HV_FETCH_HEAD; untrusted */
	const char *comm;	      /* the task's name, NUL-terminated */
	const char *mark; /* the mark that this call ends (tracer/events/guest_marks.h); or NULL */
	struct hv_span event; /* event probes: the probed event's entry; untrusted */
};
/* Returns whether RESULTS contains results of K. */
bool hv_kprobe_has_results(const struct hv_kprobe *k, struct hv_span results);
/* Returns whether K has a $mark. */
bool hv_kprobe_has_mark(const struct hv_kprobe *k);
/* Fills the arguments of an entry, starting at ARGS_OFF of ENTRY, which has MAX_BYTES. Returns the
 * length of the entry, or 0 if it does not fit or the call is not an event of the probe. Truncates
 * strings at the end of the entry. */
uint32_t hv_kprobe_fill(const struct hv_kprobe *k, const struct hv_kprobe_call *call,
			uint32_t args_off, uint8_t *entry, uint32_t max_bytes);
