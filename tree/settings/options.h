/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of trace_options and options/: names, tracers and defaults. Contains only options
 * that have an effect. Callers of hv_options_on() implement options; files/options.c has the files.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/switch.h"
#include "base/text.h"
#include "tree/settings/rights.h"

/* In the order of trace_options: options of all tracers first, then those of each tracer. */
enum hv_option {
	HV_OPT_PRINT_PARENT,
	HV_OPT_SYM_OFFSET,
	HV_OPT_SYM_ADDR,
	HV_OPT_VERBOSE,
	HV_OPT_RAW,
	HV_OPT_HEX,
	HV_OPT_BIN,
	HV_OPT_BLOCK,
	HV_OPT_ANNOTATE,
	HV_OPT_USERSTACKTRACE,
	HV_OPT_SYM_USEROBJ,
	HV_OPT_CONTEXT_INFO,
	HV_OPT_LATENCY_FORMAT,
	HV_OPT_RECORD_CMD,
	HV_OPT_RECORD_TGID,
	HV_OPT_OVERWRITE,
	HV_OPT_DISABLE_ON_FREE,
	HV_OPT_IRQ_INFO,
	HV_OPT_MARKERS,
	HV_OPT_EVENT_FORK,
	HV_OPT_PAUSE_ON_TRACE,
	HV_OPT_FUNCTION_TRACE,
	HV_OPT_FUNCTION_FORK,
	HV_OPT_DISPLAY_GRAPH,
	HV_OPT_STACKTRACE,
	HV_OPT_FUNC_STACK_TRACE,
	HV_OPT_FUNCGRAPH_OVERRUN,
	HV_OPT_FUNCGRAPH_CPU,
	HV_OPT_FUNCGRAPH_OVERHEAD,
	HV_OPT_FUNCGRAPH_PROC,
	HV_OPT_FUNCGRAPH_DURATION,
	HV_OPT_FUNCGRAPH_ABSTIME,
	HV_OPT_FUNCGRAPH_IRQS,
	HV_OPT_FUNCGRAPH_TAIL,
	HV_OPT_FUNCGRAPH_RETVAL,
	HV_OPT_FUNCGRAPH_RETVAL_HEX,
	HV_OPT_SLEEP_TIME,
	HV_OPT_GRAPH_TIME,
	HV_OPT_FUNCGRAPH_HOST,
	HV_NR_OPTIONS /* at most 64 */
};

struct hv_option_info {
	const char *name;
	const char *tracer;	/* the tracer with this option; NULL: all tracers have it */
	uint32_t need;		/* rights, in addition to those of the file */
	unsigned on : 1;	/* default */
	unsigned only_top : 1;	/* instances do not have the option */
	unsigned is_zeroed : 1; /* off in a new instance */
};

/* Indexed by enum hv_option. */
extern const struct hv_option_info hv_option_infos[HV_NR_OPTIONS];

/* The options of one instance. */
struct hv_options {
	uint64_t bits;	 /* bit N: enum hv_option N is on */
	uint64_t absent; /* bit N: this guest does not have option N */
};

struct hv_options hv_options_default(void);
/* Returns the options of a new instance, which takes over most options of the top instance. */
struct hv_options hv_options_inherited(const struct hv_options *top);

static inline bool hv_options_on(const struct hv_options *o, enum hv_option option)
{
	return o->bits >> option & 1;
}

/* ON: 0 or not 0. */
static inline void hv_options_set(struct hv_options *o, enum hv_option option, enum hv_switch to)
{
	o->bits = (o->bits & ~(UINT64_C(1) << option)) | (uint64_t) !!to << option;
}

static inline bool hv_options_have(const struct hv_options *o, enum hv_option option)
{
	return !(o->absent >> option & 1);
}

bool hv_option_find(const char *name, enum hv_option *ret);

/* Adds the text of trace_options while TRACER is the current tracer. */
void hv_options_text(const struct hv_options *o, const char *tracer, struct hv_text *ret);

/* Parses what was written to trace_options: NAME or noNAME, with or without white space around it.
 * Returns false when there is no such option or it belongs to a tracer other than TRACER. Changes
 * TEXT. */
bool hv_options_parse(const struct hv_options *o, char *text, const char *tracer,
		      enum hv_option *ret, bool *ret_on);
