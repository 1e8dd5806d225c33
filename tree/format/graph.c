/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format follows kernel/trace/trace_functions_graph.c of Linux 6.12. */
#include "tree/format/graph.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "tree/format/style.h"
#include "tree/format/symbol.h"

#define NAME_LEN_MAX	 512 /* KSYM_NAME_LEN */
#define INDENT		 2
#define COMM_SHOWN	 7
#define PROC_WIDTH	 14
#define DURATION_WIDTH	 8
#define ERRNO_MAX	 4095
#define NO_TASK		 UINT32_MAX
#define NOT_IN_IRQ	 UINT_MAX
#define SWITCH_LINE	 " ------------------------------------------\n"
#define HOST_SHOWN_NS	 100
#define DURATION_NOTHING "              |  "

/* State of one CPU in the text. */
struct lane {
	uint32_t pid; /* NO_TASK: nothing shown yet */
	char comm[16];
	unsigned comment_depth;
	unsigned irq_depth;	   /* depth of the hidden interrupt, or NOT_IN_IRQ */
	struct hv_gva *open_calls; /* owned; indexed by depth, 0 where no call was shown */
	unsigned nr_open_calls;
};

struct hv_graph {
	struct hv_gva_range irqentry; /* functions that interrupts start with; empty: unknown */
	int cpu_width;
	struct lane *lanes; /* owned, indexed by CPU */
	unsigned nr_lanes;
};

struct hv_graph *hv_graph_new(const struct hv_kernel *kernel, unsigned nr_cpus)
{
	struct hv_graph *g = hv_alloc(sizeof(*g));
	struct hv_gva_range range;

	g->cpu_width = snprintf(NULL, 0, "%u", nr_cpus ? nr_cpus - 1 : 0);
	if (hv_kernel_symbol(kernel, "__irqentry_text_start", &range.start) &&
	    hv_kernel_symbol(kernel, "__irqentry_text_end", &range.end))
		g->irqentry = range;
	return g;
}

void hv_graph_free(struct hv_graph *g)
{
	if (!g)
		return;
	for (unsigned i = 0; i < g->nr_lanes; i++)
		free(g->lanes[i].open_calls);
	free(g->lanes);
	free(g);
}

static struct lane *lane_of(struct hv_graph *g, unsigned cpu)
{
	if (cpu >= g->nr_lanes) {
		g->lanes = hv_realloc_array(g->lanes, cpu + 1, sizeof(*g->lanes));
		for (; g->nr_lanes <= cpu; g->nr_lanes++)
			g->lanes[g->nr_lanes] =
				(struct lane){.pid = NO_TASK, .irq_depth = NOT_IN_IRQ};
	}
	return &g->lanes[cpu];
}

static struct hv_gva *open_call(struct lane *l, unsigned depth)
{
	if (depth >= l->nr_open_calls) {
		l->open_calls = hv_realloc_array(l->open_calls, depth + 1, sizeof(*l->open_calls));
		while (l->nr_open_calls <= depth)
			l->open_calls[l->nr_open_calls++] = hv_gva(0);
	}
	return &l->open_calls[depth];
}

/* -- columns ----------------------------------------------------------------------------------- */

/* Stands for the column of graph_start_ns, which is not an option. */
#define TIME_SINCE HV_NR_OPTIONS

/* The two lines of titles above the columns. */
static const struct {
	unsigned option;
	const char *title;
	const char *mark;
} columns[] = {
	{HV_OPT_FUNCGRAPH_ABSTIME, "     TIME       ", "      |         "},
	{TIME_SINCE, "   REL TIME     ", "      |         "},
	{HV_OPT_FUNCGRAPH_CPU, " CPU", " |  "},
	{HV_OPT_FUNCGRAPH_PROC, "  TASK/PID       ", "   |    |        "},
	{HV_OPT_LATENCY_FORMAT, "||||   ", "||||   "},
	{HV_OPT_FUNCGRAPH_DURATION, "  DURATION   ", "   |   |      "},
};

/* print_lat_header: the legend of the flags column. */
static void add_flags_legend(struct hv_text *out, const struct hv_style *style)
{
	static const char *const lines[] = {
		"  _-----=> irqs-off        ", " / _----=> need-resched    ",
		"| / _---=> hardirq/softirq ", "|| / _--=> preempt-depth   ",
		"||| /                      ",
	};
	int width = 0;

	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_ABSTIME))
		width += 16;
	if (style->graph_start_ns)
		width += 16;
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_CPU))
		width += 4;
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_PROC))
		width += 17;
	for (size_t i = 0; i < HV_ARRAY_LEN(lines); i++)
		hv_text_printf(out, "#%*s%s\n", width, "", lines[i]);
}

static bool has_column(const struct hv_style *style, unsigned option)
{
	return option == TIME_SINCE ? style->graph_start_ns != 0 : hv_style_is_on(style, option);
}

void hv_graph_header(struct hv_text *out, const struct hv_style *style,
		     const struct hv_header *header)
{
	hv_text_printf(out, "# tracer: %s\n#\n", header->tracer);
	if (!hv_style_is_on(style, HV_OPT_CONTEXT_INFO))
		return;
	if (hv_style_is_on(style, HV_OPT_LATENCY_FORMAT)) {
		if (!header->entries)
			return;
		hv_latency_header(out, style, header);
		add_flags_legend(out, style);
	}
	hv_text_add(out, "#");
	for (size_t i = 0; i < HV_ARRAY_LEN(columns); i++)
		if (has_column(style, columns[i].option))
			hv_text_add(out, columns[i].title);
	hv_text_add(out, "               FUNCTION CALLS\n#");
	for (size_t i = 0; i < HV_ARRAY_LEN(columns); i++)
		if (has_column(style, columns[i].option))
			hv_text_add(out, columns[i].mark);
	hv_text_add(out, "               |   |   |   |\n");
}

static void add_blanks(struct hv_text *out, unsigned nr)
{
	hv_text_add_fill(out, ' ', nr);
}

static void add_cpu(const struct hv_graph *g, struct hv_text *out, unsigned cpu)
{
	hv_text_add_char(out, ' ');
	hv_text_add_number(out, cpu, (unsigned)g->cpu_width);
	hv_text_add_bytes(out, ") ", 2);
}

/* Adds COMM-PID, centred in its column. */
static void add_proc(struct hv_text *out, const char *comm, uint32_t pid)
{
	HV_AUTO_TEXT struct hv_text proc = {0};
	unsigned left = 0;

	hv_text_add_guest(&proc, comm, COMM_SHOWN);
	hv_text_printf(&proc, "-%d", (int)pid);
	if (proc.len_bytes < PROC_WIDTH)
		left = PROC_WIDTH - (unsigned)proc.len_bytes;
	add_blanks(out, left / 2);
	hv_text_add(out, proc.data);
	add_blanks(out, left - left / 2);
}

/* Adds the columns before the duration. */
static void add_context(const struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
			const struct hv_event *e)
{
	uint64_t usecs = e->time_ns / 1000, start_ns = style->graph_start_ns;
	uint64_t since_ns = e->time_ns > start_ns ? e->time_ns - start_ns : 0;

	if (!hv_style_is_on(style, HV_OPT_CONTEXT_INFO))
		return;
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_ABSTIME))
		hv_text_printf(out, "%5" PRIu64 ".%06" PRIu64 " |  ", usecs / 1000000,
			       usecs % 1000000);
	if (style->graph_start_ns)
		hv_text_printf(out, "%9" PRIu64 " us |  ", since_ns / 1000);
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_CPU))
		add_cpu(g, out, e->cpu);
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_PROC)) {
		add_proc(out, e->comm, e->pid);
		hv_text_add(out, " | ");
	}
	if (hv_style_is_on(style, HV_OPT_LATENCY_FORMAT)) {
		hv_text_add(out, " ");
		hv_flags_letters(out, style, e);
		hv_text_add(out, " | ");
	}
}

static bool has_duration(const struct hv_style *style)
{
	return hv_style_is_on(style, HV_OPT_CONTEXT_INFO) &&
	       hv_style_is_on(style, HV_OPT_FUNCGRAPH_DURATION);
}

void hv_graph_duration(struct hv_text *out, uint64_t ns)
{
	char text[HV_DIGITS_MAX + 2 * DURATION_WIDTH], *at = hv_put_number(text, ns / 1000, 0);
	size_t whole = (size_t)(at - text);

	if (whole < DURATION_WIDTH - 1) {
		*at++ = '.';
		hv_put_digits(at, ns % 1000, 3);
		at += whole + 4 < DURATION_WIDTH ? 3 : DURATION_WIDTH - 1 - whole;
		whole = (size_t)(at - text);
	}
	memcpy(at, " us ", 4);
	for (at += 4; whole < DURATION_WIDTH; whole++)
		*at++ = ' ';
	hv_text_add_bytes(out, text, (size_t)(at - text));
}

static void add_duration(struct hv_text *out, const struct hv_style *style, uint64_t ns)
{
	if (!has_duration(style))
		return;
	hv_text_add_char(out, hv_style_is_on(style, HV_OPT_FUNCGRAPH_OVERHEAD) ? hv_latency_mark(ns)
									       : ' ');
	hv_text_add_char(out, ' ');
	hv_graph_duration(out, ns);
	hv_text_add_bytes(out, "|  ", 3);
}

static void add_no_duration(struct hv_text *out, const struct hv_style *style)
{
	if (has_duration(style))
		hv_text_add(out, DURATION_NOTHING);
}

/* -- lines around the call --------------------------------------------------------------------- */

/* Announces the task of E if it differs from the CPU's previous line. */
static void add_switch(const struct hv_graph *g, struct hv_text *out, struct lane *l,
		       const struct hv_event *e)
{
	if (l->pid != NO_TASK && l->pid != e->pid) {
		hv_text_add(out, SWITCH_LINE);
		add_cpu(g, out, e->cpu);
		add_proc(out, l->comm, l->pid);
		hv_text_add(out, " => ");
		add_proc(out, e->comm, e->pid);
		hv_text_add(out, "\n" SWITCH_LINE "\n");
	}
	l->pid = e->pid;
	memcpy(l->comm, e->comm, sizeof(l->comm));
}

/* Adds the line that marks the start or end of an interrupt, if E's function is one that interrupts
 * start with. */
static void add_arrow(const struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const char *arrow)
{
	if (!hv_gva_in(e->ip, g->irqentry))
		return;
	add_context(g, out, style, e);
	if (has_duration(style))
		hv_text_printf(out, "  %s |\n", arrow);
	else
		hv_text_printf(out, "%s\n", arrow);
}

/* Returns whether an entry is hidden because it is part of an interrupt (check_irq_entry). */
static bool hides_entry(const struct hv_graph *g, const struct hv_style *style, struct lane *l,
			const struct hv_event *e)
{
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_IRQS))
		return false;
	if (l->irq_depth == NOT_IN_IRQ && hv_gva_in(e->ip, g->irqentry))
		l->irq_depth = e->depth;
	return l->irq_depth != NOT_IN_IRQ;
}

/* Returns whether an exit is hidden because it is part of an interrupt. An exit at or above the
 * interrupt's entry depth ends the interrupt, regardless of its function: the matching exit may be
 * lost. */
static bool hides_exit(const struct hv_style *style, struct lane *l, const struct hv_event *e)
{
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_IRQS) || l->irq_depth == NOT_IN_IRQ)
		return false;
	if (e->depth <= l->irq_depth)
		l->irq_depth = NOT_IN_IRQ;
	return true;
}

/* -- calls ------------------------------------------------------------------------------------- */

/* Adds a function as %ps does: with its module and without an offset. */
static void add_function(struct hv_text *out, const struct hv_style *style, struct hv_gva ip)
{
	size_t start = out->len_bytes;
	struct hv_shown_symbol symbol;

	if (hv_symbol_texts_add(style->symbols, out, ip, HV_SYMBOL_WITH_MODULE))
		return;
	if (!hv_format_symbol(style, ip, &symbol)) {
		hv_text_printf(out, "0x%" PRIx64, ip.v);
		return;
	}
	hv_text_add_guest(out, symbol.name, NAME_LEN_MAX);
	if (symbol.module) {
		hv_text_add(out, " [");
		hv_text_add_guest(out, symbol.module, NAME_LEN_MAX);
		hv_text_add(out, "]");
	}
	hv_symbol_texts_keep(style->symbols, out, start, ip, HV_SYMBOL_WITH_MODULE);
}

/* Shows a negative errno, as an int or a long, in decimal, and any other value in hex. */
static void add_retval(struct hv_text *out, const struct hv_style *style, uint64_t retval)
{
	int64_t value = retval >> 32 ? (int64_t)retval : (int64_t)(int32_t)(uint32_t)retval;

	if (value < 0 && value >= -ERRNO_MAX && !hv_style_is_on(style, HV_OPT_FUNCGRAPH_RETVAL_HEX))
		hv_text_printf(out, " = %" PRId64, value);
	else
		hv_text_printf(out, " = 0x%" PRIx64, retval);
}

static bool shows_retval(const struct hv_style *style, const struct hv_event *exit)
{
	return exit->has_retval && hv_style_is_on(style, HV_OPT_FUNCGRAPH_RETVAL);
}

/* Adds the time during the call in which the host did not run the vCPU, unless it is negligible. */
static void add_host_time(struct hv_text *out, const struct hv_style *style,
			  const struct hv_event *exit)
{
	if (exit->host_ns >= HOST_SHOWN_NS && hv_style_is_on(style, HV_OPT_FUNCGRAPH_HOST))
		hv_text_printf(out, " /* host: %" PRIu64 ".%" PRIu64 " us */", exit->host_ns / 1000,
			       exit->host_ns % 1000 / 100);
}

static bool is_return_of(const struct hv_event *entry, const struct hv_event *next)
{
	return next && next->kind == HV_EVENT_GRAPH_EXIT && next->pid == entry->pid &&
	       next->ip.v == entry->ip.v;
}

static uint64_t duration_ns(const struct hv_event *exit)
{
	return exit->time_ns > exit->call_ns ? exit->time_ns - exit->call_ns : 0;
}

static void add_leaf(const struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *entry, const struct hv_event *exit)
{
	add_duration(out, style, duration_ns(exit));
	add_blanks(out, entry->depth * INDENT);
	add_function(out, style, entry->ip);
	hv_text_add(out, "();");
	if (shows_retval(style, exit)) {
		hv_text_add(out, " /*");
		add_retval(out, style, exit->retval);
		hv_text_add(out, " */");
	}
	add_host_time(out, style, exit);
	hv_text_add(out, "\n");
	add_arrow(g, out, style, entry, "<==========");
}

static bool add_entry(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const struct hv_event *next)
{
	struct lane *l = lane_of(g, e->cpu);

	if (hides_entry(g, style, l, e))
		return false;
	add_switch(g, out, l, e);
	add_arrow(g, out, style, e, "==========>");
	add_context(g, out, style, e);
	if (is_return_of(e, next)) {
		l->comment_depth = e->depth;
		*open_call(l, e->depth) = hv_gva(0);
		add_leaf(g, out, style, e, next);
		return true;
	}
	l->comment_depth = e->depth + 1;
	*open_call(l, e->depth) = e->ip;
	add_no_duration(out, style);
	add_blanks(out, e->depth * INDENT);
	add_function(out, style, e->ip);
	hv_text_add(out, "() {\n");
	return false;
}

static void add_exit(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *e)
{
	struct lane *l = lane_of(g, e->cpu);
	struct hv_gva *call = open_call(l, e->depth);
	bool seen = call->v == e->ip.v;

	if (hides_exit(style, l, e))
		return;
	*call = hv_gva(0);
	l->comment_depth = e->depth;
	add_switch(g, out, l, e);
	add_context(g, out, style, e);
	add_duration(out, style, duration_ns(e));
	add_blanks(out, e->depth * INDENT);
	hv_text_add(out, "}");
	if (!seen || hv_style_is_on(style, HV_OPT_FUNCGRAPH_TAIL) || shows_retval(style, e)) {
		hv_text_add(out, " /* ");
		add_function(out, style, e->ip);
		if (shows_retval(style, e))
			add_retval(out, style, e->retval);
		hv_text_add(out, " */");
	}
	add_host_time(out, style, e);
	hv_text_add(out, "\n");
	if (hv_style_is_on(style, HV_OPT_FUNCGRAPH_OVERRUN))
		hv_text_printf(out, " (Overruns: %" PRIu32 ")\n", e->overrun);
	add_arrow(g, out, style, e, "<==========");
}

bool hv_graph_event(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		    const struct hv_event *e, const struct hv_event *next)
{
	if (e->kind == HV_EVENT_GRAPH_ENTRY)
		return add_entry(g, out, style, e, next);
	add_exit(g, out, style, e);
	return false;
}

void hv_graph_comment(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const char *text)
{
	struct lane *l = lane_of(g, e->cpu);

	add_switch(g, out, l, e);
	add_context(g, out, style, e);
	add_no_duration(out, style);
	add_blanks(out, l->comment_depth > 1 ? l->comment_depth * INDENT : 0);
	hv_text_printf(out, "/* %s */\n", text);
}

/* -- sections ---------------------------------------------------------------------------------- */

struct hv_options hv_section_graph_options(const struct hv_options *options)
{
	static const struct {
		enum hv_option option;
		enum hv_switch to;
	} section_columns[] = {
		{HV_OPT_FUNCGRAPH_CPU, HV_ON},	     {HV_OPT_FUNCGRAPH_PROC, HV_ON},
		{HV_OPT_FUNCGRAPH_DURATION, HV_ON},  {HV_OPT_FUNCGRAPH_ABSTIME, HV_OFF},
		{HV_OPT_FUNCGRAPH_OVERHEAD, HV_OFF}, {HV_OPT_FUNCGRAPH_OVERRUN, HV_OFF},
		{HV_OPT_FUNCGRAPH_IRQS, HV_OFF},     {HV_OPT_FUNCGRAPH_TAIL, HV_OFF},
		{HV_OPT_FUNCGRAPH_RETVAL, HV_OFF},
	};
	struct hv_options shown = *options;

	for (size_t i = 0; i < HV_ARRAY_LEN(section_columns); i++)
		hv_options_set(&shown, section_columns[i].option, section_columns[i].to);
	return shown;
}

/* A section may end in interrupt entry code. This is not a hidden interrupt. */
void hv_section_graph_end(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
			  const struct hv_event *end)
{
	struct hv_options options = *style->options;
	struct hv_event entry = *end, exit = *end;
	struct hv_style shown = *style;

	hv_options_set(&options, HV_OPT_FUNCGRAPH_IRQS, HV_ON);
	shown.options = &options;
	entry.kind = HV_EVENT_GRAPH_ENTRY;
	entry.depth = 0;
	exit.kind = HV_EVENT_GRAPH_EXIT;
	exit.call_ns = exit.time_ns;
	hv_graph_event(g, out, &shown, &entry, &exit);
}
