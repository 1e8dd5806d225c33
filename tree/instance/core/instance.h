/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs instances of a session: the top directory, and each directory of instances/. An
 * instance consists of parts that have their own headers.
 * Leaves to others: what the settings of the instances change in the guest (trace.h), which events
 * an instance gets (demux.h), names and files (tree/files/). One thread. */
#pragma once

#include "tracer/scope.h"
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
struct hv_syscalls;
struct hv_synths;
struct hv_triggers;
struct hv_wakeups;

struct hv_instance {
	struct hv_instances *all;
	struct hv_instance *next; /* sorted by name */
	char *name;		  /* owned; NULL: the top */
	struct hv_options options;
	struct hv_options options_before; /* of a tracer of sections or of wakeups */
	struct hv_selection selection;
	struct hv_event_set events; /* of the guest's own that are on (events.h) */
	/* Those that users define, or triggers switched on, which were on since the buffer was made
	 * (host_made.h). */
	struct hv_event_set probed;
	struct hv_probes probes; /* the commands of its functions */
	unsigned recording; /* tracing_on as it was set, or read from the guest (recording.h) */
	unsigned begins;    /* recording begins once the sites are changed (trace.h) */
	unsigned nr_pauses; /* open files that pause recording (pause-on-trace) */
	unsigned profiles;  /* function_profile_enabled */
	struct hv_buffers buffers;
	struct hv_sink sink;	 /* takes events for BUFFERS (demux.h) */
	uint64_t max_latency_ns; /* tracing_max_latency while no section is measured (sections.h) */
	struct hv_error_log errors;
	unsigned nr_retraces_failed; /* since what it traces was last published (housekeeping.h) */
	unsigned retrace_waits;	     /* looks until that is tried again */
	unsigned retrace_failed_now; /* in this look: it is not tried again in the same one */
	struct hv_pipes pipes;
	unsigned fill_percent; /* buffer_percent */
	size_t nr_open;	       /* open files */

	/* What parts have of it, each of which owns its own. */
	struct hv_event_filters *filters;
	struct hv_triggers *triggers;
	struct hv_hists *hists;
	struct hv_event_stacks *stacks;
	struct hv_open_calls *open_calls; /* NULL: none is known (demux.h) */
	uint8_t *in_section;	    /* a byte per vCPU: of the events that were taken (demux.h) */
	struct hv_wakeups *wakeups; /* NULL: it has no such tracer (wakeups.h) */
};

struct hv_instances {
	struct hv_session *session; /* borrowed */
	const struct hv_publisher *publisher;
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
	struct hv_event_set stacked;	    /* recorded with their stacks (event_stacks.h) */
	uint64_t nr_hists;		    /* hist triggers, ever */

	/* What parts have of all, each of which owns its own. */
	struct hv_syscalls *syscalls; /* NULL: no event of a system call was ever on */
	struct hv_kprobes *kprobes;
	struct hv_eprobes *eprobes;
	struct hv_synths *synths;
	struct hv_budget *budget;
	struct hv_stack_tracer *stack_tracer;
};

/* At first there is only the top. SESSION and PUBLISHER are borrowed. */
void hv_instances_init(struct hv_instances *all, struct hv_session *session, unsigned nr_cpus,
		       const struct hv_publisher *publisher);
/* All files of all instances must be closed. */
void hv_instances_deinit(struct hv_instances *all);

/* Adds an instance with most of the top's options. NAME must be new. HOST becomes its live buffer,
 * and the instance owns it. While the rings are shared, it gets events from now on. */
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
/* Returns whether the host acts on events of the guest's own for IN: by triggers, histograms, a
 * tracer of wakeups, or lists of tasks that follow forks. */
bool hv_instance_has_triggers(const struct hv_instance *in);
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

/* Returns whether the guest's rings are shared now (sharing.h). */
static inline bool hv_instances_share(const struct hv_instances *all)
{
	return all->drain != NULL;
}

/* -- what the parts need ----------------------------------------------------------------------- */

/* Returns whether the guest must record REF for the sake of triggers, histograms, or commands of
 * functions (EVENT_FILE_FL_SOFT_MODE). */
bool hv_instance_acts_on(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether events that IN needs are made of REF. */
bool hv_instance_probes(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether IN follows tasks by events of TYPE. */
bool hv_instance_follows(const struct hv_instance *in, const struct hv_event_type *type);
/* Returns whether the guest records REF for IN: it is on, or a trigger needs it, or a probe of it
 * does. Files show all of these (EVENT_FILE_FL_ENABLED). */
bool hv_instance_needs_event(const struct hv_instance *in, struct hv_event_ref ref);
/* Whether the guest records events of TYPE for any instance. */
bool hv_instances_want_event(const struct hv_instances *all, const struct hv_event_type *type);
/* Returns whether IN wants stacks of the event REF. */
bool hv_instance_wants_stacks(const struct hv_instance *in, struct hv_event_ref ref);
/* Whether SET has events that the host makes. */
bool hv_instances_make_any(const struct hv_instances *all, const struct hv_event_set *set);
/* Whether a part needs events to be taken out of the guest's rings. */
bool hv_instances_take_rings(const struct hv_instances *all);

/* -- telling the parts ------------------------------------------------------------------------- */

/* Events were lost before EVENT, which IN takes next. */
void hv_instance_lose(struct hv_instance *in, const struct hv_event *event);
/* IN's buffer is the guest's rings again. */
void hv_instance_return_rings(struct hv_instance *in);
/* Forgets what IN has of types that C, as it is now, does not have. */
void hv_instance_forget_gone(struct hv_instance *in, const struct hv_catalogue *c);
/* Forgets the triggers of REF, and those that switch it. IN must be traced again. */
void hv_instance_forget_event(struct hv_instance *in, struct hv_event_ref ref);

/* -- telling the session ----------------------------------------------------------------------- */

/* Tells the session again what the instances want. For changes of something else on which sites
 * depend: the guest's modules, or counts of commands. */
struct hv_err *hv_instance_retrace(struct hv_instance *in) hv_must_use;
/* Tells the session which events all instances want after a change of IN's triggers. The error may
 * be that an event cannot be recorded. */
struct hv_err *hv_instance_publish_events(struct hv_instance *in) hv_must_use;
/* Both, in this order: afterwards the session also knows who obeys commands (commands.h). */
struct hv_err *hv_instance_publish_triggers(struct hv_instance *in) hv_must_use;
/* Tells the session what it may leave out of the events of TYPE, after a filter has changed. */
void hv_instances_publish_filter(const struct hv_instances *all, const struct hv_event_type *type);
/* Tells the session which actions calls of functions have, according to the settings of the
 * instances. The next publishing of sites changes the guest's. ENOMEM. */
struct hv_err *hv_instances_publish_commands(struct hv_instances *all) hv_must_use;
