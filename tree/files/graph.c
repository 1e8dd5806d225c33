/* SPDX-License-Identifier: GPL-2.0-or-later */
/* max_graph_depth and tracing_thresh: limits on the recorded function_graph calls. */
#include <inttypes.h>

#include "kernel/kernel.h"
#include "tracer/stubs.h"
#include "tree/files/files.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/sites.h"
#include "tree/settings/token.h"

#define NS_PER_US 1000

static bool has_stub(const struct hv_place *at, unsigned stub)
{
	return hv_stubs_have(at->instance->all->session->kernel->core.as.arch, stub);
}

bool hv_place_has_graph(const struct hv_place *at)
{
	return has_stub(at, HV_STUB_GRAPH);
}

bool hv_place_has_profile(const struct hv_place *at)
{
	return has_stub(at, HV_STUB_PROFILED);
}

/* An unsigned int shown as an int (graph_depth_read, graph_depth_write). */
static void show_depth(struct hv_file *f)
{
	hv_text_printf(&f->text, "%" PRId32 "\n", (int32_t)f->at.instance->all->max_graph_depth);
}

static struct hv_err *write_depth(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	struct hv_instances *all = f->at.instance->all;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	hv_instances_drain(all);
	all->max_graph_depth = (uint32_t)value;
	hv_sites_publish_graph(&all->top);
	*ret_len = len_bytes;
	return NULL;
}

/* Shown in microseconds and stored in nanoseconds; a value that is too large wraps
 * (tracing_nsecs_write). */
static void show_thresh(struct hv_file *f)
{
	hv_text_printf(&f->text, "%" PRIu64 "\n", f->at.instance->all->thresh_ns / NS_PER_US);
}

static struct hv_err *write_thresh(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	struct hv_instances *all = f->at.instance->all;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	hv_instances_drain(all);
	all->thresh_ns = value * NS_PER_US;
	hv_sites_publish_graph(&all->top);
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
