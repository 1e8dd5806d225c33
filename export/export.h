/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the data of a guest's trace into files for other programs. Each format is a struct
 * hv_export_format; hv_export_formats lists them.
 *
 * A file is written as its data arrives. After hv_export_turn() it is readable up to that point,
 * even if the program is killed. When the disk is full, earlier data stays in the file.
 *
 * cli/verbs/record/file.h reads the tree and decides when to stop. One thread. The process must
 * ignore SIGXFSZ and SIGPIPE. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* Text of a file of the tree. Borrowed. */
struct hv_export_text {
	const char *text;
	size_t len_bytes;
};

/* The text of events/SYSTEM/NAME/format. Borrowed. */
struct hv_export_event {
	const char *system;
	struct hv_export_text format;
};

/* The host's threads that run the vCPUs of a guest. TRACE_ID is the id of the guest's own file. */
struct hv_export_guest {
	const char *name; /* borrowed */
	uint64_t trace_id;
	const int32_t *vcpu_tids; /* borrowed; one per vCPU; -1: unknown */
};

/* Information that precedes the first event. Borrowed until the file is closed. */
struct hv_export_head {
	unsigned nr_cpus;	 /* vCPUs are numbered 0 to NR_CPUS - 1 */
	size_t page_bytes;	 /* page size of trace_pipe_raw, a power of two */
	const char *clock;	 /* as in trace_clock: local, x86-tsc, ... */
	uint64_t clock_epoch_ns; /* time of clock value 0, ns since 1970; 0: unknown */
	bool has_date;		 /* show wall-clock times; CLOCK_EPOCH_NS is known */
	const char *kernel;	 /* the guest's /proc/version without the newline */
	const char *program;	 /* name and version of the program that writes the file */
	uint64_t trace_id;	 /* of trace.dat: other files refer to it; 0: none */
	const struct hv_export_guest *guest; /* for the host's trace.dat; borrowed; or NULL */
	struct hv_export_text trace_clock;
	struct hv_export_text header_page;
	struct hv_export_text header_event;
	struct hv_export_text kallsyms;
	struct hv_export_text printk_formats;
	const struct hv_export_event *events; /* grouped by system */
	size_t nr_events;
};

struct hv_export;

enum hv_export_input {
	HV_EXPORT_TEXT,	 /* trace_pipe */
	HV_EXPORT_PAGES, /* trace_pipe_raw of each vCPU */
};

enum hv_compression { HV_COMPRESSION_NONE, HV_COMPRESSION_ZSTD };

struct hv_maker;     /* export/output.h */
struct hv_stream_to; /* stream/sender.h */

/* A second file for the events of the host. Borrowed until both files are closed. */
struct hv_export_host {
	const char *path;   /* for errors */
	int fd;		    /* open for reading and writing, empty */
	const char *kernel; /* the host's /proc/version without the newline */
	uint64_t trace_id;  /* of this file; not 0, and not the guest's */
	struct hv_export_guest guest;
};

struct hv_export_config {
	const char *path; /* for errors; "-": FD is standard output */
	int fd;		  /* borrowed; a file open for reading and writing, or a directory */
	/* Directory formats: name of the directory inside FD. If NULL, FD is the directory.
	 * Borrowed. */
	const char *inside;
	/* Directory formats: creates files below FD. Borrowed. If NULL, the format creates them. */
	const struct hv_maker *maker;
	enum hv_compression compression;
	/* Writes all bytes to FD, or fails. If NULL, write(2) is used. */
	ssize_t (*write)(int fd, const void *bytes, size_t len_bytes);
	const struct hv_stream_to *to; /* destination of a stream, which has no FD; borrowed */
	/* Formats with HAS_HOST: if NULL, the host's events are in the guest's file. Borrowed. */
	const struct hv_export_host *host;
	unsigned is_others; /* FD had contents before: never truncate it */
};

struct hv_export_format {
	const char *name;	  /* as the user writes it */
	const char *suffix;	  /* file suffix with the dot, or NULL */
	const char *other_suffix; /* also accepted; or NULL */
	enum hv_export_input input;
	unsigned needs_seek;	   /* FD must be seekable */
	unsigned has_date;	   /* supports wall-clock times */
	unsigned has_host;	   /* supports a second file with the host's events */
	unsigned needs_no_symbols; /* needs neither symbols nor the formats of tracer events */
	unsigned is_dir;	   /* FD must be an empty directory; compression is not supported */
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

/* Must be the first member of each format's own structure. */
struct hv_export {
	const struct hv_export_format *format;
	bool wants_names; /* call hv_export_name_tasks() before hv_export_turn() */
};

/* The formats, one per source file. */
extern const struct hv_export_format hv_export_dat;   /* dat.c: trace.dat, one or two files */
extern const struct hv_export_format hv_export_ctf;   /* ctf.c: a directory in CTF 1.8 */
extern const struct hv_export_format hv_export_jsonl; /* jsonl.c: JSON, one event per line */
extern const struct hv_export_format hv_export_txt;   /* txt.c: the text of trace_pipe */
/* histogram.c: durations, as bars or as JSON */
extern const struct hv_export_format hv_export_histogram, hv_export_histogram_json;
extern const struct hv_export_format hv_export_perfetto; /* perfetto.c: for ui.perfetto.dev */

extern const struct hv_export_format *const hv_export_formats[];
extern const size_t hv_nr_export_formats;

/* Returns NULL if there is no format with that name. */
const struct hv_export_format *hv_export_find(const char *name);
/* Returns the format for PATH's suffix, or NULL. Strips a compression suffix first and stores it in
 * *RET. */
const struct hv_export_format *hv_export_of_path(const char *path, enum hv_compression *ret);

/* Fails with EINVAL if FD cannot be written in this format. */
struct hv_err *hv_export_check(const struct hv_export_format *format,
			       const struct hv_export_config *config) hv_must_use;
/* CONFIG must have passed hv_export_check(). Borrows HEAD. */
struct hv_err *hv_export_open(const struct hv_export_format *format,
			      const struct hv_export_config *config,
			      const struct hv_export_head *head,
			      struct hv_export **ret) hv_must_use;
/* Adds a page of CPU, or text. Errors such as ENOSPC name the file. After an error, earlier data is
 * kept and hv_export_end() may be called. */
struct hv_err *hv_export_add(struct hv_export *x, unsigned cpu, struct hv_span data) hv_must_use;
/* Adds the names of tasks: the text of saved_cmdlines. Call it every second if X->wants_names is
 * set, and before hv_export_end(). */
struct hv_err *hv_export_name_tasks(struct hv_export *x,
				    struct hv_export_text saved_cmdlines) hv_must_use;
/* Like hv_export_name_tasks(), for the host's tasks in the second file. */
struct hv_err *hv_export_name_host(struct hv_export *x, struct hv_export_text names) hv_must_use;
/* Call it often, after all data available at the time was added. Makes the data readable. */
struct hv_err *hv_export_turn(struct hv_export *x) hv_must_use;
/* Completes the file. No data may be added afterwards. */
struct hv_err *hv_export_end(struct hv_export *x) hv_must_use;
/* X may be NULL. */
void hv_export_free(struct hv_export *x);
