/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/style.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernel/kernel.h"
#include "tracer/sections/section_tracer.h"
#include "tree/format/symbol.h"

enum when { ALWAYS, WITH_CPU, WITH_LAZY };

static const struct {
	enum when when;
	const char *title;
} titles[] = {
	{WITH_CPU, "CPU#"},
	{ALWAYS, "irqs-off/BH-disabled"},
	{ALWAYS, "need-resched"},
	{WITH_LAZY, "need-resched-lazy"},
	{ALWAYS, "hardirq/softirq"},
	{ALWAYS, "preempt-depth"},
	{WITH_LAZY, "preempt-lazy-depth"},
	{ALWAYS, "migrate-disable"},
};

#define LETTERS_MAX 10

static const char bars[HV_ARRAY_LEN(titles) + 1] = "||||||||";
static const char dashes[HV_ARRAY_LEN(titles) + 1] = "--------";

static bool is_there(const struct hv_flag_columns *c, enum when when)
{
	switch (when) {
	case ALWAYS:
		return true;
	case WITH_CPU:
		return c->has_cpu;
	case WITH_LAZY:
		return c->has_lazy;
	}
	return false;
}

void hv_flags_titles(struct hv_text *out, const struct hv_flag_columns *c)
{
	int nr_left = 0, nr_done = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(titles); i++)
		nr_left += is_there(c, titles[i].when);
	for (size_t i = 0; i < HV_ARRAY_LEN(titles); i++) {
		if (!is_there(c, titles[i].when))
			continue;
		hv_text_printf(out, "#%*s%.*s%s_%.*s=> %-*s\n", c->indent, "",
			       nr_done ? nr_done - 1 : 0, bars, nr_done ? " / " : "  ", nr_left,
			       dashes, c->title_width, titles[i].title);
		nr_done++;
		nr_left--;
	}
	hv_text_printf(out, "#%*s%.*s /     %-*s\n", c->indent, "", nr_done - 1, bars,
		       c->title_width, "delay");
}

static char irqs_char(uint8_t flags)
{
	if (flags & HV_TRACE_IRQS_OFF)
		return flags & HV_TRACE_BH_OFF ? 'D' : 'd';
	return flags & HV_TRACE_BH_OFF ? 'b' : '.';
}

static char resched_char(uint8_t flags)
{
	bool preempt = flags & HV_TRACE_PREEMPT_RESCHED;

	switch (flags & (HV_TRACE_NEED_RESCHED | HV_TRACE_NEED_RESCHED_LAZY)) {
	case HV_TRACE_NEED_RESCHED | HV_TRACE_NEED_RESCHED_LAZY:
		return preempt ? 'B' : 'b';
	case HV_TRACE_NEED_RESCHED:
		return preempt ? 'N' : 'n';
	case HV_TRACE_NEED_RESCHED_LAZY:
		return preempt ? 'L' : 'l';
	default:
		return preempt ? 'p' : '.';
	}
}

static char context_char(uint8_t flags)
{
	if (flags & HV_TRACE_NMI)
		return flags & HV_TRACE_HARDIRQ ? 'Z' : 'z';
	if (flags & HV_TRACE_HARDIRQ)
		return flags & HV_TRACE_SOFTIRQ ? 'H' : 'h';
	return flags & HV_TRACE_SOFTIRQ ? 's' : '.';
}

static char depth_char(uint8_t depth)
{
	return ".123456789abcdef"[depth & 15];
}

/* trace_print_lat_fmt. If a kernel has columns for lazy preemption, a lazy request is shown there
 * and not in need-resched. */
void hv_flags_letters(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	bool has_lazy = style->kernel->layout.has_lazy;
	uint8_t usual = e->flags;
	char letters[LETTERS_MAX];
	size_t nr = 0;

	if (has_lazy)
		usual &= (uint8_t)~HV_TRACE_NEED_RESCHED_LAZY;
	letters[nr++] = irqs_char(usual);
	letters[nr++] = resched_char(usual);
	if (has_lazy)
		letters[nr++] = e->flags == usual ? '.' : 'L';
	letters[nr++] = context_char(usual);
	letters[nr++] = depth_char(e->preempt_depth);
	if (has_lazy && e->lazy_depth)
		nr += (size_t)snprintf(letters + nr, sizeof(letters) - nr, "%x", e->lazy_depth);
	else if (has_lazy)
		letters[nr++] = '.';
	letters[nr++] = depth_char(e->migrate_depth);
	hv_text_add_bytes(out, letters, nr);
}

/* -- the latency format ------------------------------------------------------------------------ */

#define NAME_LEN_MAX   512
#define COMM_SHOWN     8
#define NS_PER_US      1000
#define US_PER_MS      1000
#define LATENCY_RULE   "# --------------------------------------------------------------------\n"
#define LATENCY_INDENT "#    -----------------\n"

static uint64_t to_usecs(uint64_t ns)
{
	return (ns + NS_PER_US / 2) / NS_PER_US;
}

/* Adds the location of a section's end. For a lock, this is the function that took or released it,
 * if known (get_lock_parent_ip). */
static void add_end(struct hv_text *out, const struct hv_style *style, const struct hv_event *end)
{
	bool is_lock = end->parent_ip.v && hv_kernel_in_lock_functions(style->kernel, end->ip);

	hv_format_address(out, style, is_lock ? end->parent_ip : end->ip);
}

/* Without a section, the latency and the task are zeros. A wait has no ends. */
void hv_latency_header(struct hv_text *out, const struct hv_style *style,
		       const struct hv_header *header)
{
	static const struct hv_section none;
	const struct hv_section *section = header->section ? header->section : &none;

	hv_text_printf(out, "# %s latency trace v1.1.5 on ", header->tracer);
	hv_text_add_guest(out, style->kernel->release, NAME_LEN_MAX);
	hv_text_printf(out,
		       "\n" LATENCY_RULE "# latency: %" PRIu64 " us, #%" PRIu64 "/%" PRIu64
		       ", CPU#%u | (M:%s VP:0, KP:0, SP:0 HP:0 #P:%u)\n" LATENCY_INDENT
		       "#    | task: ",
		       to_usecs(section->ns), header->entries, header->written, section->cpu,
		       hv_kernel_preempt_model(style->kernel), header->nr_cpus);
	hv_text_add_guest(out, section->to.comm, sizeof(section->to.comm));
	hv_text_printf(out, "-%u (uid:%u nice:%d policy:%u rt_prio:%u)\n" LATENCY_INDENT,
		       section->to.pid, section->uid, section->nice, section->policy,
		       section->rt_priority);
	if (section->from.ip.v) {
		hv_text_add(out, "#  => started at: ");
		add_end(out, style, &section->from);
		hv_text_add(out, "\n#  => ended at:   ");
		add_end(out, style, &section->to);
		if (to_usecs(section->stolen_ns))
			hv_text_printf(out, "\n#  => not run by the host: %" PRIu64 " us more",
				       to_usecs(section->stolen_ns));
		hv_text_add(out, "\n#\n");
	}
	hv_text_add(out, "#\n");
}

void hv_latency_columns(struct hv_text *out, const struct hv_style *style)
{
	const struct hv_flag_columns columns = {
		.has_cpu = true,
		.has_lazy = style->kernel->layout.has_lazy,
		.indent = 18,
		.title_width = 16,
	};
	const char *letters = columns.has_lazy ? "||||||||" : "||||||";

	if (hv_options_on(style->options, HV_OPT_VERBOSE))
		return;
	hv_flags_titles(out, &columns);
	hv_text_printf(out, "#  cmd     pid     %s time  |   caller     \n", letters);
	hv_text_printf(out, "#     \\   /        %s  \\    |    /       \n", letters);
}

char hv_latency_mark(uint64_t ns)
{
	static const struct {
		uint64_t above_ns;
		char mark;
	} marks[] = {{1000000000, '$'}, {100000000, '@'}, {10000000, '*'},
		     {1000000, '#'},	{100000, '!'},	  {10000, '+'}};

	for (size_t i = 0; i < HV_ARRAY_LEN(marks); i++)
		if (ns > marks[i].above_ns)
			return marks[i].mark;
	return ' ';
}

/* lat_print_timestamp */
static void add_time(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	const struct hv_latency *l = style->latency;
	bool verbose = hv_options_on(style->options, HV_OPT_VERBOSE);
	uint64_t since = e->time_ns > l->start_ns ? e->time_ns - l->start_ns : 0;
	uint64_t next = l->next_ns > e->time_ns ? l->next_ns - e->time_ns : 0;
	uint64_t since_us = to_usecs(since), next_us = to_usecs(next);

	if (style->clock == HV_CLOCK_RAW && verbose)
		hv_text_printf(out, "[%016" PRIx64 "] %" PRIu64 " (+%" PRIu64 "): ", e->time_ns,
			       since, next);
	else if (style->clock == HV_CLOCK_RAW)
		hv_text_printf(out, " %4" PRIu64 ": ", since);
	else if (verbose)
		hv_text_printf(out,
			       "[%08" PRIx64 "] %" PRIu64 ".%03" PRIu64 "ms (+%" PRIu64
			       ".%03" PRIu64 "ms): ",
			       to_usecs(e->time_ns), since_us / US_PER_MS, since_us % US_PER_MS,
			       next_us / US_PER_MS, next_us % US_PER_MS);
	else
		hv_text_printf(out, " %4" PRIu64 "us%c: ", since_us,
			       hv_latency_mark(next_us * NS_PER_US));
}

void hv_latency_context(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text comm = {0};

	hv_text_add_guest(&comm, e->comm, sizeof(e->comm));
	if (hv_options_on(style->options, HV_OPT_VERBOSE)) {
		hv_text_printf(out, "%16s %7d %3u %u %08x %08" PRIx64 " ",
			       comm.data ? comm.data : "", (int)e->pid, e->cpu, e->flags,
			       e->preempt_depth, style->latency->index);
	} else {
		hv_text_printf(out, "%*.*s-%-7d %3u", COMM_SHOWN, COMM_SHOWN,
			       comm.data ? comm.data : "", (int)e->pid, e->cpu);
		hv_flags_letters(out, style, e);
	}
	add_time(out, style, e);
}
