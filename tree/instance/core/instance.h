/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs instances of a session: the top directory and the directories in instances/. An
 * instance consists of parts, described in their own headers. trace.h applies settings to the
 * guest, demux.h distributes events, tree/files/ has names and files. One thread. */
#pragma once

#include "tracer/guest/scope.h"
#include "tracer/session.h"
#include "tree/instance/core/buffers.h"
#include "tree/instance/core/drain.h"
#include "tree/instance/core/dump.h"
#include "tree/instance/core/error_log.h"
#include "tree/instance/core/part.h"
#include "tree/instance/core/pipes.h"
#include "tree/instance/core/selection.h"
#include "tree/settings/event_set.h"
#include "tree/settings/options.h"
#include "tree/settings/probes.h"

struct hv_budget;
struct hv_eprobes;
struct hv_event_filters;
struct hv_event_stacks;
struct hv_event_texts;
struct hv_hists;
struct hv_instances;
struct hv_kprobes;
struct hv_open_calls;
struct hv_stack_tracer;
struct hv_synth;
struct hv_syscalls;
struct hv_synths;
struct hv_triggers;
struct hv_wakeups;

struct hv_instance {
	struct hv_instances *all;
	struct hv_instance *next; /* sorted by name */
	char *name;		  /* owned; NULL: the top instance */
	struct hv_options options;
	struct hv_options options_before; /* saved while a section or wakeup tracer runs */
	struct hv_selection selection;
	struct hv_event_set events; /* enabled guest events (publish.h) */
	/* Events defined by users, or enabled by triggers, that were enabled since the buffer was
	 * made (host_made.h). */
	struct hv_event_set probed;
	struct hv_probes probes; /* function commands */
	unsigned recording;	 /* tracing_on as set, or as read from the guest (recording.h) */
	unsigned begins;	 /* recording starts after the sites are changed (trace.h) */
	unsigned nr_pauses;	 /* number of open files that pause recording (pause-on-trace) */
	unsigned profiles;	 /* function_profile_enabled */
	struct hv_buffers buffers;
	struct hv_sink sink;	 /* receives events for BUFFERS (demux.h) */
	uint64_t max_latency_ns; /* tracing_max_latency while no section is measured (sections.h) */
	struct hv_error_log errors;
	unsigned nr_retraces_failed; /* since the last successful publish (housekeeping.h) */
	unsigned retrace_waits;	     /* periods until the next retry */
	unsigned retrace_failed_now; /* failed in this period: no retry until the next one */
	struct hv_pipes pipes;
	unsigned fill_percent; /* buffer_percent */
	size_t nr_open;	       /* number of open files */

	/* State of parts, which each part owns. */
	struct hv_event_filters *filters;
	struct hv_triggers *triggers;
	struct hv_hists *hists;
	struct hv_event_stacks *stacks;
	struct hv_open_calls *open_calls; /* or NULL (demux.h) */
	uint8_t *in_section; /* per vCPU: whether the last processed event was in a section */
	struct hv_wakeups *wakeups; /* NULL: no wakeup tracer (wakeups.h) */
};

struct hv_instances {
	struct hv_session *session; /* borrowed */
	const struct hv_publisher *publisher;
	unsigned nr_cpus;
	struct hv_instance top; /* list head; top.next is the first instance */

	/* Settings that only the top directory has. */
	uint32_t max_graph_depth; /* 0: no limit */
	uint64_t thresh_ns;	  /* tracing_thresh */
	unsigned profile_shared;  /* counts may include functions of other instances */
	unsigned shows_tgids;	  /* the option record-tgid was set at least once */

	unsigned sites_wait;	    /* sites are changed when recording starts (sites.h) */
	struct hv_gva inexact_told; /* the refused site that was reported last (sites.h) */
	enum hv_forks forks;	    /* as published (tasks.h) */
	/* Cached hv_instances_single(), valid while KNOWS_SINGLE: while the drain reads events that
	 * change no setting. */
	const struct hv_instance *single_now;
	unsigned knows_single;
	struct hv_drain *drain; /* owned; NULL: the top instance uses the guest's rings (demux.h) */
	unsigned host_obeys;	/* the host executes function commands (commands.h) */
	unsigned switch_shared; /* the guest's switch is not the top's tracing_on (recording.h) */
	bool events_wait; /* the top instance's events must be published again (housekeeping.h) */
	unsigned commands_spent; /* a count reached 0 since commands were published */
	struct hv_dump dump;
	struct hv_event_texts *event_texts; /* owned */
	struct hv_event_set stacked;	    /* events recorded with stacks (event_stacks.h) */
	uint64_t nr_hists;		    /* hist triggers created, including removed ones */

	/* State of parts for all instances, which each part owns. */
	struct hv_syscalls *syscalls; /* NULL: no system call event was enabled yet */
	struct hv_kprobes *kprobes;
	struct hv_eprobes *eprobes;
	struct hv_synths *synths;
	struct hv_budget *budget;
	struct hv_stack_tracer *stack_tracer;
};

/* Initially there is only the top instance. SESSION and PUBLISHER are borrowed. */
void hv_instances_init(struct hv_instances *all, struct hv_session *session, unsigned nr_cpus,
		       const struct hv_publisher *publisher);
/* All files of all instances must be closed. */
void hv_instances_deinit(struct hv_instances *all);

/* Adds an instance with most of the top instance's options. NAME must be new. HOST becomes its live
 * buffer, owned by the instance. If the rings are shared, it receives events from now on. */
struct hv_instance *hv_instances_add(struct hv_instances *all, const char *name,
				     struct hv_buffer *host);
/* Frees IN, which must not be the top instance. Its files must be closed. */
void hv_instances_remove(struct hv_instance *in);

static inline bool hv_instance_is_top(const struct hv_instance *in)
{
	return in == &in->all->top;
}

/* Returns whether IN records function calls: by its tracer, or with function-trace in its sections
 * or until a woken task runs. */
bool hv_instance_has_functions(const struct hv_instance *in);
/* Reports in IN's error_log why IN does not trace as set. For errors that no client waits for. */
void hv_instance_tell(struct hv_instance *in, const struct hv_err *why);
/* Returns whether the host acts on guest events for IN: by triggers, histograms, a wakeup tracer,
 * or task lists that follow forks. */
bool hv_instance_has_triggers(const struct hv_instance *in);
/* Returns whether IN records guest events, or has triggers for them or commands that switch
 * them. */
static inline bool hv_instance_has_events(const struct hv_instance *in)
{
	return in->events.nr || hv_instance_has_triggers(in) || hv_probes_have_events(&in->probes);
}
/* Returns the only instance that traces functions or has events enabled, or the top instance if no
 * instance does. Returns NULL if there are several, or if the functions and events of the only one
 * are limited to different tasks. Then the host selects the events of each instance. */
struct hv_instance *hv_instances_single(struct hv_instances *all);
/* Returns whether any instance has its profile enabled. */
bool hv_instances_profile(const struct hv_instances *all);
/* Returns whether sites call a stub for IN: because it traces, because its profile counts the
 * functions in its filter, or because of the stack tracer. */
bool hv_instance_is_live(const struct hv_instance *in);

/* Distributes everything that the guest has recorded until now, if the instances share its rings.
 * An instance matches events with its current settings, so call this before changing such a setting
 * and before reading a buffer. */
void hv_instances_drain(struct hv_instances *all);

/* Returns whether the instances share the guest's rings now (sharing.h). */
static inline bool hv_instances_share(const struct hv_instances *all)
{
	return all->drain != NULL;
}

/* -- needs of the parts
 * --------------------------------------------------------------------------- */

/* Returns whether the guest must record REF for triggers, histograms, or function commands
 * (EVENT_FILE_FL_SOFT_MODE). */
bool hv_instance_acts_on(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether IN needs events derived from REF. */
bool hv_instance_probes(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether IN uses events of TYPE to follow tasks. */
bool hv_instance_follows(const struct hv_instance *in, const struct hv_event_type *type);
/* Returns whether the guest records REF for IN, because it is enabled or because a trigger or an
 * event probe needs it. Files show all of these (EVENT_FILE_FL_ENABLED). */
bool hv_instance_needs_event(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether the guest records events of TYPE for any instance. */
bool hv_instances_want_event(const struct hv_instances *all, const struct hv_event_type *type);
/* Returns whether a hist trigger of IN makes events of SYNTH. */
bool hv_instance_makes(const struct hv_instance *in, const struct hv_synth *synth);
/* Returns whether IN needs stacks of the event REF. */
bool hv_instance_wants_stacks(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether SET contains events made by the host. */
bool hv_instances_make_any(const struct hv_instances *all, const struct hv_event_set *set);
/* Returns whether any part needs the guest's rings to be drained. */
bool hv_instances_take_rings(const struct hv_instances *all);

/* -- notifications to the parts
 * -------------------------------------------------------------------- */

/* Events were lost before EVENT, which IN receives next. */
void hv_instance_lose(struct hv_instance *in, const struct hv_event *event);
/* IN uses the guest's rings as its buffer again. */
void hv_instance_return_rings(struct hv_instance *in);
/* Drops IN's state of types that are no longer in C. */
void hv_instance_forget_gone(struct hv_instance *in, const struct hv_catalogue *c);
/* Removes the triggers of REF and those that switch it. IN must be published again. */
void hv_instance_forget_event(struct hv_instance *in, struct hv_event_ref ref);

/* -- updates of the session
 * ------------------------------------------------------------------------ */

/* Publishes the needs of all instances again, because the guest's modules or command counts
 * changed. */
struct hv_err *hv_instance_retrace(struct hv_instance *in) hv_must_use;
/* Publishes the events of all instances after a change of IN's triggers. Returns an error also if
 * an event cannot be recorded. */
struct hv_err *hv_instance_publish_events(struct hv_instance *in) hv_must_use;
/* hv_instance_retrace() after hv_instance_publish_events(). Also updates whether the host executes
 * commands (commands.h). */
struct hv_err *hv_instance_publish_triggers(struct hv_instance *in) hv_must_use;
/* Publishes which events of TYPE the guest may skip, after a filter changed. */
void hv_instances_publish_filter(const struct hv_instances *all, const struct hv_event_type *type);
/* Passes the actions of functions, according to the instances' settings, to the session. They take
 * effect when sites are published. ENOMEM. */
struct hv_err *hv_instances_publish_commands(struct hv_instances *all) hv_must_use;
