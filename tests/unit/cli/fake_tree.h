/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by fake_tree.c, the tree, and fake_control.c, its file "control". */
#pragma once

#include "tests/unit/cli/fake_layers.h"
#include "tests/unit/cli/fake_raw.h"
#include "tree/tree.h"

enum {
	FAKE_CONTROL,
	FAKE_TRACER,
	FAKE_FILTER,
	FAKE_NOTRACE,
	FAKE_GRAPH,
	FAKE_PIDS,
	FAKE_EVENTS,
	FAKE_EVENT_PIDS,
	FAKE_PROBES, /* one probe, in the group kprobes */
	FAKE_SYNTHS,
	FAKE_TRACING_ON,
	FAKE_PROFILE,
	FAKE_STACK_TRACER,
	FAKE_TRACE_PIPE,
	FAKE_STATS,
	FAKE_TRACE,
	FAKE_MAX_LATENCY,
	FAKE_FUNCTION_TRACE,
	FAKE_GRAPH_HOST,
	FAKE_GRAPH_RETVAL,
	FAKE_RAW,
	FAKE_BUFFER_PERCENT,
	FAKE_DYNAMIC,	   /* no event's name may be the beginning of another's */
	FAKE_EVENT_FILTER, /* one unlisted file for all filters of the directory */
	FAKE_EVENT_ENABLE, /* the same for enable */
	FAKE_TEXT,	   /* a file of fake_raw.h */
	FAKE_NR_FILES,
};

#define FAKE_DIRS_MAX 6

struct fake_dir {
	char name[64]; /* "" for the first, which is the top; else "instances/NAME" */
	char values[FAKE_NR_FILES][256];
	bool pipe_is_open;
	bool grows;
	unsigned nr_looks; /* reads of the profile */
	unsigned nr_calls_taken[FAKE_RAW_CPUS];
};

struct hv_tree {
	struct hv_session *session;
	struct fake_dir dirs[FAKE_DIRS_MAX]; /* an unused instance has no name */
	struct hv_text pipe;		     /* shared by all directories */
	size_t pipe_taken;
	unsigned nr_dumps; /* requested */
	unsigned nr_dumped;
	unsigned nr_lost;
	uint32_t lacks; /* the right that the last refused client lacked */
	unsigned load_ppm;
	unsigned nr_load_looks; /* reads of the file "control" */
	bool without_read;	/* vfs_read was put back */
	unsigned nr_raw;	/* events per vCPU */
	unsigned raw_kinds;	/* FAKE_RAW_CALLS, FAKE_RAW_HOST */
	unsigned nr_raw_taken[FAKE_RAW_CPUS];
	unsigned nr_raw_polls[FAKE_RAW_CPUS]; /* with FAKE_RAW_TASKS */
	bool floods;			      /* a long dump follows those */
	bool has_steal, has_switches;
	bool has_stacks;
	bool is_patched;       /* by a livepatch */
	bool is_stuck;	       /* costly functions cannot be put back */
	bool lacks_switch;     /* set_event has no sched:sched_switch */
	bool has_odd_pages;    /* of a size that is not a power of two */
	unsigned wakeup_errno; /* errno of enabling sched:sched_wakeup; 0: success */
};

/* Executes TEXT, which was written to the file "control". */
void fake_tree_control(struct hv_tree *tree, const char *text);
