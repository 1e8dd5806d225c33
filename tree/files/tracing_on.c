/* tracing_on: whether the instance records. */
#include "tree/files/files.h"
#include "tree/instance/recording.h"
#include "tree/instance/share.h"
#include "tree/settings/token.h"

/* The guest may have switched it. */
static void show_tracing_on(struct hv_file *f)
{
	hv_instances_drain(f->at.instance->all);
	hv_text_printf(&f->text, "%u\n", hv_instance_tracing_on(f->at.instance));
}

/* The function tracer's start empties the buffer. */
static void set_recording(struct hv_instance *in, unsigned on)
{
	if (hv_instance_tracing_on(in) == on)
		return;
	if (on && in->selection.tracer == HV_TRACER_FUNCTION)
		hv_instance_clear(in, HV_ALL_CPUS);
	hv_instance_set_recording(in, on);
}

static struct hv_err *write_tracing_on(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	set_recording(f->at.instance, value != 0);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_tracing_on_node = {
	.help = "0 stops recording, 1 lets it go on",
	.show = show_tracing_on,
	.write = write_tracing_on,
};
