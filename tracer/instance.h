/* One tracefs instance: what the top directory and each of instances/ have of their own.
 * Leaves to others: names and files (node.h), what a tracer does to the guest (session.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/filter.h"
#include "tracer/format.h"
#include "tracer/options.h"
#include "tracer/pidlist.h"

struct hv_buffer;
struct hv_file;
struct hv_tree;

enum hv_tracer { HV_TRACER_NOP, HV_TRACER_FUNCTION };
enum hv_filter_list { HV_LIST_FILTER, HV_LIST_NOTRACE };
#define HV_NR_FILTER_LISTS 2

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
	struct hv_pidlist pids;
	struct hv_pipes pipes;
	size_t nr_open; /* files */
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
/* What its trace and trace_pipe read. */
struct hv_buffer *hv_instance_buffer(struct hv_instance *in);
/* Empties the buffer of one vCPU, or of all (HV_ALL_CPUS). */
void hv_instance_clear(struct hv_instance *in, int cpu);
