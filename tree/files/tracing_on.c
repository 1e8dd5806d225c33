/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracing_on: whether the instance records. */
#include "tree/files/files.h"
#include "tree/instance/core/recording.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/sites.h"
#include "tree/settings/token.h"

/* A function command may have changed it in the guest. */
static void show_tracing_on(struct hv_file *f)
{
	hv_instances_drain(hv_file_instances(f));
	hv_text_printf(&f->text, "%u\n", hv_instance_tracing_on(f->at.instance));
}

/* Enabling recording starts the tracer; the function tracer also clears the buffer. */
static struct hv_err *set_recording(struct hv_instance *in, unsigned on)
{
	struct hv_err *err;

	if (hv_instance_tracing_on(in) == on)
		return NULL;
	err = on ? hv_instance_before_recording(in) : NULL;
	if (err)
		return err;
	if (on && hv_instance_tracer(in)->starts_empty)
		hv_instance_clear(in, HV_ALL_CPUS);
	hv_instance_set_recording(in, on);
	if (on)
		hv_wakeups_restart(in);
	return NULL;
}

static struct hv_err *write_tracing_on(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err)
		err = set_recording(f->at.instance, value != 0);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_tracing_on_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "0 stops recording, 1 continues it",
	.show = show_tracing_on,
	.write = write_tracing_on,
};
