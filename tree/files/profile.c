/* SPDX-License-Identifier: GPL-2.0-or-later */
/* function_profile_enabled and trace_stat/functionN (kernel/trace/ftrace.c, trace_stat.c): the
 * number and duration of the calls of each function, per vCPU. arch/ and tracer/graph/call_counts.h
 * count; instance/functions.h selects functions. */
#include <inttypes.h>
#include <stdlib.h>

#include "kernel/kernel.h"
#include "tracer/graph/call_counts.h"
#include "tree/files/files.h"
#include "tree/format/graph.h"
#include "tree/instance/trace.h"
#include "tree/settings/token.h"

#define NAME_WIDTH 30

static void show_enabled(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n", hv_instance_profiles(f->at.instance));
}

/* Counts are kept until the top instance's profile is enabled again. All instances share the count
 * of a function, so enabling another instance's profile continues it. */
static struct hv_err *write_enabled(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	struct hv_instance *in = f->at.instance;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);
	unsigned on = value != 0;

	if (err)
		return err;
	if (on && !hv_instance_profiles(in) && hv_instance_is_top(in)) {
		hv_call_counts_clear(hv_instance_session(in)->counts);
		hv_instances_top_settings(hv_instance_all(in))->profile_shared =
			hv_instances_profile(hv_instance_all(in));
	}
	if (on != hv_instance_profiles(in))
		err = hv_instance_set_profile(in, on);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static bool profile_name(const struct hv_path *dir, size_t index, struct hv_text *ret)
{
	return hv_cpu_name(dir, "function", index, ret);
}

static bool find_profile(struct hv_path *at, const char *name)
{
	return hv_cpu_find(at, "function", name);
}

/* Sorts the longest time first. The kernel's order of equal times is arbitrary. */
static int compare_times(const void *pa, const void *pb)
{
	const struct hv_profile_count *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	return (a->site > b->site) - (a->site < b->site);
}

/* Time lost to the host has its own column, after the kernel's columns. */
static bool shows_host(const struct hv_file *f)
{
	return hv_options_on(hv_instance_options(hv_instances_top(hv_file_instances(f))),
			     HV_OPT_FUNCGRAPH_HOST);
}

static void add_row(struct hv_file *f, const struct hv_profile_count *c)
{
	const struct hv_kernel *kernel = hv_file_session(f)->kernel;
	HV_AUTO_TEXT struct hv_text name = {0};
	uint64_t average_ns = c->time_ns / c->hits,
		 thresh_ns = hv_instances_top_settings(hv_file_instances(f))->thresh_ns;

	if (thresh_ns && average_ns < thresh_ns)
		return;
	hv_text_add_guest(&name, kernel->sites.list[c->site].name, NAME_WIDTH);
	hv_text_printf(&f->text, "  %-*.*s  %10" PRIu64 "    ", NAME_WIDTH, NAME_WIDTH, name.data,
		       c->hits);
	hv_graph_duration(&f->text, c->time_ns);
	hv_text_add(&f->text, "    ");
	hv_graph_duration(&f->text, average_ns);
	hv_text_add(&f->text, "    ");
	hv_graph_duration(&f->text, c->spread_ns2);
	if (shows_host(f)) {
		hv_text_add(&f->text, "    ");
		hv_graph_duration(&f->text, c->host_ns);
	}
	hv_text_add(&f->text, "\n");
}

/* The top instance shows every count, as the kernel does, unless the counts include other
 * instances' functions. */
static bool shows(const struct hv_instance *in, struct hv_gva ip)
{
	if (hv_instance_is_top(in) &&
	    !hv_instances_top_settings(hv_instance_all(in))->profile_shared)
		return true;
	return hv_selection_has_function(hv_instance_selection(in), ip);
}

static void show_profile(struct hv_file *f)
{
	const struct hv_site *sites = hv_file_session(f)->kernel->sites.list;
	HV_AUTO_FREE struct hv_profile_count *counts = NULL;
	size_t nr = hv_call_counts_read(hv_file_session(f)->counts, (unsigned)f->at.cpu, &counts);

	hv_text_printf(&f->text,
		       "  Function                               Hit    Time            Avg "
		       "            s^2%s\n"
		       "  --------                               ---    ----            --- "
		       "            ---%s\n",
		       shows_host(f) ? "             Host" : "",
		       shows_host(f) ? "             ----" : "");
	qsort(counts, nr, sizeof(*counts), compare_times);
	for (size_t i = 0; i < nr; i++)
		if (shows(f->at.instance, sites[counts[i].site].ip))
			add_row(f, &counts[i]);
}

const struct hv_node hv_profile_enabled_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_RIGHT_GRAPH,
	.help = "1: count and time calls of the functions in set_ftrace_filter, in trace_stat/",
	.show = show_enabled,
	.write = write_enabled,
};

const struct hv_node hv_profile_node = {
	.reads = HV_RIGHT_READ,
	.help = "how often each function was called on this vCPU, and how long the calls took",
	.mode = 0640,
	.show = show_profile,
};

const struct hv_entries hv_profile_entries = {
	.shown_as = "functionN",
	.name = profile_name,
	.find = find_profile,
};
