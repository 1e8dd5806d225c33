/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of `hvtrace record -o FILE`: takes events from an instance of a session and writes them
 * in one of the formats of export/export.h. recording.h configures and stops the instance. */
#pragma once

#include "cli/client.h"
#include "cli/errand.h"
#include "export/export.h"

/* -- the head --------------------------------------------------------------------------------- */

/* Reads from a session the data that precedes the first event in a trace file: event formats, the
 * guest's symbols, the clock, sizes. export/export.h writes the file. */

struct record_head {
	struct hv_export_head head; /* borrows the members below */
	struct hv_text kallsyms;
	struct hv_text printk_formats;
	struct hv_text header_page;
	struct hv_text header_event;
	struct hv_text trace_clock;
	struct hv_text version;
	char *clock;
	struct hv_export_event *events; /* each owns its texts */
	size_t nr_events;
};

/* DIR is the directory of the instance. */
struct hv_err *record_head_read(struct record_head *h, struct client *c,
				const char *dir) hv_must_use;
void record_head_deinit(struct record_head *h);

/* -- the second file -------------------------------------------------------------------------- */

/* The second file of `hvtrace record -o FILE.dat`, FILE-host.dat, for the host's events if the
 * instance has any. Gets the data about the host from its /proc: its kernel, the names of the VMM's
 * threads, and the vCPU threads, which QEMU names. export/dat.c decides which events go
 * there. */

struct record_host {
	char *path;	    /* owned; NULL: no such file */
	int fd;		    /* owned; -1: not open */
	char *kernel;	    /* owned */
	int32_t *tids;	    /* owned; vCPU threads */
	char vmm_tasks[32]; /* directory of the VMM's threads */
	struct hv_export_host host;
};

/* -- the file --------------------------------------------------------------------------------- */

struct record_dial; /* record/apart.h */

/* Destination of events. Everything is borrowed. */
struct record_target {
	const char *path; /* "-": standard output. NULL: no file */
	const struct hv_export_format *format;
	enum hv_compression compression;
	const struct hv_stream_to *to; /* NULL: a file. Otherwise PATH and FORMAT are set, too */
	struct record_dial *dial;      /* NULL: TO never reconnects */
	bool has_date;		       /* convert times to the time of day */
};

struct record_file {
	struct record_target target;
	int fd; /* -1: not open */
	bool is_stdout;
	bool is_new; /* created by us; removed again if nothing is recorded */
	struct record_head head;
	struct record_host host;  /* the optional second file */
	struct hv_export *export; /* NULL: not begun */
	/* Borrowed. Performs operations that this process has no longer the right to do; needed by
	 * formats with a second file. NULL: none. */
	struct errand *errand;
	uint32_t *handles; /* owned; handles of the source files, one per vCPU or one in total */
	unsigned nr_handles;
	unsigned nr_reads; /* in the last turn */
	uint64_t named_ns; /* when task names were last written */
};
#define RECORD_FILE_NONE                                                                           \
	{                                                                                          \
		.fd = -1, .host.fd = -1                                                            \
	}

/* Chooses the format by NAME, or by the suffix of PATH if NAME is NULL. Returns false and explains
 * in WHY if there is no such format. */
bool record_file_choose(struct record_file *f, const char *name, struct hv_text *why) hv_must_use;
/* Opens PATH, or creates it. A file keeps its contents until record_file_begin(); a directory must
 * be empty. */
struct hv_err *record_file_open(struct record_file *f) hv_must_use;
/* Writes the data before the first event, and opens the sources in the instance DIR, which must not
 * be recording. */
struct hv_err *record_file_begin(struct record_file *f, struct client *c,
				 const char *dir) hv_must_use;
/* Writes the available events; takes not much longer than WAIT_MS. Waits up to WAIT_MS if there are
 * no events. Sets *RET_MORE if there were events. */
struct hv_err *record_file_take(struct record_file *f, struct client *c, uint32_t wait_ms,
				bool *ret_more) hv_must_use;
/* ENOSPC: the file system has so little space left that recording must stop, to leave some for
 * other programs. Small file systems may be filled. */
struct hv_err *record_file_check_room(const struct record_file *f) hv_must_use;
/* Closes the sources. */
struct hv_err *record_file_close(struct record_file *f, struct client *c) hv_must_use;
/* Completes the file. Also called after an error, and when the session has ended. */
struct hv_err *record_file_end(struct record_file *f) hv_must_use;
void record_file_deinit(struct record_file *f);
