/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of an instance, and of all instances. Only files of this folder include it; the
 * others use instance.h. */
#pragma once

#include "tree/instance/core/instance.h"

struct hv_instance {
	struct hv_instances *all;
	struct hv_instance *next; /* sorted by name */
	char *name;		  /* owned; NULL: the top instance */
	struct hv_options options;
	struct hv_selection selection;
	struct hv_event_set events;	       /* enabled guest events (publish.h) */
	struct hv_func_commands func_commands; /* function commands */
	unsigned recording; /* tracing_on as set, or as read from the guest (sharing.h) */
	unsigned nr_pauses; /* number of open files that pause recording (pause-on-trace) */
	unsigned profiles;  /* function_profile_enabled */
	struct hv_buffers buffers;
	struct hv_consumer consumer; /* receives events for BUFFERS (demux.h) */
	struct hv_error_log errors;
	struct hv_pipes pipes;
	size_t nr_open;		   /* number of open files */
	void *states[HV_NR_PARTS]; /* owned; or NULL */
};

struct hv_instances {
	struct hv_session *session; /* borrowed */
	const struct hv_publisher *publisher;
	/* The publisher's parts that have acts(), which is called for each event;
	 * NULL-terminated. */
	const struct hv_part *acting[HV_NR_PARTS + 1];
	unsigned nr_cpus;
	/* The clock with which instances begin: the guest's clock may become unstable later. */
	enum hv_trace_clock initial_clock;
	struct hv_instance top; /* list head; top.next is the first instance */
	struct hv_top_settings top_settings;

	/* Cached hv_instances_single(), valid while KNOWS_SINGLE: while the drain reads events that
	 * change no setting. */
	const struct hv_instance *single_now;
	unsigned knows_single;
	struct hv_drain *drain; /* owned; NULL: the top instance uses the guest's rings (demux.h) */
	unsigned host_commands; /* the host executes function commands (commands.h) */
	unsigned switch_shared; /* the guest's switch is not the top's tracing_on (sharing.h) */
	struct hv_dump dump;
	struct hv_event_texts *event_texts; /* owned */
	void *states[HV_NR_PARTS];	    /* owned; or NULL */
};
