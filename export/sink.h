/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a format writes what it makes from the beginning to the end: a file, a pipe, standard
 * output; compressed by zstd if asked for.
 *
 * What a format adds between two calls of hv_sink_mark() belongs together (a line, a packet). After
 * a full disk, a file ends after the last whole one. Compressed output consists of frames, each of
 * which can be read without the others, so a file that ends after any of them is whole, too.
 * Leaves to others: what is written. */
#pragma once

#include "base/text.h"
#include "export/export.h"

struct hv_sink {
	struct hv_export_config config;
	struct hv_text pending; /* added, not written */
	size_t marked_bytes;	/* of PENDING, up to the last mark */
	uint64_t written_bytes; /* in the file */
	uint64_t framed_ns;	/* when the last frame was written */
	struct hv_err *error;	/* owned: a write failed, and nothing is written any more */
};

void hv_sink_init(struct hv_sink *s, const struct hv_export_config *config);
void hv_sink_deinit(struct hv_sink *s);

/* Formats add to S->pending, and mark where something ends. Writes when there is much. */
struct hv_err *hv_sink_mark(struct hv_sink *s) hv_must_use;
/* Makes what was marked readable. Compressed output is written at most once a second, so that
 * frames are not too small. */
struct hv_err *hv_sink_flush(struct hv_sink *s) hv_must_use;
/* Writes all that was marked. After an error it does nothing. */
struct hv_err *hv_sink_end(struct hv_sink *s) hv_must_use;
