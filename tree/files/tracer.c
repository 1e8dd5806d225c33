/* SPDX-License-Identifier: GPL-2.0-or-later */
/* available_tracers and current_tracer. */
#include "tree/files/files.h"
#include "tree/instance/core/running.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/trace.h"
#include "tree/instance/tracers.h"
#include "tree/settings/token.h"

#define NAME_MAX 100 /* MAX_TRACER_SIZE */

static void show_tracers(struct hv_file *f)
{
	hv_tracers_text(&f->text, " ", hv_tracers_missing(f->at.instance));
	hv_text_add(&f->text, "\n");
}

static void show_tracer(struct hv_file *f)
{
	hv_text_printf(&f->text, "%s\n", f->at.instance->selection.tracer->name);
}

/* Stops the old tracer, clears the buffer, and starts the new tracer, like tracing_set_tracer. If
 * the new tracer cannot start, the tracer is nop. */
static struct hv_err *set_tracer(struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	struct hv_err *err;

	if (in->selection.tracer == tracer)
		return NULL;
	if (in->pipes.nr || in->pipes.nr_raw)
		return hv_err_new(EBUSY, "trace_pipe is open");
	if (in->selection.tracer != &hv_tracer_nop) {
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
