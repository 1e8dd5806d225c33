/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs instances of a session: the top directory and the directories in instances/. An
 * instance consists of parts, described in their own headers. trace.h applies settings to the
 * guest, demux.h distributes events, tree/files/ has names and files. One thread. */
#pragma once

#include "base/switch.h"
#include "tracer/session.h"
#include "tree/instance/core/buffers.h"
#include "tree/instance/core/drain.h"
#include "tree/instance/core/error_log.h"
#include "tree/instance/core/part.h"
#include "tree/instance/core/tracer.h"
#include "tree/settings/event_set.h"
#include "tree/settings/filter.h"
#include "tree/settings/options.h"
#include "tree/settings/pidlist.h"
#include "tree/settings/func_commands.h"
#include "tree/settings/rights.h"

struct hv_event_texts;
struct hv_instance;
struct hv_instances;
struct hv_synth;

/* -- selection --------------------------------------------------------------------------------- */

/* The tracer of an instance, and the functions, tasks and vCPUs that it is limited to. functions.h
 * applies selections to the guest; tree/files/ shows and sets them. */

/* set_ftrace_filter, set_ftrace_notrace, set_graph_function, set_graph_notrace, and the top
 * instance's stack_trace_filter. */
enum hv_filter_list {
	HV_LIST_FILTER,
	HV_LIST_NOTRACE,
	HV_LIST_GRAPH,
	HV_LIST_GRAPH_NOTRACE,
	HV_LIST_STACK,
	HV_NR_FILTER_LISTS
};
/* The first two lists also exist for tasks: set_ftrace_pid and set_ftrace_notrace_pid;
 * set_event_pid and set_event_notrace_pid. */
#define HV_NR_PID_LISTS 2

struct hv_selection {
	const struct hv_tracer_ops *tracer; /* never NULL */
	struct hv_filter lists[HV_NR_FILTER_LISTS];
	struct hv_modcache waiting[HV_NR_FILTER_LISTS]; /* words of LISTS that wait for modules */
	struct hv_pidlist pids[HV_NR_PID_LISTS];
	struct hv_pidlist event_pids[HV_NR_PID_LISTS]; /* for guest events */
	uint8_t *muted; /* owned, a byte per vCPU; nonzero: excluded by tracing_cpumask */
};

/* Returns whether set_ftrace_filter and set_ftrace_notrace select the function at IP. Ignores the
 * tracer, which may be nop. */
bool hv_selection_has_function(const struct hv_selection *sel, struct hv_gva ip);
bool hv_selection_has_task(const struct hv_selection *sel, uint32_t pid);

/* -- instances --------------------------------------------------------------------------------- */

/* The instances of SESSION: initially only the top instance. SESSION and PUBLISHER are borrowed. */
struct hv_instances *hv_instances_new(struct hv_session *session, unsigned nr_cpus,
				      const struct hv_publisher *publisher);
/* All files of all instances must be closed. ALL may be NULL. */
void hv_instances_free(struct hv_instances *all);

/* Adds an instance with most of the top instance's options. NAME must be new. HOST becomes its live
 * buffer, owned by the instance. If the rings are shared, it receives events from now on. */
struct hv_instance *hv_instances_add(struct hv_instances *all, const char *name,
				     struct hv_buffer *host);
/* Frees IN, which must not be the top instance. Its files must be closed. */
void hv_instances_remove(struct hv_instance *in);

/* -- all instances ----------------------------------------------------------------------------- */

struct hv_session *hv_instances_session(const struct hv_instances *all);
unsigned hv_instances_nr_cpus(const struct hv_instances *all);
/* Returns the top instance, from which hv_instance_next() leads to all others, sorted by name. */
struct hv_instance *hv_instances_top(const struct hv_instances *all);
struct hv_instance *hv_instance_next(const struct hv_instance *in);
/* How events are shown, for all instances. */
struct hv_event_texts *hv_instances_event_texts(const struct hv_instances *all);
struct hv_dump *hv_instances_dump(const struct hv_instances *all);

/* Settings that only the top directory has. */
struct hv_top_settings {
	uint32_t max_graph_depth; /* 0: no limit */
	uint64_t thresh_ns;	  /* tracing_thresh */
	unsigned profile_shared;  /* counts may include functions of other instances */
	unsigned shows_tgids;	  /* the option record-tgid was set at least once */
};
struct hv_top_settings *hv_instances_top_settings(const struct hv_instances *all);

/* -- one instance ------------------------------------------------------------------------------ */

/* The caller may change the result, unless IN is const. */

struct hv_instances *hv_instance_all(const struct hv_instance *in);
struct hv_session *hv_instance_session(const struct hv_instance *in);
/* NULL: IN is the top instance. */
const char *hv_instance_name(const struct hv_instance *in);
bool hv_instance_is_top(const struct hv_instance *in);
struct hv_options *hv_instance_options(const struct hv_instance *in);
struct hv_selection *hv_instance_selection(const struct hv_instance *in);
/* The tracer of the selection. */
const struct hv_tracer_ops *hv_instance_tracer(const struct hv_instance *in);
/* The enabled guest events (publish.h). */
struct hv_event_set *hv_instance_events(const struct hv_instance *in);
struct hv_func_commands *hv_instance_commands(const struct hv_instance *in);
struct hv_buffers *hv_instance_buffers(const struct hv_instance *in);
/* Returns the consumer that stores events in the buffers (demux.h). */
struct hv_consumer *hv_instance_consumer(const struct hv_instance *in);
struct hv_error_log *hv_instance_errors(const struct hv_instance *in);
struct hv_pipes *hv_instance_pipes(const struct hv_instance *in);

/* Counts the open files. */
void hv_instance_add_file(struct hv_instance *in);
void hv_instance_remove_file(struct hv_instance *in);
size_t hv_instance_nr_files(const struct hv_instance *in);

/* Returns function_profile_enabled. trace.h changes it. */
bool hv_instance_profiles(const struct hv_instance *in);
void hv_instance_note_profile(struct hv_instance *in, enum hv_switch to);

/* -- state of the parts ------------------------------------------------------------------------ */

/* The state of PART for IN or for all instances; NULL: none. Only the part knows its type. */
void *hv_instance_state(const struct hv_instance *in, enum hv_part_id part);
void *hv_instances_state(const struct hv_instances *all, enum hv_part_id part);
/* STATE, from malloc() or NULL, becomes the state. The caller frees the previous one. */
void hv_instance_set_state(struct hv_instance *in, enum hv_part_id part, void *state);
void hv_instances_set_state(struct hv_instances *all, enum hv_part_id part, void *state);

/* -- what the instances record ----------------------------------------------------------------- */

/* Returns whether IN records function calls: by its tracer, or with function-trace in its sections
 * or until a woken task runs. */
bool hv_instance_has_functions(const struct hv_instance *in);
/* Reports in IN's error_log why IN does not trace as set. For errors that no client waits for. */
void hv_instance_report(struct hv_instance *in, const struct hv_err *why);
/* Returns whether the host acts on guest events for IN: by triggers, histograms, a wakeup tracer,
 * or task lists that follow forks. */
bool hv_instance_has_triggers(const struct hv_instance *in);
/* Returns whether IN records guest events, or has triggers for them or commands that switch
 * them. */
bool hv_instance_has_events(const struct hv_instance *in);
/* Returns the only instance that traces functions or has events enabled, or the top instance if no
 * instance does. Returns NULL if there are several, or if the functions and events of the only one
 * are limited to different tasks. Then the host selects the events of each instance. */
struct hv_instance *hv_instances_single(struct hv_instances *all);
/* Call it before an event of KIND is processed. It caches hv_instances_single(), which depends on
 * all settings, for calls and returns because these change no setting. Other events may change
 * settings (commands, triggers, forks). */
void hv_instances_know_single(struct hv_instances *all, enum hv_event_kind kind);
/* Returns whether IN is the only tracing instance (hv_instances_single). Uses the cached result if
 * it is valid. */
bool hv_instance_is_single(const struct hv_instance *in);
/* Returns whether any instance has its profile enabled. */
bool hv_instances_profile(const struct hv_instances *all);
/* Returns whether sites call a trampoline for IN: because it traces, because its profile counts the
 * functions in its filter, or because of the stack tracer. */
bool hv_instance_is_live(const struct hv_instance *in);

/* Distributes everything that the guest has recorded until now, if the instances share its rings.
 * An instance matches events with its current settings, so call this before changing such a setting
 * and before reading a buffer. */
void hv_instances_drain(struct hv_instances *all);

/* Returns whether the instances share the guest's rings now (sharing.h). */
bool hv_instances_share(const struct hv_instances *all);

/* -- needs of the parts ------------------------------------------------------------------------ */

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
/* Like hv_instance_wants_stacks(), for user stacks. */
bool hv_instance_wants_user_stacks(const struct hv_instance *in, struct hv_event_ref ref);
/* Returns whether SET contains events made by the host. */
bool hv_instances_make_any(const struct hv_instances *all, const struct hv_event_set *set);
/* Returns whether any part needs the guest's rings to be drained. */
bool hv_instances_take_rings(const struct hv_instances *all);

/* -- notifications to the parts ---------------------------------------------------------------- */

/* Events were lost before EVENT, which IN receives next. */
void hv_instance_lose(struct hv_instance *in, const struct hv_event *event);
/* IN uses the guest's rings as its buffer again. */
void hv_instance_return_rings(struct hv_instance *in);
/* Drops IN's state of types that are no longer in C. */
void hv_instance_forget_gone(struct hv_instance *in, const struct hv_catalogue *c);
/* Removes the triggers of REF and those that switch it. IN must be published again. */
void hv_instance_forget_event(struct hv_instance *in, struct hv_event_ref ref);

/* -- updates of the session -------------------------------------------------------------------- */

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

/* -- rights ------------------------------------------------------------------------------------ */

/* The rights that a client needs to change an instance, given what runs in it.
 * tree/settings/rights.h defines rights; tree/files/file.h checks them. */

/* Returns the rights for TRACER in IN, including those for functions that it traces because of IN's
 * options. */
uint32_t hv_instance_tracer_need(const struct hv_instance *in, const struct hv_tracer_ops *tracer);
/* Returns the rights for everything that stops when IN is removed. */
uint32_t hv_instance_end_need(const struct hv_instance *in);
/* Replaces HV_NEED_RUNNING and HV_NEED_ALL_RUNNING in NEED by the rights for the tracer and the
 * profile of IN, or of all instances. */
uint32_t hv_instance_need(const struct hv_instance *in, uint32_t need);
