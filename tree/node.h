/* Between the files of the tree: what a file or directory is, what an open file keeps, what the
 * tree knows. Contract of tree.c, nodes.c, instance.c and tree/files/; nobody else includes it. */
#pragma once

#include <fcntl.h>

#include "tree/format/graph.h"
#include "tree/instance/commands.h"
#include "tree/instance/recording.h"
#include "tree/instance/share.h"
#include "tree/instance/sites.h"
#include "tree/instance/tasks.h"
#include "tree/instance/trace.h"
#include "tree/instance/upkeep.h"
#include "tree/settings/token.h"
#include "tree/tree.h"

/* Where a path led. What a dynamic directory knows of its entry is in INSTANCE, CPU and ARG. */
struct hv_place {
	struct hv_tree *tree;
	struct hv_instance *instance;
	const struct hv_node *node;
	int cpu;	/* HV_ALL_CPUS outside per_cpu/ */
	unsigned arg;	/* node->arg, or what the dynamic directory says of an entry */
	unsigned entry; /* which entry of a dynamic directory, for all below it */
};

/* A file, or a directory: what has children or entries.
 * Unset operations: open and close do nothing, read and write are EINVAL. */
struct hv_node {
	const char *name;      /* of an entry: how README shows it, as "cpuN" */
	const char *help;      /* its line of README */
	unsigned mode;	       /* permissions; 0: what the operations make of it (hv_node_mode) */
	unsigned only_top : 1; /* not in instances/ */
	unsigned arg;

	/* files */
	struct hv_err *(*open)(struct hv_file *f)hv_must_use;
	/* Adds all the file says to f->text. */
	void (*show)(struct hv_file *f);
	/* Instead of show: adds what comes next, at least a byte; nothing more: the end. */
	struct hv_err *(*fill)(struct hv_file *f)hv_must_use;
	struct hv_err *(*write)(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)hv_must_use;
	/* Before what is there is made text for poll(2). EAGAIN: not yet. *RET_ALWAYS true:
	 * readable, be there something or not. */
	struct hv_err *(*ready)(struct hv_file *f, bool *ret_always)hv_must_use;
	/* Publishes; the file is freed whatever it returns. */
	struct hv_err *(*close)(struct hv_file *f)hv_must_use;

	/* directories: children that are always there, ended by a node without a name, and entries
	 * that come and go, all of one kind */
	const struct hv_node *children;
	const struct hv_node *entry;
	/* Adds the name of the INDEXth entry of DIR. False: there is none any more. */
	bool (*entry_name)(const struct hv_place *dir, size_t index, struct hv_text *ret);
	/* Makes AT, the directory, its entry NAME (instance, cpu, arg or entry; the node is set by
	 * the caller). False: there is none of that name. */
	bool (*find_entry)(struct hv_place *at, const char *name);
	/* mkdir and rmdir of an entry. Unset: EPERM. NAME does not exist; AT is the entry. */
	struct hv_err *(*make_entry)(const struct hv_place *dir, const char *name)hv_must_use;
	struct hv_err *(*remove_entry)(const struct hv_place *at)hv_must_use;
};

static inline bool hv_node_is_dir(const struct hv_node *n)
{
	return n->children || n->entry;
}

struct hv_tree {
	struct hv_instances instances;
	size_t nr_open;
	unsigned ending; /* what is closed from now on is not published */
};

struct hv_file {
	struct hv_tree *tree;
	struct hv_instance *instance;
	const struct hv_node *node;
	int cpu;      /* HV_ALL_CPUS, or whose of per_cpu/ */
	unsigned arg; /* as in hv_place */
	unsigned entry;
	char *path; /* owned; for messages */
	int flags;
	struct hv_text text; /* made, not yet read */
	size_t text_pos;
	unsigned nr_fills;
	size_t asked_bytes; /* by the read that made the text necessary */
	/* trace, trace_pipe */
	struct hv_cursor *cursor;
	struct hv_graph *graph;	  /* NULL: no call or return was read yet */
	struct hv_buffer *buffer; /* the cursor's */
	unsigned annotate;	  /* the buffer ran over */
	unsigned char *started;	  /* one byte a CPU: its first line was written */
	unsigned nr_started;
	uint64_t nr_lines;
	unsigned asleep;     /* the reader was told to wait */
	unsigned is_latency; /* latency-format was on when it was opened */
	struct hv_latency latency;
	unsigned pauses; /* recording stands still while it is open */
	/* taken and not yet returned: of trace_pipe_raw, because it did not fit into the last page;
	 * of trace, because a line in latency format says how far the next event is */
	struct hv_event held;
	unsigned has_held;
	/* dumps */
	unsigned is_done; /* its last line was made */
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

/* The top directory, and those of instances/. */
extern const struct hv_node hv_root_node;
extern const struct hv_node hv_instance_node;

/* Closed as one that hv_tree_open gave. PATH is copied. */
struct hv_file *hv_file_new(const struct hv_place *at, const char *path, int flags);

/* What was written to F was refused: for error_log. */
void hv_file_log_error(struct hv_file *f, const struct hv_err *err, const char *buf,
		       size_t len_bytes);

/* files/trace.c */
struct hv_err *hv_trace_open(struct hv_file *f) hv_must_use;
struct hv_err *hv_trace_close(struct hv_file *f) hv_must_use;
struct hv_err *hv_trace_fill(struct hv_file *f) hv_must_use;
/* What a dump of F's buffer is made of: how its events are shown, the next of them (false: there
 * is none), its lines. */
struct hv_style hv_trace_style(struct hv_file *f);
bool hv_trace_take(struct hv_file *f, struct hv_event *ret);
void hv_trace_add(struct hv_file *f, const struct hv_style *style, const struct hv_event *e);
/* Makes F's cursor, in B. */
void hv_file_read_buffer(struct hv_file *f, struct hv_buffer *b, enum hv_cursor_mode mode);
/* The instance's buffer may be another one since the cursor of F was made: then a new one. */
void hv_file_follow_buffer(struct hv_file *f);
struct hv_err *hv_pipe_open(struct hv_file *f) hv_must_use;
/* buffer_percent. */
struct hv_err *hv_pipe_ready(struct hv_file *f, bool *ret_always) hv_must_use;
struct hv_err *hv_pipe_fill(struct hv_file *f) hv_must_use;
struct hv_err *hv_pipe_close(struct hv_file *f) hv_must_use;

/* files/cpu.c */
bool hv_cpu_name(const struct hv_place *dir, size_t index, struct hv_text *ret);
bool hv_cpu_find(struct hv_place *at, const char *name);
void hv_stats_show(struct hv_file *f);

/* files/size.c */
void hv_size_show(struct hv_file *f);
struct hv_err *hv_size_write(struct hv_file *f, const char *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
void hv_total_size_show(struct hv_file *f);
void hv_percent_show(struct hv_file *f);
struct hv_err *hv_percent_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len) hv_must_use;
void hv_subbuf_show(struct hv_file *f);
struct hv_err *hv_subbuf_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len) hv_must_use;
struct hv_err *hv_free_buffer_close(struct hv_file *f) hv_must_use;
struct hv_err *hv_snapshot_open(struct hv_file *f) hv_must_use;
struct hv_err *hv_snapshot_fill(struct hv_file *f) hv_must_use;
struct hv_err *hv_snapshot_write(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len) hv_must_use;

/* files/instances.c */
bool hv_instance_name(const struct hv_place *dir, size_t index, struct hv_text *ret);
bool hv_instance_find(struct hv_place *at, const char *name);
struct hv_err *hv_instance_mkdir(const struct hv_place *dir, const char *name) hv_must_use;
struct hv_err *hv_instance_rmdir(const struct hv_place *at) hv_must_use;

/* files/raw.c */
struct hv_err *hv_raw_open(struct hv_file *f) hv_must_use;
struct hv_err *hv_raw_fill(struct hv_file *f) hv_must_use;
struct hv_err *hv_raw_close(struct hv_file *f) hv_must_use;

/* files/events.c */
bool hv_event_name(const struct hv_place *dir, size_t index, struct hv_text *ret);
bool hv_event_find(struct hv_place *at, const char *name);
void hv_event_format_show(struct hv_file *f);
void hv_event_id_show(struct hv_file *f);
void hv_header_page_show(struct hv_file *f);
void hv_header_event_show(struct hv_file *f);
void hv_printk_formats_show(struct hv_file *f);
void hv_events_enabled_show(struct hv_file *f);
struct hv_err *hv_events_enabled_write(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len) hv_must_use;
void hv_set_event_show(struct hv_file *f);
struct hv_err *hv_set_event_write(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len) hv_must_use;

/* files/filter.c */
void hv_sites_show(struct hv_file *f);
void hv_sites_addrs_show(struct hv_file *f);
void hv_patched_show(struct hv_file *f);
struct hv_err *hv_list_open(struct hv_file *f) hv_must_use;
void hv_list_show(struct hv_file *f);
struct hv_err *hv_list_write(struct hv_file *f, const char *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;
struct hv_err *hv_list_close(struct hv_file *f) hv_must_use;

/* files/marker.c */
struct hv_err *hv_marker_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len) hv_must_use;
struct hv_err *hv_marker_raw_write(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len) hv_must_use;

/* files/pids.c */
struct hv_err *hv_pids_open(struct hv_file *f) hv_must_use;
void hv_pids_show(struct hv_file *f);
struct hv_err *hv_pids_write(struct hv_file *f, const char *buf, size_t len_bytes,
			     size_t *ret_len) hv_must_use;

/* files/graph.c */
void hv_depth_show(struct hv_file *f);
struct hv_err *hv_depth_write(struct hv_file *f, const char *buf, size_t len_bytes,
			      size_t *ret_len) hv_must_use;
void hv_thresh_show(struct hv_file *f);
struct hv_err *hv_thresh_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len) hv_must_use;

/* files/profile.c */
void hv_profile_enabled_show(struct hv_file *f);
struct hv_err *hv_profile_enabled_write(struct hv_file *f, const char *buf, size_t len_bytes,
					size_t *ret_len) hv_must_use;
bool hv_profile_name(const struct hv_place *dir, size_t index, struct hv_text *ret);
bool hv_profile_find(struct hv_place *at, const char *name);
void hv_profile_show(struct hv_file *f);

/* files/options.c */
void hv_options_show(struct hv_file *f);
struct hv_err *hv_options_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len) hv_must_use;
bool hv_option_name(const struct hv_place *dir, size_t index, struct hv_text *ret);
bool hv_option_find_entry(struct hv_place *at, const char *name);
void hv_option_show(struct hv_file *f);
struct hv_err *hv_option_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len) hv_must_use;

/* files/tracer.c */
/* A number that is all of what is written: kstrtoul_from_user. EINVAL, ERANGE. */
struct hv_err *hv_number_written(const char *buf, size_t len_bytes, uint64_t *ret) hv_must_use;
void hv_readme_show(struct hv_file *f);
struct hv_err *hv_errors_open(struct hv_file *f) hv_must_use;
void hv_errors_show(struct hv_file *f);
/* Takes anything, does nothing. */
struct hv_err *hv_anything_write(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len) hv_must_use;
void hv_timestamps_show(struct hv_file *f);
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

/* files/tasks.c */
void hv_comms_show(struct hv_file *f);
void hv_comms_size_show(struct hv_file *f);
struct hv_err *hv_comms_size_write(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len) hv_must_use;
void hv_tgids_show(struct hv_file *f);

/* files/cpumask.c */
void hv_cpumask_show(struct hv_file *f);
struct hv_err *hv_cpumask_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len) hv_must_use;
