/* Calls and returns as the text of function_graph: a tree for each CPU, as trace_options say.
 * Names come out safe for a terminal.
 * Leaves to others: which events, in what order. */
#pragma once

#include "base/text.h"
#include "tracer/event.h"
#include "tree/format/style.h"

/* One reader's place in the text: who ran last on each CPU, which calls are open there. */
struct hv_graph;

/* KERNEL is borrowed. The column of the CPU is as wide as NR_CPUS needs. */
struct hv_graph *hv_graph_new(const struct hv_kernel *kernel, unsigned nr_cpus) hv_must_use;
void hv_graph_free(struct hv_graph *g);

/* "# tracer: function_graph" and the titles of the columns there are. HEADER is told in latency
 * format only. */
void hv_graph_header(struct hv_text *out, const struct hv_style *style,
		     const struct hv_header *header);

/* The line of an entry or an exit and what belongs around it; nothing where options hide it.
 * NEXT is what comes after E on the same CPU, or NULL when that is not known. Returns whether it
 * was shown with E, as its return: it is not to be shown again. */
bool hv_graph_event(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		    const struct hv_event *e, const struct hv_event *next);

/* NS as microseconds with three decimals, or as many as fit (trace_print_graph_duration). */
void hv_graph_duration(struct hv_text *out, uint64_t ns);

/* Any other event of the buffer: TEXT, without a newline, among the calls. */
void hv_graph_comment(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const char *text);
