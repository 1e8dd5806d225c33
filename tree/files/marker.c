/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_marker and trace_marker_raw: add text and bytes from the host to the trace. */
#include "kernel/kernel.h"
#include "tracer/events/host_buffer.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/format/raw_page.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/demux/demux.h"

#define RAW_ID_LEN   4
#define TEXT_OLD_MAX 1024 /* TRACE_BUF_SIZE */
#define RAW_OLD_MAX  3072 /* RAW_DATA_MAX_SIZE */

static struct hv_err *refusal(const struct hv_instance *in)
{
	if (!hv_options_on(hv_instance_options(in), HV_OPT_MARKERS))
		return hv_err_new(EINVAL, "the option 'markers' is off");
	if (!hv_instance_records(in))
		return hv_err_new(EBADF, "recording is off or paused");
	return NULL;
}

/* Returns the maximum length of text or bytes of KIND in the guest's kernel, with MORE_BYTES after
 * them in the record. Kernels before 6.8, with a fixed page size, accept at most OLD_MAX. */
static size_t max_bytes(const struct hv_file *f, enum hv_event_kind kind, size_t more_bytes,
			size_t old_max)
{
	const struct hv_kernel *k = hv_instance_session(f->at.instance)->kernel;
	struct hv_raw_layout layout;
	struct hv_gva at;
	size_t max;

	hv_raw_layout_init(&layout, hv_path_catalogue(&f->at));
	layout.data_bytes = hv_buffers_page_data(hv_instance_buffers(f->at.instance));
	max = hv_raw_text_max(&layout, kind) - more_bytes;
	if (max > old_max && !hv_kernel_symbol(k, "ring_buffer_max_event_size", &at))
		return old_max;
	return max < HV_MARKER_LEN_MAX ? max : HV_MARKER_LEN_MAX;
}

/* Like the kernel, accepts only part of a text that is too long; the writer then writes the rest
 * (tracing_mark_write). */
static struct hv_err *write_marker(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	size_t max = max_bytes(f, HV_EVENT_PRINT, 0, TEXT_OLD_MAX);
	size_t len = len_bytes < max ? len_bytes : max;
	struct hv_err *err = refusal(f->at.instance);

	if (err)
		return err;
	hv_instance_mark(f->at.instance, buf, len);
	*ret_len = len;
	return NULL;
}

static struct hv_err *write_raw_marker(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len)
{
	struct hv_instance *in = f->at.instance;
	size_t more = hv_instance_raw_mark_len(in, HV_MARKER_LEN_MAX) - HV_MARKER_LEN_MAX;
	size_t max = max_bytes(f, HV_EVENT_RAW_DATA, more, RAW_OLD_MAX);
	struct hv_err *err = refusal(in);

	if (!err && (len_bytes < RAW_ID_LEN || len_bytes > max))
		err = hv_err_new(EINVAL, "a raw marker has %u to %zu bytes, not %zu", RAW_ID_LEN,
				 max, len_bytes);
	if (err)
		return err;
	hv_instance_mark_raw(in, buf, len_bytes);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_marker_node = {
	.writes = HV_NEEDS_SETTING,
	.help = "each write adds a line to the events",
	.mode = 0220,
	.write = write_marker,
};

const struct hv_node hv_raw_marker_node = {
	.writes = HV_NEEDS_SETTING,
	.help = "each write adds a binary event; its first four bytes are a number",
	.mode = 0220,
	.write = write_raw_marker,
};
