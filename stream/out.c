/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/out.h"

uint8_t *hv_stream_out_room(struct hv_stream_out *out)
{
	return out->ops->room(out);
}

void hv_stream_out_put(struct hv_stream_out *out, size_t len_bytes)
{
	out->ops->put(out, len_bytes);
}

void hv_stream_out_flush(struct hv_stream_out *out)
{
	out->ops->flush(out);
}

void hv_stream_out_drain(struct hv_stream_out *out)
{
	out->ops->drain(out);
}

void hv_stream_out_free(struct hv_stream_out *out)
{
	if (out)
		out->ops->free(out);
}
