/* One tracefs instance: what the top directory and each of instances/ have of their own.
 * Leaves to others: names and files (node.h), what a tracer does to the guest (session.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tree/instance/drain.h"
#include "tree/instance/error_log.h"
#include "tree/settings/filter.h"
#include "tree/format/format.h"
#include "tree/settings/modcache.h"
#include "tree/settings/options.h"
#include "tree/settings/pidlist.h"
#include "tree/settings/probes.h"
#include "tree/settings/tracer_names.h"

struct hv_file;
struct hv_tree;

/* set_ftrace_filter, set_ftrace_notrace, set_graph_function, set_graph_notrace */
enum hv_filter_list { HV_LIST_FILTER, HV_LIST_NOTRACE, HV_LIST_GRAPH, HV_LIST_GRAPH_NOTRACE };
#define HV_NR_FILTER_LISTS 4
/* of which set_ftrace_pid and set_ftrace_notrace_pid have their like */
#define HV_NR_PID_LISTS	   2

#define HV_ALL_CPUS -1

/* Who reads trace_pipe and per_cpu/cpuN/trace_pipe: all vCPUs by one, or each by one. */
struct hv_pipes {
	struct hv_file *all;
	struct hv_file **of_cpu; /* owned, NR_CPUS of them */
	unsigned nr_cpus;
	unsigned nr;	 /* files open, of either kind */
	unsigned nr_raw; /* trace_pipe_raw open: none excludes another */
};

struct hv_instance {
	struct hv_tree *tree;
	struct hv_instance *next;
	char *name; /* owned; NULL: the top */
	enum hv_tracer tracer;
	unsigned recording; /* tracing_on */
	struct hv_options options;
	struct hv_filter lists[HV_NR_FILTER_LISTS];
	struct hv_modcache waiting[HV_NR_FILTER_LISTS]; /* words of LISTS for modules to come */
	struct hv_probes probes;
	struct hv_pidlist pids[HV_NR_PID_LISTS]; /* only these, not these */
	uint8_t *muted;	       /* owned, a byte a vCPU: not 0 where tracing_cpumask has none */
	unsigned fill_percent; /* buffer_percent */
	uint64_t start_ns; /* when its buffer was emptied last: what latency format counts from */
	enum hv_trace_clock clock;
	struct hv_error_log errors;
	unsigned nr_pauses; /* open files that recording stands still for (pause-on-trace) */
	struct hv_pipes pipes;
	size_t nr_open; /* files */
	/* NULL: the guest's rings themselves; never so below instances/ */
	struct hv_buffer *host;	    /* owned */
	struct hv_buffer *snapshot; /* owned; NULL: freed */
	struct hv_sink sink;	    /* into HOST */
	unsigned free_at_close;	    /* free_buffer was opened */
};

void hv_instance_init(struct hv_instance *in, struct hv_tree *tree, unsigned nr_cpus);
void hv_instance_deinit(struct hv_instance *in);

/* How its events are shown now. */
struct hv_style hv_instance_style(const struct hv_instance *in);

/* EBUSY when somebody reads what F would: F is of all vCPUs, or of one. */
struct hv_err *hv_pipes_take(struct hv_pipes *pipes, struct hv_file *f, int cpu) hv_must_use;
/* Does nothing when F has not taken it. */
void hv_pipes_give_back(struct hv_pipes *pipes, struct hv_file *f);

/* Makes the guest as TRACER and LISTS (HV_NR_FILTER_LISTS of them) of this instance say; on error
 * it is as before, and so is the instance. */
struct hv_err *hv_instance_trace(struct hv_instance *in, enum hv_tracer tracer,
				 const struct hv_filter *lists) hv_must_use;
/* What its trace and trace_pipe read, with all that was recorded until now. Another one when
 * something has changed: cursors stay with the one they were made for. */
struct hv_buffer *hv_instance_buffer(struct hv_instance *in);
/* FUNC:COMMAND[:PARAM] of set_ftrace_filter (hv_probes_apply), done in the guest; on error it is as
 * before. */
struct hv_err *hv_instance_probe(struct hv_instance *in, const char *func,
				 enum hv_probe_command command, const char *param) hv_must_use;
/* It traces nothing any more, and its functions have no commands; on error it is as before. */
struct hv_err *hv_instance_stop(struct hv_instance *in) hv_must_use;
/* hv_probe_left of the instance CTX. */
int64_t hv_instance_probe_left(void *ctx, enum hv_probe_command command,
			       const struct hv_probe *probe);
/* Words that waited for modules which are there now become functions of the lists. */
void hv_instance_modules_came(struct hv_instance *in);
/* Whether sites call something for it: it traces, or its filter is the profile's. */
bool hv_instance_is_live(const struct hv_instance *in);
/* Only the tasks that PIDS (HV_NR_PID_LISTS of them) let through are recorded. */
struct hv_err *hv_instance_filter_pids(struct hv_instance *in,
				       const struct hv_pidlist *pids) hv_must_use;
/* PIDS of the instance become what the guest has made of them where it follows forks. To be called
 * before they are looked at or changed. */
void hv_instance_learn_pids(struct hv_instance *in);
/* The option function-fork is about to be ON. EBUSY: several instances trace. */
struct hv_err *hv_instance_follow_forks(struct hv_instance *in, bool on) hv_must_use;
/* MUTED has changed. */
void hv_instance_mute_cpus(struct hv_instance *in);
/* tracing_on, or what pauses it, has changed. */
void hv_instance_set_recording(struct hv_instance *in, unsigned on);
/* Likewise, for who hands on events: none are handed on before. */
void hv_instance_switch_recording(struct hv_instance *in, unsigned on);
void hv_instance_pause(struct hv_instance *in);
void hv_instance_go_on(struct hv_instance *in);
/* Whether something is recorded now: tracing_on as set or as the guest did it, and no pause. */
bool hv_instance_records(const struct hv_instance *in);
/* What tracing_on shows: the same without the pauses. */
unsigned hv_instance_tracing_on(const struct hv_instance *in);
/* Has its options, max_graph_depth and tracing_thresh obeyed by what is recorded from now on. */
void hv_instance_graph(struct hv_instance *in, const struct hv_filter *lists);
/* Its buffer is in host memory from now on, with what it has. ENOMEM. */
struct hv_err *hv_instance_need_host(struct hv_instance *in) hv_must_use;
/* HOST is its buffer: made to do as the option overwrite and the clock say. */
void hv_instance_set_host(struct hv_instance *in, struct hv_buffer *host);
/* Empties the buffer and the snapshot; what comes into them from now on is shown with times of
 * CLOCK, which is of this instance alone. */
void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock);
/* What those times are. */
enum hv_clock_kind hv_instance_clock(const struct hv_instance *in);
/* Bytes of CPU's part of the buffer, as it is; of the snapshot's, too. */
uint64_t hv_instance_size(const struct hv_instance *in, unsigned cpu);
/* Of all, one a vCPU; the caller's to free. */
uint64_t *hv_instance_sizes(const struct hv_instance *in);
/* Of one vCPU's part, or of all (HV_ALL_CPUS); of the snapshot's, too. Keeps what is in them, the
 * newest of it when they are to be smaller. ENOMEM: they are as before. */
struct hv_err *hv_instance_resize(struct hv_instance *in, int cpu, uint64_t size_bytes) hv_must_use;
/* Moves what is in the buffer, of one vCPU or of all (HV_ALL_CPUS), into the snapshot, in place of
 * what was there; it is made when there is none. ENOMEM. */
struct hv_err *hv_instance_take_snapshot(struct hv_instance *in, int cpu) hv_must_use;
/* It is there, if only empty. ENOMEM. */
struct hv_err *hv_instance_need_snapshot(struct hv_instance *in) hv_must_use;
/* The buffer, which is in host memory, becomes the snapshot, and another empty one the buffer. For
 * who hands on events: none are handed on before. */
void hv_instance_swap_snapshot(struct hv_instance *in);
void hv_instance_free_snapshot(struct hv_instance *in);
/* Empties the buffer of one vCPU, or of all (HV_ALL_CPUS). */
void hv_instance_clear(struct hv_instance *in, int cpu);
