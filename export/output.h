/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where formats write: sequentially to a file or a pipe, or to files below a directory. */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "export/export.h"

/* -- sequential output ------------------------------------------------------------------------ */

/* Output of formats that write sequentially: a file, a pipe, or standard output, optionally
 * compressed with zstd.
 *
 * Data between two calls of hv_output_mark() is a unit, such as a line or a packet. If the disk
 * fills up, the file ends after a complete unit. Compressed output consists of independent frames,
 * so a file that ends after any frame is valid. */

struct hv_output {
	struct hv_export_config config;
	struct hv_text pending; /* added but not written */
	size_t marked_bytes;	/* of PENDING, up to the last mark */
	uint64_t written_bytes; /* in the file */
	uint64_t framed_ns;	/* when the last frame was written */
	struct hv_err *error;	/* owned; after a write error no more data is written */
};

void hv_output_init(struct hv_output *s, const struct hv_export_config *config);
void hv_output_deinit(struct hv_output *s);

/* Formats add data to S->pending and mark the end of each unit. Writes if enough data is
 * pending. */
struct hv_err *hv_output_mark(struct hv_output *s) hv_must_use;
/* Makes the marked data readable. Writes compressed output at most once per second, to avoid small
 * frames. */
struct hv_err *hv_output_flush(struct hv_output *s) hv_must_use;
/* Writes all marked data. Does nothing after an error. */
struct hv_err *hv_output_end(struct hv_output *s) hv_must_use;

/* -- files below a directory ------------------------------------------------------------------ */

/* Creates files below a directory on behalf of a format or collector that may lack the permissions.
 *
 * Names are relative. They must not contain "..", or pass through symbolic links. All functions
 * return 0 or an errno. cli/errand.h implements a maker in another process. */

struct hv_maker {
	void *ctx;
	/* Creates a file, open for reading and writing. EEXIST: the name exists. */
	int (*make_file)(void *ctx, const char *name, int *ret_fd);
	/* Creates and opens a directory. EEXIST: the directory exists. ENOTDIR: the name exists and
	 * is no directory. */
	int (*make_dir)(void *ctx, const char *name, int *ret_fd);
	/* Replaces the contents of a file atomically, or creates it. */
	int (*put_file)(void *ctx, const char *name, const void *bytes, size_t len_bytes);
	/* Removes a file. */
	int (*remove_file)(void *ctx, const char *name);
};

/* Returns a maker that creates files itself, below the directory *FD. FD is borrowed. */
struct hv_maker hv_maker_of(const int *fd);
