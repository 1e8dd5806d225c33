/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe at the entry of a function, at a place inside one, or of its returns, as kprobe_events
 * defines it:
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
 *	TYPE	u8 to u64, s8 to s64, x8 to x64, char, symbol, string, ustring,
 *		bWIDTH@OFFSET/SIZE, TYPE[N], %pd, %pD
 *
 * A FETCH may be $arg*, which is all parameters. Names and types of parameters, members and
 * results are those of the kernel's BTF. %pd and %pD, of the address of a dentry or a file, are
 * other words for the FETCH that reads its name.
 *
 * Each FETCH is made from the registers that a stub records with a call (HV_EVENT_ID_REGS), or
 * with a return (HV_EVENT_ID_RETURN and HV_EVENT_ID_RETURN_ARGS), by the host, and from what the
 *stub has read of the guest's memory at that time: the results of a program that is made here
 *(struct hv_fetch_step). How many calls may be open at a time, MAXACTIVE, is not limited. Words and
 *errors are those of the kernel (kernel/trace/trace_probe.c, trace_kprobe.c, trace_fprobe.c); what
 *only the kernel would accept is EOPNOTSUPP. Leaves to others: probes of events (eprobe.h), which
 *functions there are, the event (tree/instance/dynamic/kprobes.h). Pure. */
#pragma once

#include <stdbool.h>

#include "arch/arch.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/text.h"
#include "ringbuf/abi.h"
#include "tree/settings/field_form.h"

#define HV_KPROBE_ARGS_MAX 128	/* MAX_TRACE_ARGS */
#define HV_KPROBE_NAME_MAX 64	/* MAX_EVENT_NAME_LEN, with the 0 at the end */
#define HV_KPROBE_SIZE_MAX 2048 /* bytes of all arguments of a record */

#define HV_KPROBE_DEREFS_MAX 14 /* of an argument */

enum hv_kprobe_source {
	HV_KPROBE_NUMBER, /* of a register, or a constant; or memory */
	HV_KPROBE_COMM,	  /* the task's name */
	HV_KPROBE_STRING, /* a constant */
	HV_KPROBE_MARK,	  /* the text of a mark; calls that end none are no events of the probe */
	HV_KPROBE_FIELD,  /* of the event that is probed */
};

struct hv_kprobe_type; /* of an argument */

/* A field of the event that is probed. */
struct hv_kprobe_event_field {
	uint32_t off, size_bytes;
	bool is_signed;
	enum hv_field_form form;
};

/* Memory that is read at a value and an offset. */
struct hv_kprobe_deref {
	int64_t off;
	bool is_user; /* whatever the address looks like */
};

struct hv_kprobe_arg {
	char *name, *fetch; /* owned; FETCH with its type, as it was written */
	char *field;	    /* owned; its type in a format file */
	enum hv_kprobe_source source;
	struct hv_arch_register number;
	struct hv_kprobe_event_field event_field;
	char *symbol; /* owned; NULL, or what NUMBER is the address of, but for its addend */
	struct hv_kprobe_deref derefs[HV_KPROBE_DEREFS_MAX]; /* the innermost first */
	unsigned nr_derefs;
	bool is_memory; /* the last one was written as memory; a word of the stack is none */
	char *string;	/* owned */
	const struct hv_kprobe_type *type;
	unsigned count; /* of an array; 0: it is none */
	bool is_bitfield;
	uint8_t left, right;   /* shifts, of a bitfield */
	uint32_t off;	       /* of its field behind the address of the probe */
	uint16_t first_result; /* of what is read for it */
};

struct hv_kprobe {
	char *group, *name, *symbol; /* owned; SYMBOL as it is shown */
	/* Owned: what is probed: SYMBOL, or the kernel's function that does nothing, for SYMBOL, a
	 * tracepoint, to call; its arguments are behind a pointer. */
	char *function;
	/* At a place that is no function's entry: so far behind the start of FUNCTION, or, where
	 * that is empty, at this address. SYMBOL has the offset in it. */
	bool is_inside;
	uint64_t off;
	/* The patch site of FUNCTION, if an address or an offset led to it: other functions may
	 * have the same name. 0: FUNCTION alone names it. */
	struct hv_gva entry;
	bool is_return;
	bool needs_all_regs; /* at an entry: of a place's registers, HV_EVENT_ID_PLACE */
	bool needs_args;     /* IS_RETURN: an argument of the call is fetched, when it returns */
	bool is_fprobe;	     /* written with f or t: only dynamic_events has it */
	bool is_tracepoint;
	bool is_event;	    /* what is probed is an event, SYMBOL: SYSTEM.EVENT (eprobe.h) */
	unsigned maxactive; /* 0: it was not said */
	struct hv_kprobe_arg *args; /* owned */
	size_t nr_args;
	uint32_t len_bytes;  /* of the fields of all arguments */
	uint16_t nr_results; /* of its program */
	uint16_t serial;     /* whoever uses it sets it: the upper half of its results' tags */
};

#define HV_KPROBE_NOWHERE (~0u)
/* What is wrong with a command, as error_log of the kernel says it, besides the error. */
struct hv_kprobe_fault {
	/* The column, in the words with one blank between them; HV_KPROBE_NOWHERE: it says
	 * nothing. */
	unsigned at;
	const char *also; /* what it says of the same place, too; NULL: nothing */
};
/* Who refuses WORD, the first one of a command, as error_log of the kernel names it. */
const char *hv_kprobe_where(const char *word);
/* A function whose entry an address or an offset leads to. */
struct hv_kprobe_entry {
	const char *function; /* borrowed from the kernel */
	struct hv_gva site;   /* its patch site */
};

/* What is known of the kernel. */
struct hv_kprobe_kernel {
	const struct hv_arch *arch;
	const struct hv_btf *btf; /* NULL: it has none */
	/* Its own probes have names and types by BTF (CONFIG_PROBE_EVENTS_BTF_ARGS): so $argN
	 * without a name has that of the parameter, and $retval the type of the function. */
	bool has_btf_args;
	/* Returns the BTF of the module with FUNCTION, which BTF has no function of,
	 * MODULE:FUNCTION or FUNCTION; borrowed until the parser returns; NULL: there is none.
	 * NULL: no module has any. */
	const struct hv_btf *(*module_btf)(void *module_data, const char *function);
	/* Whether there is a FUNCTION. NULL: the kernel's kprobes ask this only after all
	 * arguments; a probe of none is not refused here. */
	bool (*has_function)(void *module_data, const char *function);
	/* Finds the function whose entry is at ADDRESS: its first instruction, or its patch site
	 * after that. False: ADDRESS is no entry. NULL: no entry is found. */
	bool (*entry_at)(void *module_data, uint64_t address, struct hv_kprobe_entry *ret);
	/* The same for the address OFF bytes after the start of FUNCTION. */
	bool (*entry_behind)(void *module_data, const char *function, uint64_t off,
			     struct hv_kprobe_entry *ret);
	void *module_data;
	bool no_maxactive; /* its fprobes have none */
	bool drops_args;   /* it ignores arguments after HV_KPROBE_ARGS_MAX; else it refuses them */
	bool has_dentries; /* its probes know %pd and %pD */
	bool keeps_args;   /* its probes of returns have the arguments of the call */
	bool has_casts;	   /* its probes know typecasts, and a FETCH is at most eight deep */
};
/* Parses the NR words of a command. *RET_FAULT is set on error only. A word with %pd or %pD is
 * replaced in WORDS by what it means, as the kernel does, which then shows that one. *RET_MEANT:
 * the texts of such words, or NULL; the caller frees it, also on error.
 */
struct hv_err *hv_kprobe_parse(const struct hv_kprobe_kernel *kernel, char **words, size_t nr,
			       struct hv_kprobe *ret, struct hv_kprobe_fault *ret_fault,
			       char **ret_meant) hv_must_use;
void hv_kprobe_deinit(struct hv_kprobe *k);

/* The number, from 1, of the first argument that differs in name or type; 0: none. */
size_t hv_kprobe_different_arg(const struct hv_kprobe *a, const struct hv_kprobe *b);
/* Whether A and B, of which no argument differs so, are at one place and fetch the same. */
bool hv_kprobe_is_same(const struct hv_kprobe *a, const struct hv_kprobe *b);
/* Whether NAME, [GRP/]NAME, is that of K. Without a group it is of any. */
bool hv_kprobe_is_named(const struct hv_kprobe *k, const char *name);
/* Whether K has the place and the first arguments that the NR words say, as they are shown. */
bool hv_kprobe_has_head(const struct hv_kprobe *k, char *const *words, size_t nr);

/* Adds the line of kprobe_events, with a newline. */
void hv_kprobe_text(const struct hv_kprobe *k, struct hv_text *ret);
/* Adds the print_fmt of its event. */
void hv_kprobe_print_fmt(const struct hv_kprobe *k, struct hv_text *ret);

/* What a format file says of an argument. */
struct hv_kprobe_field {
	const char *type;
	uint32_t size_bytes;
	bool is_signed;
};
struct hv_kprobe_field hv_kprobe_field_of(const struct hv_kprobe_arg *arg);

/* How many results ARG needs. */
uint16_t hv_kprobe_nr_results(const struct hv_kprobe_arg *arg);
/* How the guest records the event that is probed: as it is; or, IS_OF_SEVERAL, as an event of which
 * several are made, which has NR in the eight bytes at NR_OFF of its entry, and at
 * CARRIER_WORDS_OFF what the event that is probed has at WORDS_OFF. */
struct hv_kprobe_carrier {
	bool is_of_several;
	uint64_t nr;
	uint32_t nr_off, words_off, carrier_words_off;
};
/* Adds the steps that read what K needs of memory to those of RET, of which there are *NR. The
 * symbols are resolved. CARRIER: of the event that is probed; NULL: a function is. False: they
 * would be more than HV_FETCH_STEPS_MAX. */
bool hv_kprobe_program(const struct hv_kprobe *k, const struct hv_kprobe_carrier *carrier,
		       struct hv_fetch_step *ret, size_t *nr);

/* What was recorded of a call. */
struct hv_kprobe_call {
	uint64_t words[HV_WORDS_MAX]; /* what it does not have is 0 */
	struct hv_span results;	      /* HV_FETCH_HEAD; hostile */
	const char *comm;	      /* the task's name, with a NUL */
	const char *mark;     /* that the call ends (tracer/events/guest_marks.h); NULL: none */
	struct hv_span event; /* of a probe of an event: its entry; hostile */
};
/* Whether RESULTS has any of K. */
bool hv_kprobe_has_results(const struct hv_kprobe *k, struct hv_span results);
/* Whether a FETCH of K is a mark. */
bool hv_kprobe_has_mark(const struct hv_kprobe *k);
/* Fills the arguments of an entry, from offset ARGS_OFF of ENTRY on, of MAX_BYTES. Returns the
 * length of the entry; 0: it does not fit, or the call is no event of the probe. Strings are cut
 * off where it ends. */
uint32_t hv_kprobe_fill(const struct hv_kprobe *k, const struct hv_kprobe_call *call,
			uint32_t args_off, uint8_t *entry, uint32_t max_bytes);
