/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definition of an event probe in dynamic_events:
 *
 *	e[:[GRP/][NAME]] SYSTEM.EVENT [[ARG=]FETCH[:TYPE]]... [if FILTER]
 *
 *	FETCH	$FIELD, $comm, \NUMBER, \"string", @ADDRESS, @SYMBOL[+-OFFSET],
 *		+-[u]OFFSET(FETCH); if the kernel has typecasts, also FIELD and
 *		(STRUCT[,MEMBER])FETCH->MEMBER...
 *	TYPE	as for function probes (kprobe.h)
 *
 * The host computes each FETCH from the event's entry and from the guest memory that the trampoline
 * read when it recorded the event. A FETCH that only the kernel can compute, such as the address of
 * a string in the record, is refused by name. Syntax and errors are the kernel's
 * (kernel/trace/trace_eprobe.c). tree/instance/dynamic/eprobes.h keeps the probes and creates their
 * events. Pure. */
#pragma once

#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/kprobe.h"

struct hv_eprobe {
	struct hv_kprobe is; /* SYMBOL is SYSTEM.EVENT */
	struct hv_event_ref of;
	struct hv_event_filter *filter; /* owned; filter on the probed event; may be NULL */
};

/* Properties of the guest's kernel. */
struct hv_eprobe_kernel {
	struct hv_filter_scope scope; /* `type` is unset */
	/* The kernel looks up a field while it parses the FETCH, before it parses the type. */
	bool looks_early;
	const struct hv_btf *btf;	  /* NULL: the kernel has no BTF */
	bool has_casts;			  /* accepts typecasts, and fields without $ */
	bool drops_args;		  /* as in struct hv_kprobe_kernel */
	const struct hv_event_type *type; /* the probed event's type, set by hv_eprobe_parse() */
	bool is_recorded; /* set by hv_eprobe_parse(): the guest records the probed event */
};

/* Parses the NR words of a command. On error, sets *RET_FAULT as hv_kprobe_parse() does. If the
 * filter is wrong, *RET_FILTER has a nonzero code and *RET_FILTER_TEXT is the filter, which the
 * caller frees. */
struct hv_err *hv_eprobe_parse(struct hv_eprobe_kernel *kernel, char *const *words, size_t nr,
			       struct hv_eprobe *ret, struct hv_kprobe_fault *ret_fault,
			       struct hv_filter_fault *ret_filter,
			       char **ret_filter_text) hv_must_use;
void hv_eprobe_deinit(struct hv_eprobe *e);

/* Returns whether E has the event and the first arguments that the NR words name. */
bool hv_eprobe_has_head(const struct hv_eprobe *e, char *const *words, size_t nr);
