/* The tracefs instances of a session: the top directory's, and one for each directory of
 * instances/. An instance is put together here of parts that have headers of their own.
 * Leaves to others: what the instances make of the guest (trace.h), who gets which events
 * (share.h), names and files (tree/files/). One thread. */
#pragma once

#include "tracer/scope.h"
#include "tracer/session.h"
#include "tree/instance/buffers.h"
#include "tree/instance/drain.h"
#include "tree/instance/dump.h"
#include "tree/instance/error_log.h"
#include "tree/instance/pipes.h"
#include "tree/instance/selection.h"
#include "tree/settings/options.h"
#include "tree/settings/probes.h"

struct hv_instances;

struct hv_instance {
	struct hv_instances *all;
	struct hv_instance *next; /* in the order of names */
	char *name;		  /* owned; NULL: the top */
	struct hv_options options;
	struct hv_selection selection;
	struct hv_probes probes; /* the commands of its functions */
	unsigned recording;	 /* tracing_on, as it was set or learned last (recording.h) */
	unsigned nr_pauses;	 /* open files that recording waits for (pause-on-trace) */
	struct hv_buffers buffers;
	struct hv_sink sink; /* takes events for BUFFERS (share.h) */
	struct hv_error_log errors;
	struct hv_pipes pipes;
	unsigned fill_percent; /* buffer_percent */
	size_t nr_open;	       /* files */
};

struct hv_instances {
	struct hv_session *session; /* borrowed */
	unsigned nr_cpus;
	struct hv_instance top; /* top.next is the first of the others */

	/* What only the top directory has files for. */
	uint32_t max_graph_depth; /* 0: no limit */
	uint64_t thresh_ns;	  /* tracing_thresh */
	unsigned profiles;	  /* function_profile_enabled */
	unsigned shows_tgids;	  /* the option record-tgid was on at some time */

	enum hv_forks forks;	 /* as the session was told (tasks.h) */
	struct hv_drain *drain;	 /* owned; NULL: the guest's rings are the top's buffer (share.h) */
	unsigned host_obeys;	 /* commands of functions (commands.h) */
	unsigned commands_spent; /* a count was used up since the guest was told of them */
	struct hv_dump dump;
};

/* SESSION is borrowed. There is only the top. */
void hv_instances_init(struct hv_instances *all, struct hv_session *session, unsigned nr_cpus);
/* No file of any instance is open. */
void hv_instances_deinit(struct hv_instances *all);

/* A new instance, with the top's options. No other one is called NAME. HOST is its live buffer,
 * which it owns then. */
struct hv_instance *hv_instances_add(struct hv_instances *all, const char *name,
				     struct hv_buffer *host);
/* Frees IN, which is not the top and of which no file is open. */
void hv_instances_remove(struct hv_instance *in);

static inline bool hv_instance_is_top(const struct hv_instance *in)
{
	return in == &in->all->top;
}

/* The instance that traces, if it is the only one; the top, if none traces; else NULL. */
struct hv_instance *hv_instances_single(struct hv_instances *all);
/* Whether sites call something for IN: it traces, or the profile counts what its filter has. */
bool hv_instance_is_live(const struct hv_instance *in);

/* Hands on what the guest recorded until now, if instances share its rings. Events are judged by
 * what is set when they are handed on, so this is to be called before each change of such a
 * setting, and before each look at a buffer. */
void hv_instances_drain(struct hv_instances *all);
