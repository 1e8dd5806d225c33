/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces xdp.c in a build without libxdp. */
#include "stream/xdp.h"

struct hv_err *hv_stream_in_xdp(const char *dev hv_unused, const struct hv_stream_at *at hv_unused,
				struct hv_stream_in **ret hv_unused)
{
	return hv_err_new(ENOTSUP, "this hvtrace was built without libxdp");
}

struct hv_err *hv_stream_out_xdp(const char *dev hv_unused,
				 const struct hv_stream_target *to hv_unused,
				 struct hv_stream_out **ret hv_unused)
{
	return hv_err_new(ENOTSUP, "this hvtrace was built without libxdp");
}
