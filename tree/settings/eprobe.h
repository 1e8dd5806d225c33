/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe of an event, as dynamic_events defines it:
 *
 *	e[:[GRP/][NAME]] SYSTEM.EVENT [[ARG=]FETCH[:TYPE]]... [if FILTER]
 *
 *	FETCH	$FIELD, $comm, \NUMBER, \"string", @ADDRESS, @SYMBOL[+-OFFSET],
 *		+-[u]OFFSET(FETCH); where the kernel has typecasts, FIELD and
 *		(STRUCT[,MEMBER])FETCH->MEMBER...
 *	TYPE	as of probes of functions (kprobe.h)
 *
 * Each FETCH is made by the host of the entry of the event, and of what the stub has read of the
 * guest's memory when it recorded that: the results of a program, as for probes of functions. What
 * only the kernel can have is refused by name: the address of a text in the record. Words and
 *errors are those of the kernel (kernel/trace/trace_eprobe.c). Leaves to others: which events there
 *are, what becomes of one (tree/instance/dynamic/eprobes.h). Pure. */
#pragma once

#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/kprobe.h"

struct hv_eprobe {
	struct hv_kprobe is; /* its SYMBOL is SYSTEM.EVENT */
	struct hv_event_ref of;
	struct hv_event_filter *filter; /* owned; of the event that is probed; NULL: none */
};

/* What is known of the kernel. */
struct hv_eprobe_kernel {
	struct hv_filter_scope scope; /* without a type */
	/* It looks for a field where it comes to it, and not after the type. */
	bool looks_early;
	const struct hv_btf *btf;	  /* NULL: it has none */
	bool has_casts;			  /* its probes know typecasts, and fields without a $ */
	bool drops_args;		  /* as in struct hv_kprobe_kernel */
	const struct hv_event_type *type; /* set by hv_eprobe_parse(): of the event */
	bool is_recorded;		  /* likewise: by the guest, which can read memory then */
};

/* Parses the NR words of a command. On error *RET_FAULT is as hv_kprobe_parse() sets it, and
 * *RET_FILTER, if its code is not 0, what is wrong with the filter, *RET_FILTER_TEXT, which the
 * caller frees. */
struct hv_err *hv_eprobe_parse(struct hv_eprobe_kernel *kernel, char *const *words, size_t nr,
			       struct hv_eprobe *ret, struct hv_kprobe_fault *ret_fault,
			       struct hv_filter_fault *ret_filter,
			       char **ret_filter_text) hv_must_use;
void hv_eprobe_deinit(struct hv_eprobe *e);

/* Whether E has the event and the first arguments that the NR words say. */
bool hv_eprobe_has_head(const struct hv_eprobe *e, char *const *words, size_t nr);
