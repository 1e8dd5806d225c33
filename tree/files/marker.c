/* trace_marker and trace_marker_raw: lines and bytes from the host among the guest's events. */
#include "tracer/events/marker.h"
#include "tree/files/files.h"
#include "tree/instance/recording.h"
#include "tree/instance/share.h"

#define RAW_LEN_MIN 4 /* the number that goes before the bytes */

static struct hv_err *refusal(const struct hv_instance *in)
{
	if (!hv_options_on(&in->options, HV_OPT_MARKERS))
		return hv_err_new(EINVAL, "the option 'markers' is off");
	if (!hv_instance_records(in))
		return hv_err_new(EBADF, "nothing is recorded now");
	return NULL;
}

static struct hv_err *write_marker(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	size_t len = len_bytes < HV_MARK_LEN_MAX ? len_bytes : HV_MARK_LEN_MAX;
	struct hv_err *err = refusal(f->at.instance);

	if (err)
		return err;
	hv_buffer_mark(hv_instance_buffer(f->at.instance), HV_EVENT_PRINT, buf, len);
	*ret_len = len;
	return NULL;
}

static struct hv_err *write_raw_marker(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len)
{
	struct hv_err *err = refusal(f->at.instance);

	if (!err && (len_bytes < RAW_LEN_MIN || len_bytes > HV_MARK_LEN_MAX))
		err = hv_err_new(EINVAL, "%zu bytes; %u to %u are taken", len_bytes, RAW_LEN_MIN,
				 HV_MARK_LEN_MAX);
	if (err)
		return err;
	hv_buffer_mark(hv_instance_buffer(f->at.instance), HV_EVENT_RAW_DATA, buf, len_bytes);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_marker_node = {
	.help = "what is written becomes a line among the events",
	.mode = 0220,
	.write = write_marker,
};

const struct hv_node hv_raw_marker_node = {
	.help = "what is written becomes a binary event; its first four bytes are a number",
	.mode = 0220,
	.write = write_raw_marker,
};
