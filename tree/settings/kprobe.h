/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe at the entry of a function, as kprobe_events defines it:
 *
 *	p[:[GRP/][NAME]] SYMBOL[+0] [[ARG=]FETCH[:TYPE]]...
 *
 *	FETCH	%REGISTER, $argN, $stack, $stack0, $comm, $mark, \NUMBER, \"string"
 *	TYPE	u8 to u64, s8 to s64, x8 to x64, char, symbol, string, bWIDTH@OFFSET/SIZE
 *
 * Each FETCH is made from the registers that a stub records with a call (HV_EVENT_ID_REGS), by the
 * host. What needs memory of the guest is refused by name, and so are probes elsewhere than at a
 * function's entry, and of returns. Words and errors are those of the kernel (kernel/trace/
 * trace_probe.c, trace_kprobe.c); what the kernel would accept is EOPNOTSUPP.
 * Leaves to others: which functions there are, the event (tree/instance/kprobes.h). Pure. */
#pragma once

#include <stdbool.h>

#include "arch/arch.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/text.h"

#define HV_KPROBE_ARGS_MAX 128	/* MAX_TRACE_ARGS */
#define HV_KPROBE_NAME_MAX 64	/* MAX_EVENT_NAME_LEN */
#define HV_KPROBE_SIZE_MAX 2048 /* bytes of all arguments of a record */

enum hv_kprobe_source {
	HV_KPROBE_NUMBER, /* of a register, or a constant */
	HV_KPROBE_COMM,	  /* the task's name */
	HV_KPROBE_STRING, /* a constant */
	HV_KPROBE_MARK,	  /* the text of a mark; calls that end none are no events of the probe */
};

struct hv_kprobe_type; /* of an argument */

struct hv_kprobe_arg {
	char *name, *fetch; /* owned; FETCH with its type, as it was written */
	enum hv_kprobe_source source;
	struct hv_arch_register number;
	char *string; /* owned */
	const struct hv_kprobe_type *type;
	bool is_bitfield;
	uint8_t left, right; /* shifts, of a bitfield */
	uint32_t off;	     /* of its field behind the address of the probe */
};

struct hv_kprobe {
	char *group, *name, *symbol; /* owned */
	struct hv_kprobe_arg *args;  /* owned */
	size_t nr_args;
	uint32_t len_bytes; /* of the fields of all arguments */
};

/* Parses the NR words of a command. On error *RET_AT is the column, in the words with one blank
 * between them, to which the kernel points (HV_KPROBE_NOWHERE: it says nothing). */
#define HV_KPROBE_NOWHERE (~0u)
struct hv_err *hv_kprobe_parse(const struct hv_arch *arch, char *const *words, size_t nr,
			       struct hv_kprobe *ret, unsigned *ret_at) hv_must_use;
void hv_kprobe_deinit(struct hv_kprobe *k);

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

/* A call from which an entry is made. */
struct hv_kprobe_call {
	const uint64_t *words; /* that were recorded (HV_REGS_WORDS) */
	const char *comm;      /* the task's name */
	const char *mark;      /* that the call ends (tracer/events/guest_marks.h); NULL: none */
};

/* Fills the arguments of an entry, from offset ARGS_OFF of ENTRY on, of MAX_BYTES. Returns the
 * length of the entry; 0: it does not fit, or the call is no event of the probe. */
uint32_t hv_kprobe_fill(const struct hv_kprobe *k, const struct hv_kprobe_call *call,
			uint32_t args_off, uint8_t *entry, uint32_t max_bytes);

/* Whether a fetch of K is a mark. */
bool hv_kprobe_has_mark(const struct hv_kprobe *k);
