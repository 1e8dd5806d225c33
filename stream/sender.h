/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A format of export/ that is no file: a stream of frames to a collector. What a collector needs to
 * understand events is sent before them and again and again, so that a collector that begins later
 * understands them, too. Leaves to others: how frames leave the host (out.h), reading the tree.
 *
 * One thread. */
#pragma once

#include "export/export.h"
#include "stream/out.h"

struct hv_stream_to {
	struct hv_stream_out *out; /* borrowed */
	struct hv_stream_key key;
	const char *where; /* HOST:PORT */
	const char *guest; /* what it is called */
	const char *host;  /* the name of this host */
	void (*note)(
		const char *line); /* tells the user that frames cannot be sent, or can again */
};

/* Its config has TO. */
extern const struct hv_export_format hv_stream_format;
