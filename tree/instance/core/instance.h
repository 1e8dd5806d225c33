/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs instances of a session: the top directory, and each directory of instances/. An
 * instance consists of parts that have their own headers.
 * Leaves to others: what the settings of the instances change in the guest (trace.h), which events
 * an instance gets (demux.h), names and files (tree/files/). One thread. */
#pragma once

#include "tracer/scope.h"
#include "tracer/session.h"
#include "tree/instance/budget.h"
#include "tree/instance/core/buffers.h"
#include "tree/instance/core/drain.h"
#include "tree/instance/core/dump.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/core/error_log.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/hist/hists.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/demux/open_calls.h"
#include "tree/instance/core/pipes.h"
#include "tree/instance/core/selection.h"
#include "tree/instance/latency/stack_tracer.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/settings/event_set.h"
#include "tree/settings/options.h"
#include "tree/instance/events/triggers.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/settings/probes.h"

struct hv_instances;

struct hv_instance {
	struct hv_instances *all;
	struct hv_instance *next; /* sorted by name */
	char *name;		  /* owned; NULL: the top */
	struct hv_options options;
	struct hv_options options_before; /* of a tracer of sections or of wakeups */
	uint8_t *in_section; /* owned, a byte per vCPU: of the events that were taken (demux.h) */
	struct hv_selection selection;
	struct hv_event_set events; /* of the guest's own that are on (events.h) */
	/* Those that users define, or triggers switched on, which were on since the buffer was made
	 * (event_ids.h). */
	struct hv_event_set probed;
	struct hv_event_filters filters; /* of the guest's own events (event_filters.h) */
	struct hv_triggers triggers;	 /* likewise (triggers.h) */
	struct hv_hists hists;		 /* likewise: hist triggers (hists.h) */
	struct hv_probes probes;	 /* the commands of its functions */
	unsigned recording; /* tracing_on as it was set, or read from the guest (recording.h) */
	unsigned begins;    /* recording begins once the sites are changed (trace.h) */
	unsigned nr_pauses; /* open files that pause recording (pause-on-trace) */
	unsigned profiles;  /* function_profile_enabled */
	struct hv_buffers buffers;
	struct hv_sink sink;		  /* takes events for BUFFERS (demux.h) */
	struct hv_open_calls *open_calls; /* owned; NULL: none is known (demux.h) */
	struct hv_stacks_due *stacks_due; /* owned, one per vCPU (event_stacks.h) */
	unsigned nr_stacks;		  /* of the event that is being taken: those it wants */
	struct hv_kept_event *kept;	  /* owned: likewise what waits for its stack */
	struct hv_wakeups *wakeups;	  /* owned; NULL: it has no such tracer (wakeups.h) */
	uint64_t max_latency_ns; /* tracing_max_latency while no section is measured (sections.h) */
	struct hv_error_log errors;
	unsigned nr_retraces_failed; /* since what it traces was last published (housekeeping.h) */
	unsigned retrace_waits;	     /* looks until that is tried again */
	unsigned retrace_failed_now; /* in this look: it is not tried again in the same one */
	struct hv_pipes pipes;
	unsigned fill_percent; /* buffer_percent */
	size_t nr_open;	       /* open files */
};

struct hv_instances {
	struct hv_session *session; /* borrowed */
	unsigned nr_cpus;
	struct hv_instance top; /* top.next is the first of the others */

	/* Settings for which only the top directory has files. */
	uint32_t max_graph_depth; /* 0: no limit */
	uint64_t thresh_ns;	  /* tracing_thresh */
	unsigned profile_shared;  /* counts may be of functions that the top does not count */
	unsigned shows_tgids;	  /* the option record-tgid was on at least once */

	unsigned sites_wait;	    /* sites are changed when recording begins (sites.h) */
	struct hv_gva inexact_told; /* the refused site that others rely on (sites.h) */
	enum hv_forks forks;	    /* what the session was told (tasks.h) */
	/* hv_instances_single(), while KNOWS_SINGLE: while events are drained that change no
	 * setting */
	const struct hv_instance *single_now;
	unsigned knows_single;
	struct hv_drain *drain;	 /* owned; NULL: the guest's rings are the top's buffer (demux.h) */
	unsigned host_obeys;	 /* the host obeys commands of functions (commands.h) */
	unsigned switch_shared;	 /* the guest's switch is not the top's tracing_on (recording.h) */
	bool events_wait;	 /* those of the top must be published again (housekeeping.h) */
	unsigned commands_spent; /* a count was used up since the commands were published */
	struct hv_dump dump;
	struct hv_event_texts *event_texts; /* owned */
	struct hv_syscalls *syscalls;	    /* owned; NULL: no event of a system call was ever on */
	struct hv_kprobes kprobes;
	struct hv_eprobes eprobes;
	struct hv_synths synths;
	struct hv_event_set stacked; /* recorded with their stacks (event_stacks.h) */
	uint64_t nr_hists;	     /* hist triggers, ever */
	struct hv_budget budget;
	struct hv_stack_tracer stack_tracer;
};

/* At first there is only the top. SESSION is borrowed. */
void hv_instances_init(struct hv_instances *all, struct hv_session *session, unsigned nr_cpus);
/* All files of all instances must be closed. */
void hv_instances_deinit(struct hv_instances *all);

/* Adds an instance with most of the top's options. NAME must be new. HOST becomes its live buffer,
 * and the instance owns it. */
struct hv_instance *hv_instances_add(struct hv_instances *all, const char *name,
				     struct hv_buffer *host);
/* Frees IN. It must not be the top, and all its files must be closed. */
void hv_instances_remove(struct hv_instance *in);

static inline bool hv_instance_is_top(const struct hv_instance *in)
{
	return in == &in->all->top;
}

/* Returns whether IN records calls of functions: by its tracer, or in its sections
 * or until a woken task runs (function-trace). */
bool hv_instance_has_functions(const struct hv_instance *in);
/* Notes in its error_log why IN does not trace as it should, for which no client waits. */
void hv_instance_tell(struct hv_instance *in, const struct hv_err *why);
/* Returns whether the lists of tasks of events follow forks (event_forks.h). */
static inline bool hv_instance_follows_forks(const struct hv_instance *in)
{
	const struct hv_pidlist *lists = in->selection.event_pids;

	return hv_options_on(&in->options, HV_OPT_EVENT_FORK) &&
	       (hv_pidlist_limits(&lists[HV_LIST_FILTER]) ||
		hv_pidlist_limits(&lists[HV_LIST_NOTRACE]));
}
/* Returns whether IN has triggers for events of the guest's own, hist triggers or others, or
 * something else that the host drives by them as it does triggers (wakeups.h, event_forks.h). */
static inline bool hv_instance_has_triggers(const struct hv_instance *in)
{
	return in->triggers.nr || in->hists.nr || in->wakeups || hv_instance_follows_forks(in);
}
/* Returns whether IN records events of the guest's own, or has triggers for them, or commands that
 * switch them. */
static inline bool hv_instance_has_events(const struct hv_instance *in)
{
	return in->events.nr || hv_instance_has_triggers(in) || hv_probes_have_events(&in->probes);
}
/* Returns the only instance that traces functions or has events on; the top, if there is none;
 * NULL, if there are several, or if functions and events of the only one are limited to different
 * tasks: then the host decides what an instance gets. */
struct hv_instance *hv_instances_single(struct hv_instances *all);
/* Returns whether a profile is on in any instance. */
bool hv_instances_profile(const struct hv_instances *all);
/* Returns whether sites call a stub for IN: because it traces, because its profile counts the
 * functions in its filter, or because of the stack tracer. */
bool hv_instance_is_live(const struct hv_instance *in);

/* Passes what the guest has recorded until now to the instances, if they share its rings. An
 * instance decides by its present settings whether it wants an event, so callers do this before
 * each change of such a setting, and before they read a buffer. */
void hv_instances_drain(struct hv_instances *all);
