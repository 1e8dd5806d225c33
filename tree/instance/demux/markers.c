/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/demux/markers.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "kernel/types/btf.h"
#include "tracer/events/host_buffer.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/demux/demux.h"
#include "tree/instance/hist/hists.h"
#include "tree/instance/triggers/triggers.h"

#define RAW_ID_LEN  4
#define RAW_LEN_MIN (RAW_ID_LEN + sizeof("<faulted>") - 1)

/* Returns the type of markers if IN has triggers for it, or NULL. */
static const struct hv_event_type *type_with_triggers(const struct hv_instance *in,
						      const struct hv_catalogue **ret_c)
{
	const struct hv_event_type *type;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_instances_share(hv_instance_all(in)) ||
	    (!hv_triggers_have_any(in) && !hv_hists_have_any(in)))
		return NULL;
	err = hv_event_types_catalogue(hv_instance_session(in)->types, ret_c);
	type = err ? NULL : hv_catalogue_find(*ret_c, "ftrace", "print");
	return type && hv_instance_acts_on(in, hv_event_ref_of(type)) ? type : NULL;
}

/* Makes the entry as the kernel's triggers see it: the text is NUL-terminated and does not have the
 * kernel's newline yet. Truncates it to the available room. Returns its length, or 0 if there is no
 * room. */
static size_t make_entry(const struct hv_catalogue *c, const struct hv_event_type *type,
			 const struct hv_event *marker, uint8_t *entry)
{
	const struct hv_event_field *ip = hv_event_type_field(c, type, "ip");
	const struct hv_event_field *buf = hv_event_type_field(c, type, "buf");
	uint16_t id = (uint16_t)type->id;
	size_t len = marker->text_len;

	if (!ip || !buf || ip->size_bytes != sizeof(marker->ip.v) ||
	    ip->off < HV_ENTRY_HEADER_LEN || ip->off > buf->off ||
	    buf->off - ip->off < sizeof(marker->ip.v) || buf->off >= HV_ENTRY_LEN_MAX)
		return 0;
	if (len > HV_ENTRY_LEN_MAX - 1 - buf->off)
		len = HV_ENTRY_LEN_MAX - 1 - buf->off;
	memset(entry, 0, buf->off);
	memcpy(entry, &id, sizeof(id));
	memcpy(entry + ip->off, &marker->ip.v, sizeof(marker->ip.v));
	memcpy(entry + buf->off, marker->text, len);
	entry[buf->off + len] = '\0';
	return buf->off + len + 1;
}

/* The record of a marker does not contain the task. */
static void pull(struct hv_instance *in, const struct hv_catalogue *c,
		 const struct hv_event_type *type, const char *text, size_t len_bytes,
		 struct hv_marker_time at)
{
	uint8_t entry[HV_ENTRY_LEN_MAX];
	struct hv_event marker = {
		.kind = HV_EVENT_PRINT,
		.time_ns = at.time_ns,
		.comm = "<idle>",
		.text = text,
		.text_len = len_bytes,
		.id = (uint16_t)type->id,
	};
	size_t len;

	hv_kernel_symbol(hv_instance_session(in)->kernel, "tracing_mark_write", &marker.ip);
	len = make_entry(c, type, &marker, entry);
	if (!len)
		return;
	marker.entry = (struct hv_span){entry, len};
	hv_demux_take_marker(in, &marker, at.tsc);
}

void hv_instance_mark(struct hv_instance *in, const char *line, size_t len_bytes)
{
	struct hv_buffer *b = hv_instance_buffer(in);
	struct hv_marker_time at = hv_buffer_put_marker(b, HV_EVENT_PRINT, line, len_bytes);
	const struct hv_catalogue *c = NULL;
	const struct hv_event_type *type = type_with_triggers(in, &c);

	if (type)
		pull(in, c, type, line, len_bytes, at);
}

/* Since 6.18 the kernel copies the bytes to a per-CPU buffer before it reserves the record, so the
 * record has their length. Earlier kernels reserve room for "<faulted>" after the number, and count
 * the number's length twice (write_raw_marker_to_buffer). */
size_t hv_instance_raw_mark_len(const struct hv_instance *in, size_t len_bytes)
{
	const struct hv_btf *btf = hv_instance_session(in)->kernel->core.btf;
	uint32_t unused;

	if (btf && hv_btf_size(btf, "trace_user_buf_info", &unused))
		return len_bytes;
	return RAW_ID_LEN + (len_bytes < RAW_LEN_MIN ? RAW_LEN_MIN : len_bytes);
}

void hv_instance_mark_raw(struct hv_instance *in, const char *bytes, size_t len_bytes)
{
	size_t record_len = hv_instance_raw_mark_len(in, len_bytes);
	HV_AUTO_FREE char *record = hv_alloc(record_len);

	memcpy(record, bytes, len_bytes);
	hv_buffer_put_marker(hv_instance_buffer(in), HV_EVENT_RAW_DATA, record, record_len);
}
