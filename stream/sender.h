/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The "stream" format of export/: sends events to a collector instead of writing a file. The
 * metadata that a collector needs is sent first and repeated, so that a collector can join later.
 *
 * out.h transports the frames. One thread. */
#pragma once

#include "export/export.h"
#include "stream/key.h"
#include "stream/out.h"

struct hv_stream_to {
	struct hv_stream_out *out; /* borrowed */
	struct hv_stream_key key;
	const char *where;		/* HOST:PORT */
	const char *guest;		/* name of the guest */
	const char *host;		/* name of this host */
	void (*note)(const char *line); /* reports a send error, and when sending works again */
};

/* Its config must set `to`. */
extern const struct hv_export_format hv_stream_format;
