/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that other programs read, made of what a guest's tree gives while it is traced. A format
 * is a `struct hv_export_format`; hv_export_formats lists them. A file is written as its data
 * comes: after hv_export_turn() it can be read up to there, whatever ends the program, and a full
 * disk leaves everything that was written before.
 * Leaves to others: reading the tree (cli/verbs/record/file.h), when to stop.
 *
 * One thread. The process ignores SIGXFSZ and SIGPIPE. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* Text of a file of the tree. Borrowed. */
struct hv_export_text {
	const char *text;
	size_t len_bytes;
};

/* A format of an event: the text of events/SYSTEM/NAME/format. Borrowed. */
struct hv_export_event {
	const char *system;
	struct hv_export_text format;
};

/* Which threads of the host run the vCPUs of a guest, of whose own file the number is TRACE_ID. */
struct hv_export_guest {
	const char *name; /* borrowed */
	uint64_t trace_id;
	const int32_t *vcpu_tids; /* borrowed; one a vCPU; -1: not known */
};

/* What is known before the first event. All is borrowed until the file is closed. */
struct hv_export_head {
	unsigned nr_cpus;	 /* vCPUs have the numbers 0 to NR_CPUS - 1 */
	size_t page_bytes;	 /* of a page of trace_pipe_raw, a power of two */
	const char *clock;	 /* as trace_clock names it: local, x86-tsc, ... */
	uint64_t clock_epoch_ns; /* when the clock was 0, since 1970; 0: not known */
	bool has_date;		 /* times of day are wanted, and CLOCK_EPOCH_NS is known */
	const char *kernel;	 /* /proc/version of the guest, without a newline */
	const char *program;	 /* the name and version of the program that writes */
	uint64_t trace_id;	 /* of trace.dat, by which others refer to it; 0: none */
	const struct hv_export_guest *guest; /* of the host's own trace.dat; borrowed, NULL: none */
	struct hv_export_text trace_clock;
	struct hv_export_text header_page;
	struct hv_export_text header_event;
	struct hv_export_text kallsyms;
	struct hv_export_text printk_formats;
	const struct hv_export_event *events; /* those of one system stand together */
	size_t nr_events;
};

struct hv_export;

enum hv_export_input {
	HV_EXPORT_TEXT,	 /* trace_pipe */
	HV_EXPORT_PAGES, /* trace_pipe_raw of each vCPU */
};

enum hv_compression { HV_COMPRESSION_NONE, HV_COMPRESSION_ZSTD };

struct hv_maker;     /* export/maker.h */
struct hv_stream_to; /* stream/sender.h */

/* A second file, which takes the events of the host. All is borrowed until both are closed. */
struct hv_export_host {
	const char *path;   /* names the file in errors */
	int fd;		    /* open for reading and writing, empty */
	const char *kernel; /* /proc/version of the host, without a newline */
	uint64_t trace_id;  /* of this file; not 0, and not the guest's */
	struct hv_export_guest guest;
};

struct hv_export_config {
	const char *path; /* "-": standard output, which is FD; names the file in errors */
	int fd;		  /* borrowed, open for reading and writing; or a directory */
	/* Of a format that is a directory: FD is one above it, and this is its name there. NULL: FD
	 * is it. Borrowed. */
	const char *inside;
	/* Makes the files of a format that is a directory, below FD; borrowed. NULL: the format
	 * does that itself. */
	const struct hv_maker *maker;
	enum hv_compression compression;
	/* Writes all to FD in place of write(2), or fails; NULL: write(2). */
	ssize_t (*write)(int fd, const void *bytes, size_t len_bytes);
	const struct hv_stream_to *to; /* of a stream, which has no FD; borrowed */
	/* Of a format that HAS_HOST. NULL: events of the host stand among the guest's. Borrowed. */
	const struct hv_export_host *host;
	unsigned is_others; /* FD was there before: what it had stays, and it is never cut */
};

struct hv_export_format {
	const char *name;	  /* as a user writes it */
	const char *suffix;	  /* of files, with the dot; NULL: none */
	const char *other_suffix; /* also accepted; NULL: none */
	enum hv_export_input input;
	unsigned needs_seek;	   /* FD must be a file in which one can seek */
	unsigned has_date;	   /* can say what time of day it was */
	unsigned has_host;	   /* can have a second file of the host's events */
	unsigned needs_no_symbols; /* neither names of functions nor the formats of tracers */
	unsigned is_dir; /* FD must be a directory without files; it cannot be compressed */
	struct hv_err *(*open)(const struct hv_export_config *config,
			       const struct hv_export_head *head, struct hv_export **ret);
	/* CPU is 0 for text. */
	struct hv_err *(*add)(struct hv_export *x, unsigned cpu, struct hv_span data);
	struct hv_err *(*name_tasks)(struct hv_export *x, struct hv_export_text saved_cmdlines);
	struct hv_err *(*name_host)(struct hv_export *x, struct hv_export_text names);
	struct hv_err *(*turn)(struct hv_export *x);
	struct hv_err *(*end)(struct hv_export *x);
	void (*free)(struct hv_export *x);
};

/* The first member of every format's own structure. */
struct hv_export {
	const struct hv_export_format *format;
	bool wants_names; /* hv_export_name_tasks() should be called before hv_export_turn() */
};

extern const struct hv_export_format *const hv_export_formats[];
extern const size_t hv_nr_export_formats;

/* NULL: there is no format of that name. */
const struct hv_export_format *hv_export_find(const char *name);
/* The format that PATH's suffix stands for, before a suffix of compression, which *RET says. NULL:
 * none has that suffix. */
const struct hv_export_format *hv_export_of_path(const char *path, enum hv_compression *ret);

/* EINVAL: FD cannot be written in this format. */
struct hv_err *hv_export_check(const struct hv_export_format *format,
			       const struct hv_export_config *config) hv_must_use;
/* CONFIG was checked. Borrows HEAD. */
struct hv_err *hv_export_open(const struct hv_export_format *format,
			      const struct hv_export_config *config,
			      const struct hv_export_head *head,
			      struct hv_export **ret) hv_must_use;
/* Adds a page of CPU, or text. An error (ENOSPC) names the file; what was added before is kept, and
 * hv_export_end() can still be called. */
struct hv_err *hv_export_add(struct hv_export *x, unsigned cpu, struct hv_span data) hv_must_use;
/* Says the names of tasks: the text of saved_cmdlines. Called every second, when X wants it,
 * and before the end. */
struct hv_err *hv_export_name_tasks(struct hv_export *x,
				    struct hv_export_text saved_cmdlines) hv_must_use;
/* Says the names of the host's tasks, as above, for the second file. */
struct hv_err *hv_export_name_host(struct hv_export *x, struct hv_export_text names) hv_must_use;
/* All that the tree had for now was added: makes it readable. Called often. */
struct hv_err *hv_export_turn(struct hv_export *x) hv_must_use;
/* Completes the file. Nothing is added afterwards. */
struct hv_err *hv_export_end(struct hv_export *x) hv_must_use;
/* X may be NULL. */
void hv_export_free(struct hv_export *x);
