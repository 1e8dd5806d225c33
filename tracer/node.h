/* Between the files of the tree: what a file is, what an open one keeps, what the tree knows.
 * Contract of tree.c and files_*.c; nobody else includes it. */
#pragma once

#include <fcntl.h>

#include "tracer/filter.h"
#include "tracer/format.h"
#include "tracer/options.h"
#include "tracer/pidlist.h"
#include "tracer/session.h"
#include "tracer/token.h"
#include "tracer/tree.h"

enum hv_tracer { HV_TRACER_NOP, HV_TRACER_FUNCTION };
enum hv_filter_list { HV_LIST_FILTER, HV_LIST_NOTRACE };
#define HV_NR_FILTER_LISTS 2

/* A kind of file. Unset operations: open and close do nothing, write is EINVAL. */
struct hv_node {
	const char *name;
	const char *help; /* its line of README */
	struct hv_err *(*open)(struct hv_file *f)hv_must_use;
	/* Adds all the file says to f->text. */
	void (*show)(struct hv_file *f);
	/* Instead of show: adds what comes next, at least a byte; nothing more: the end. */
	struct hv_err *(*fill)(struct hv_file *f)hv_must_use;
	struct hv_err *(*write)(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)hv_must_use;
	/* Publishes; the file is freed whatever it returns. */
	struct hv_err *(*close)(struct hv_file *f)hv_must_use;
	unsigned arg; /* enum hv_filter_list of a filter file */
};

struct hv_tree {
	struct hv_session *session; /* borrowed */
	enum hv_tracer tracer;
	unsigned recording;
	struct hv_options options;
	struct hv_filter lists[HV_NR_FILTER_LISTS];
	struct hv_pidlist pids;
	struct hv_file *pipe; /* who has trace_pipe open */
	size_t nr_open;
	unsigned ending; /* what is closed from now on is not published */
};

struct hv_file {
	struct hv_tree *tree;
	const struct hv_node *node;
	int flags;
	struct hv_text text; /* made, not yet read */
	size_t text_pos;
	unsigned nr_fills;
	size_t asked_bytes; /* by the read that made the text necessary */
	/* trace, trace_pipe */
	struct hv_cursor *cursor;
	unsigned annotate;	/* the buffer ran over */
	unsigned char *started; /* one byte a CPU: its first line was written */
	unsigned nr_started;
	uint64_t nr_lines;
	unsigned asleep; /* the reader was told to wait */
	/* filter files */
	struct hv_filter list;
	struct hv_token token;
};

static inline bool hv_file_writes(const struct hv_file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

static inline bool hv_file_reads(const struct hv_file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

/* Ended by a node without a name. */
extern const struct hv_node hv_nodes[];

const char *hv_tracer_name(enum hv_tracer tracer);
/* Makes the guest as TRACER and LISTS (HV_NR_FILTER_LISTS of them) say; on error it is as before.
 */
struct hv_err *hv_tree_trace(struct hv_tree *t, enum hv_tracer tracer,
			     const struct hv_filter *lists) hv_must_use;

/* How events are shown now. */
struct hv_style hv_tree_style(const struct hv_tree *t);

/* files_trace.c */
struct hv_err *hv_trace_open(struct hv_file *f) hv_must_use;
struct hv_err *hv_trace_fill(struct hv_file *f) hv_must_use;
struct hv_err *hv_trace_write(struct hv_file *f, const char *buf, size_t len_bytes,
			      size_t *ret_len) hv_must_use;
struct hv_err *hv_pipe_open(struct hv_file *f) hv_must_use;
struct hv_err *hv_pipe_fill(struct hv_file *f) hv_must_use;
struct hv_err *hv_pipe_close(struct hv_file *f) hv_must_use;

/* files_filter.c */
void hv_sites_show(struct hv_file *f);
void hv_sites_addrs_show(struct hv_file *f);
void hv_patched_show(struct hv_file *f);
struct hv_err *hv_list_open(struct hv_file *f) hv_must_use;
void hv_list_show(struct hv_file *f);
struct hv_err *hv_list_write(struct hv_file *f, const char *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
struct hv_err *hv_list_close(struct hv_file *f) hv_must_use;
struct hv_err *hv_pids_open(struct hv_file *f) hv_must_use;
void hv_pids_show(struct hv_file *f);
struct hv_err *hv_pids_write(struct hv_file *f, const char *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;

/* files_options.c */
/* Whatever is to happen when an option changes happens here. */
struct hv_err *hv_option_set(struct hv_tree *t, enum hv_option option, bool on) hv_must_use;
void hv_options_show(struct hv_file *f);
struct hv_err *hv_options_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len) hv_must_use;

/* files_control.c */
void hv_readme_show(struct hv_file *f);
void hv_tracers_show(struct hv_file *f);
void hv_tracer_show(struct hv_file *f);
struct hv_err *hv_tracer_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len) hv_must_use;
void hv_recording_show(struct hv_file *f);
struct hv_err *hv_recording_write(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len) hv_must_use;
void hv_clock_show(struct hv_file *f);
struct hv_err *hv_clock_write(struct hv_file *f, const char *buf, size_t len_bytes,
			      size_t *ret_len) hv_must_use;
void hv_size_show(struct hv_file *f);
void hv_total_size_show(struct hv_file *f);
void hv_comms_show(struct hv_file *f);
