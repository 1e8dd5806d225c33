/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/in.h"

void hv_stream_in_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns)
{
	in->take(in, c, now_ns);
}

void hv_stream_in_free(struct hv_stream_in *in)
{
	if (in)
		in->free(in);
}
