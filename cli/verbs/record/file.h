/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of `hvtrace record -o FILE`: takes events from an instance of a session and writes them
 * in one of the formats of export/export.h.
 * Leaves to others: what the instance records, and until when (recording.h). */
#pragma once

#include "cli/client.h"
#include "cli/verbs/record/head.h"
#include "cli/verbs/record/host.h"

struct record_dial; /* record/apart.h */

/* Where events go. Everything is borrowed. */
struct record_target {
	const char *path; /* "-": standard output. NULL: there is no file */
	const struct hv_export_format *format;
	enum hv_compression compression;
	const struct hv_stream_to *to; /* NULL: a file. PATH and FORMAT are then set */
	struct record_dial *dial;      /* NULL: TO never connects again */
	bool has_date;		       /* times of day are wanted */
};

struct record_file {
	struct record_target target;
	int fd; /* -1: not open */
	bool is_stdout;
	bool is_new; /* did not exist before; removed again if nothing is recorded */
	struct record_head head;
	struct record_host host;  /* the second file, if there is one */
	struct hv_export *export; /* NULL: not begun */
	/* Borrowed. What this process has no right to any more is done by it: needed by formats
	 * that have a second file. NULL: there is none. */
	struct errand *errand;
	uint32_t *handles; /* owned; of the files that are read, one a vCPU or one in all */
	unsigned nr_handles;
	unsigned nr_reads; /* in the last turn */
	uint64_t named_ns; /* when the names of tasks were written last */
};
#define RECORD_FILE_NONE                                                                           \
	{                                                                                          \
		.fd = -1, .host.fd = -1                                                            \
	}

/* Chooses the format by NAME, or, if that is NULL, by the suffix of PATH. Returns whether there is
 * such a format; if not, WHY says so. */
bool record_file_choose(struct record_file *f, const char *name, struct hv_text *why) hv_must_use;
/* Opens PATH, and makes it if it does not exist. The contents of a file stay until
 * record_file_begin(); a directory must have none. */
struct hv_err *record_file_open(struct record_file *f) hv_must_use;
/* Writes what comes before the first event, and opens what is read of the instance DIR, where
 * recording is off. */
struct hv_err *record_file_begin(struct record_file *f, struct client *c,
				 const char *dir) hv_must_use;
/* Writes what there is now, but not for much longer than WAIT_MS, for which it waits if there is
 * nothing. *RET_MORE: there was something. */
struct hv_err *record_file_take(struct record_file *f, struct client *c, uint32_t wait_ms,
				bool *ret_more) hv_must_use;
/* ENOSPC: so little room is left on the file system of the file that recording must end, before
 * others of this host find none. Small file systems may be filled. */
struct hv_err *record_file_check_room(const struct record_file *f) hv_must_use;
/* Closes what is read. */
struct hv_err *record_file_close(struct record_file *f, struct client *c) hv_must_use;
/* Completes the file. Also called after an error, and when the session has ended. */
struct hv_err *record_file_end(struct record_file *f) hv_must_use;
void record_file_deinit(struct record_file *f);
