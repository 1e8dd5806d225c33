/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/latency.h"

#include <inttypes.h>

#include "kernel/kernel.h"
#include "tracer/sections/section_tracer.h"
#include "tree/format/flags.h"
#include "tree/format/symbol.h"

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
	const char *bars = columns.has_lazy ? "||||||||" : "||||||";

	if (hv_options_on(style->options, HV_OPT_VERBOSE))
		return;
	hv_flags_titles(out, &columns);
	hv_text_printf(out, "#  cmd     pid     %s time  |   caller     \n", bars);
	hv_text_printf(out, "#     \\   /        %s  \\    |    /       \n", bars);
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
