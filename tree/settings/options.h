/* The options of trace_options and options/: their names, whose they are, what they are at first.
 * An option is here when something obeys it.
 * Leaves to others: what an option does (who asks hv_options_on), its files (files/options.c).
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* In the order of trace_options: those of all tracers, then each tracer's own together. */
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
	HV_OPT_CONTEXT_INFO,
	HV_OPT_LATENCY_FORMAT,
	HV_OPT_RECORD_CMD,
	HV_OPT_RECORD_TGID,
	HV_OPT_OVERWRITE,
	HV_OPT_DISABLE_ON_FREE,
	HV_OPT_IRQ_INFO,
	HV_OPT_MARKERS,
	HV_OPT_PAUSE_ON_TRACE,
	HV_OPT_FUNCTION_FORK,
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
	HV_NR_OPTIONS /* at most 64 */
};

struct hv_option_info {
	const char *name;
	const char *tracer;	/* whose it is; NULL: everybody's */
	unsigned on : 1;	/* at first */
	unsigned only_top : 1;	/* options/ of instances does not have it */
	unsigned is_zeroed : 1; /* off in a new instance */
};

/* By enum hv_option. */
extern const struct hv_option_info hv_option_infos[HV_NR_OPTIONS];

/* One instance's. */
struct hv_options {
	uint64_t bits;	 /* bit N: enum hv_option N is on */
	uint64_t absent; /* likewise: there is no such option with this guest */
};

struct hv_options hv_options_default(void);
/* A new instance's, by the top's. */
struct hv_options hv_options_inherited(const struct hv_options *top);

static inline bool hv_options_on(const struct hv_options *o, enum hv_option option)
{
	return o->bits >> option & 1;
}

static inline void hv_options_set(struct hv_options *o, enum hv_option option, bool on)
{
	o->bits = (o->bits & ~(UINT64_C(1) << option)) | (uint64_t)on << option;
}

static inline bool hv_options_have(const struct hv_options *o, enum hv_option option)
{
	return !(o->absent >> option & 1);
}

bool hv_option_find(const char *name, enum hv_option *ret);

/* What trace_options says while TRACER is the current one. */
void hv_options_text(const struct hv_options *o, const char *tracer, struct hv_text *ret);

/* What is written to trace_options: NAME or noNAME, white space around it. False: there is no such
 * option, or it is of a tracer that is not current. TEXT is cut up. */
bool hv_options_parse(const struct hv_options *o, char *text, const char *tracer,
		      enum hv_option *ret, bool *ret_on);
