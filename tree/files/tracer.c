/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer of an instance, and the limits and results of single tracers. */
#include <inttypes.h>

#include "kernel/kernel.h"
#include "tracer/guest/trampolines.h"
#include "tree/files/files.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/core/tracer.h"
#include "tree/instance/functions.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/trace.h"
#include "tree/settings/token.h"

/* -- available_tracers and current_tracer ------------------------------------------------------ */

#define NAME_MAX 100 /* MAX_TRACER_SIZE */

static void show_tracers(struct hv_file *f)
{
	hv_tracers_text(&f->text, " ", hv_tracers_missing(f->at.instance));
	hv_text_add(&f->text, "\n");
}

static void show_tracer(struct hv_file *f)
{
	hv_text_printf(&f->text, "%s\n", hv_instance_tracer(f->at.instance)->name);
}

/* Stops the old tracer, clears the buffer, and starts the new tracer, like tracing_set_tracer. If
 * the new tracer cannot start, the tracer is nop. */
static struct hv_err *set_tracer(struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	struct hv_err *err;

	if (hv_instance_tracer(in) == tracer)
		return NULL;
	if (hv_instance_pipes(in)->nr || hv_instance_pipes(in)->nr_raw)
		return hv_err_new(EBUSY, "trace_pipe is open");
	if (hv_instance_tracer(in) != &hv_tracer_nop) {
		err = hv_instance_set_tracer(in, &hv_tracer_nop);
		if (err)
			return err;
	}
	hv_instance_clear(in, HV_ALL_CPUS);
	return tracer == &hv_tracer_nop ? NULL : hv_instance_set_tracer(in, tracer);
}

static struct hv_err *write_tracer(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	size_t seen = len_bytes < NAME_MAX ? len_bytes : NAME_MAX;
	HV_AUTO_FREE char *name = hv_name_written(buf, seen);
	enum hv_tracer tracer;
	struct hv_err *err = hv_tracer_find(name, &tracer);

	if (!err)
		err = hv_file_check(f,
				    hv_instance_tracer_need(f->at.instance, hv_tracer_ops(tracer)));
	if (!err)
		err = set_tracer(f->at.instance, hv_tracer_ops(tracer));
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_tracers_node = {
	.reads = HV_RIGHT_READ,
	.help = "the names that current_tracer takes",
	.show = show_tracers,
};

const struct hv_node hv_tracer_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_NEED_WRITTEN,
	.help = "the name of the tracer in use; a change clears the buffer",
	.show = show_tracer,
	.write = write_tracer,
};

/* -- tracing_max_latency ----------------------------------------------------------------------- */

/* tracing_max_latency: the longest measured section, or wait of a woken task. */

#define NS_PER_US 1000

/* nsecs_to_usecs */
static void show_latency(struct hv_file *f)
{
	if (hv_wakeups_are_on(f->at.instance))
		hv_instances_drain(hv_file_instances(f));
	hv_text_printf(&f->text, "%" PRIu64 "\n",
		       (hv_sections_longest_ns(f->at.instance) + NS_PER_US / 2) / NS_PER_US);
}

static struct hv_err *write_latency(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	if (hv_wakeups_are_on(f->at.instance))
		hv_instances_drain(hv_file_instances(f));
	hv_sections_begin_at(f->at.instance, value * NS_PER_US);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_max_latency_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "irqsoff, wakeup and the like: how many microseconds the longest section or wait "
		"took;\n"
		"a number written here keeps only longer ones from then on",
	.show = show_latency,
	.write = write_latency,
};

/* -- max_graph_depth and tracing_thresh -------------------------------------------------------- */

static bool has_trampoline(const struct hv_path *at, unsigned trampoline)
{
	return hv_trampolines_have(hv_instance_session(at->instance)->kernel, trampoline);
}

bool hv_path_has_graph(const struct hv_path *at)
{
	return has_trampoline(at, HV_TRAMPOLINE_GRAPH);
}

bool hv_path_has_profile(const struct hv_path *at)
{
	return has_trampoline(at, HV_TRAMPOLINE_PROFILED);
}

/* An unsigned int shown as an int (graph_depth_read, graph_depth_write). */
static void show_depth(struct hv_file *f)
{
	hv_text_printf(&f->text, "%" PRId32 "\n",
		       (int32_t)hv_instances_top_settings(hv_file_instances(f))->max_graph_depth);
}

static struct hv_err *write_depth(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	struct hv_instances *all = hv_file_instances(f);
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	hv_instances_drain(all);
	hv_instances_top_settings(all)->max_graph_depth = (uint32_t)value;
	hv_sites_publish_graph(hv_instances_top(all));
	*ret_len = len_bytes;
	return NULL;
}

/* Shown in microseconds and stored in nanoseconds; a value that is too large wraps
 * (tracing_nsecs_write). */
static void show_thresh(struct hv_file *f)
{
	hv_text_printf(&f->text, "%" PRIu64 "\n",
		       hv_instances_top_settings(hv_file_instances(f))->thresh_ns / NS_PER_US);
}

static struct hv_err *write_thresh(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	struct hv_instances *all = hv_file_instances(f);
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	hv_instances_drain(all);
	hv_instances_top_settings(all)->thresh_ns = value * NS_PER_US;
	hv_sites_publish_graph(hv_instances_top(all));
	hv_sections_use_thresh(all);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_graph_depth_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_NEED_ALL_RUNNING,
	.help = "function_graph: how deep calls are traced; 0: no limit",
	.show = show_depth,
	.write = write_depth,
};

const struct hv_node hv_thresh_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_NEED_ALL_RUNNING,
	.help = "function_graph: if not 0, record only returns, and only of calls that took more\n"
		"than this many microseconds; irqsoff and the like: keep the last such section",
	.show = show_thresh,
	.write = write_thresh,
};
