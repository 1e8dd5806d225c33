/* SPDX-License-Identifier: GPL-2.0-or-later */
/* available_tracers and current_tracer. */
#include "tree/files/files.h"
#include "tree/instance/core/running.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/demux/demux.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/trace.h"
#include "tree/settings/token.h"

#define NAME_MAX 100 /* MAX_TRACER_SIZE */

static void show_tracers(struct hv_file *f)
{
	unsigned without = hv_place_has_graph(&f->at) ? 0 : 1u << HV_TRACER_FUNCTION_GRAPH;

	for (enum hv_tracer t = HV_TRACER_PREEMPTOFF; t <= HV_TRACER_PREEMPTIRQSOFF; t++)
		without |= hv_sections_exist(f->at.instance, t) ? 0 : 1u << t;
	if (!hv_wakeups_exist(f->at.instance))
		without |= 1u << HV_TRACER_WAKEUP | 1u << HV_TRACER_WAKEUP_RT |
			   1u << HV_TRACER_WAKEUP_DL;
	hv_tracers_text(&f->text, " ", without);
	hv_text_add(&f->text, "\n");
}

static void show_tracer(struct hv_file *f)
{
	hv_text_printf(&f->text, "%s\n", hv_tracer_name(f->at.instance->selection.tracer));
}

/* Ends the old tracer, empties the buffer, and begins with the new tracer, like tracing_set_tracer.
 * If the new tracer cannot begin, the tracer is nop. */
static struct hv_err *set_tracer(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_err *err;

	if (in->selection.tracer == tracer)
		return NULL;
	if (in->pipes.nr || in->pipes.nr_raw)
		return hv_err_new(EBUSY, "trace_pipe is open");
	if (in->selection.tracer != HV_TRACER_NOP) {
		err = hv_instance_set_tracer(in, HV_TRACER_NOP);
		if (err)
			return err;
	}
	hv_instance_clear(in, HV_ALL_CPUS);
	return tracer == HV_TRACER_NOP ? NULL : hv_instance_set_tracer(in, tracer);
}

static struct hv_err *write_tracer(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	size_t seen = len_bytes < NAME_MAX ? len_bytes : NAME_MAX;
	HV_AUTO_FREE char *name = hv_name_written(buf, seen);
	enum hv_tracer tracer;
	struct hv_err *err = hv_tracer_find(name, &tracer);

	if (!err)
		err = hv_file_check(f, hv_instance_tracer_need(f->at.instance, tracer));
	if (!err)
		err = set_tracer(f->at.instance, tracer);
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
