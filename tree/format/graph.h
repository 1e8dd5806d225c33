/* Calls and returns as the text of function_graph: a tree for each CPU, as trace_options say.
 * Names come out safe for a terminal.
 * Leaves to others: which events, in what order. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

/* One reader's place in the text: who ran last on each CPU, which calls are open there. */
struct hv_graph;

/* KERNEL is borrowed. The column of the CPU is as wide as NR_CPUS needs. */
struct hv_graph *hv_graph_new(const struct hv_kernel *kernel, unsigned nr_cpus) hv_must_use;
void hv_graph_free(struct hv_graph *g);

/* "# tracer: function_graph" and the column titles, as far as the options have them. HEADER is
 * shown in latency format only. */
void hv_graph_header(struct hv_text *out, const struct hv_style *style,
		     const struct hv_header *header);

/* The line of an entry or an exit and what belongs around it, unless options hide it. NEXT is what
 * comes after E on the same CPU, or NULL if that is not known. Returns whether NEXT was shown with
 * E, as its return; it is not to be shown again then. */
bool hv_graph_event(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		    const struct hv_event *e, const struct hv_event *next);

/* NS as microseconds with three decimals, or as many as fit (trace_print_graph_duration). */
void hv_graph_duration(struct hv_text *out, uint64_t ns);

/* TEXT, without a newline, as a comment among the calls: how another kind of event is shown. */
void hv_graph_comment(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const char *text);
