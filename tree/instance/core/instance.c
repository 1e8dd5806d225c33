/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/events/callers.h"
#include "tracer/tracepoints/event_calls.h"
#include "tree/format/event_texts.h"
#include "tree/instance/core/state.h"
#include "tree/instance/core/tracer.h"

/* Returns a mask of the options that this guest does not support. The option stacktrace
 * needs both stacks and guest events, userstacktrace saved registers of programs and guest events. */
static uint64_t absent_options(struct hv_session *s)
{
	HV_AUTO_ERR struct hv_err *err = hv_callers_check(s->callers);
	HV_AUTO_ERR struct hv_err *no_events = hv_event_calls_refusal(s->kernel->core.as.arch);
	uint64_t absent = 0;

	if (err)
		absent |= UINT64_C(1) << HV_OPT_FUNC_STACK_TRACE;
	if (err || no_events)
		absent |= UINT64_C(1) << HV_OPT_STACKTRACE;
	if (no_events || !s->kernel->core.as.arch->user_regs_bytes)
		absent |= UINT64_C(1) << HV_OPT_USERSTACKTRACE | UINT64_C(1) << HV_OPT_SYM_USEROBJ;
	return absent;
}

/* P iterates over the parts of ALL, starting at all->publisher->parts. */
#define FOR_EACH_PART(p, all)                                                                      \
	for (const struct hv_part *const *p = (all)->publisher->parts;                             \
	     p < (all)->publisher->parts + HV_NR_PARTS; p++)

/* Allocates the states of the parts: of an instance, or of all instances. */
static void add_states(const struct hv_publisher *publisher, void **states, bool of_all)
{
	for (unsigned i = 0; i < HV_NR_PARTS; i++) {
		const struct hv_part *p = publisher->parts[i];
		size_t bytes = of_all ? p->all_bytes : p->state_bytes;

		states[i] = bytes ? hv_alloc(bytes) : NULL;
	}
}

static void free_states(void **states)
{
	for (unsigned i = 0; i < HV_NR_PARTS; i++)
		free(states[i]);
}

static void find_acting(struct hv_instances *all)
{
	size_t nr = 0;

	FOR_EACH_PART (p, all)
		if ((*p)->acts)
			all->acting[nr++] = *p;
}

/* Initially the tracer is nop without limits. */
static void selection_init(struct hv_selection *sel, unsigned nr_cpus)
{
	*sel = (struct hv_selection){.tracer = &hv_tracer_nop, .muted = hv_alloc(nr_cpus)};
}

static void selection_deinit(struct hv_selection *sel)
{
	for (unsigned i = 0; i < HV_NR_FILTER_LISTS; i++) {
		hv_filter_deinit(&sel->lists[i]);
		hv_modcache_clear(&sel->waiting[i]);
	}
	for (unsigned i = 0; i < HV_NR_PID_LISTS; i++) {
		hv_pidlist_deinit(&sel->pids[i]);
		hv_pidlist_deinit(&sel->event_pids[i]);
	}
	free(sel->muted);
}

static void init(struct hv_instance *in, struct hv_instances *all)
{
	*in = (struct hv_instance){
		.all = all,
		.recording = 1,
		.options = hv_options_default(),
	};
	in->options.absent = absent_options(all->session);
	selection_init(&in->selection, all->nr_cpus);
	hv_buffers_init(&in->buffers, all->session, all->nr_cpus);
	hv_buffers_use_clock(&in->buffers, all->initial_clock);
	hv_pipes_init(&in->pipes, all->nr_cpus);
	add_states(all->publisher, in->states, false);
	FOR_EACH_PART (p, all)
		if ((*p)->init)
			(*p)->init(in);
}

static void deinit(struct hv_instance *in)
{
	assert(in->nr_open == 0);
	FOR_EACH_PART (p, in->all)
		if ((*p)->deinit)
			(*p)->deinit(in);
	free_states(in->states);
	selection_deinit(&in->selection);
	hv_event_set_deinit(&in->events);
	hv_func_commands_deinit(&in->func_commands);
	hv_buffers_deinit(&in->buffers);
	hv_error_log_clear(&in->errors);
	hv_pipes_deinit(&in->pipes);
	free(in->name);
}

struct hv_instances *hv_instances_new(struct hv_session *session, unsigned nr_cpus,
				      const struct hv_publisher *publisher)
{
	struct hv_instances *all = hv_alloc(sizeof(*all));

	*all = (struct hv_instances){
		.session = session,
		.publisher = publisher,
		.nr_cpus = nr_cpus,
		.initial_clock = hv_clocks_default(session->clocks),
	};
	all->event_texts = hv_event_texts_new(session->kernel, session->types);
	add_states(publisher, all->states, true);
	find_acting(all);
	FOR_EACH_PART (p, all)
		if ((*p)->init_all)
			(*p)->init_all(all);
	init(&all->top, all);
	hv_buffer_use_clock(session->buffer, all->top.buffers.clock);
	return all;
}

void hv_instances_free(struct hv_instances *all)
{
	if (!all)
		return;
	hv_dump_end(&all->dump);
	hv_drain_free(all->drain);
	all->drain = NULL;
	while (all->top.next)
		hv_instances_remove(all->top.next);
	deinit(&all->top);
	hv_event_texts_free(all->event_texts);
	FOR_EACH_PART (p, all)
		if ((*p)->deinit_all)
			(*p)->deinit_all(all);
	free_states(all->states);
	free(all);
}

struct hv_instance *hv_instances_add(struct hv_instances *all, const char *name,
				     struct hv_buffer *host)
{
	struct hv_instance **at = &all->top.next;
	struct hv_instance *in = hv_alloc(sizeof(*in));
	bool overwrites;

	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	init(in, all);
	in->name = hv_strdup(name);
	in->options = hv_options_inherited(&all->top.options);
	overwrites = hv_options_on(&in->options, HV_OPT_OVERWRITE);
	hv_buffers_when_full(&in->buffers, overwrites ? HV_FULL_OVERWRITES : HV_FULL_DROPS);
	hv_buffers_set_host(&in->buffers, host);
	in->next = *at;
	*at = in;
	if (all->drain)
		hv_drain_add(all->drain, &in->consumer);
	return in;
}

void hv_instances_remove(struct hv_instance *in)
{
	struct hv_instance **at = &in->all->top.next;

	if (in->all->drain)
		hv_drain_remove(in->all->drain, &in->consumer);
	while (*at != in)
		at = &(*at)->next;
	*at = in->next;
	deinit(in);
	free(in);
}

/* -- contents ---------------------------------------------------------------------------------- */

/* The results are not const even if the instance is const. This is safe because no instance is
 * defined const. */

struct hv_session *hv_instances_session(const struct hv_instances *all)
{
	return all->session;
}

unsigned hv_instances_nr_cpus(const struct hv_instances *all)
{
	return all->nr_cpus;
}

struct hv_instance *hv_instances_top(const struct hv_instances *all)
{
	return (struct hv_instance *)&all->top;
}

struct hv_instance *hv_instance_next(const struct hv_instance *in)
{
	return in->next;
}

struct hv_event_texts *hv_instances_event_texts(const struct hv_instances *all)
{
	return all->event_texts;
}

struct hv_dump *hv_instances_dump(const struct hv_instances *all)
{
	return (struct hv_dump *)&all->dump;
}

struct hv_top_settings *hv_instances_top_settings(const struct hv_instances *all)
{
	return (struct hv_top_settings *)&all->top_settings;
}

struct hv_instances *hv_instance_all(const struct hv_instance *in)
{
	return in->all;
}

struct hv_session *hv_instance_session(const struct hv_instance *in)
{
	return in->all->session;
}

const char *hv_instance_name(const struct hv_instance *in)
{
	return in->name;
}

bool hv_instance_is_top(const struct hv_instance *in)
{
	return in == &in->all->top;
}

const struct hv_tracer_ops *hv_instance_tracer(const struct hv_instance *in)
{
	return in->selection.tracer;
}

struct hv_options *hv_instance_options(const struct hv_instance *in)
{
	return (struct hv_options *)&in->options;
}

struct hv_selection *hv_instance_selection(const struct hv_instance *in)
{
	return (struct hv_selection *)&in->selection;
}

struct hv_event_set *hv_instance_events(const struct hv_instance *in)
{
	return (struct hv_event_set *)&in->events;
}

struct hv_func_commands *hv_instance_commands(const struct hv_instance *in)
{
	return (struct hv_func_commands *)&in->func_commands;
}

struct hv_buffers *hv_instance_buffers(const struct hv_instance *in)
{
	return (struct hv_buffers *)&in->buffers;
}

struct hv_consumer *hv_instance_consumer(const struct hv_instance *in)
{
	return (struct hv_consumer *)&in->consumer;
}

struct hv_error_log *hv_instance_errors(const struct hv_instance *in)
{
	return (struct hv_error_log *)&in->errors;
}

struct hv_pipes *hv_instance_pipes(const struct hv_instance *in)
{
	return (struct hv_pipes *)&in->pipes;
}

void hv_instance_add_file(struct hv_instance *in)
{
	in->nr_open++;
}

void hv_instance_remove_file(struct hv_instance *in)
{
	in->nr_open--;
}

size_t hv_instance_nr_files(const struct hv_instance *in)
{
	return in->nr_open;
}

bool hv_instance_profiles(const struct hv_instance *in)
{
	return in->profiles;
}

void hv_instance_note_profile(struct hv_instance *in, enum hv_switch to)
{
	in->profiles = to;
}

void *hv_instance_state(const struct hv_instance *in, enum hv_part_id part)
{
	return in->states[part];
}

void hv_instance_set_state(struct hv_instance *in, enum hv_part_id part, void *state)
{
	in->states[part] = state;
}

void *hv_instances_state(const struct hv_instances *all, enum hv_part_id part)
{
	return all->states[part];
}

void hv_instances_set_state(struct hv_instances *all, enum hv_part_id part, void *state)
{
	all->states[part] = state;
}

/* -- what the instances record ----------------------------------------------------------------- */

/* The guest has a single list of tasks for functions and events. */
static bool needs_lists_of_tasks(const struct hv_instance *in)
{
	const struct hv_selection *sel = &in->selection;
	bool limits = false;

	for (unsigned i = 0; i < HV_NR_PID_LISTS; i++)
		limits |= sel->pids[i].nr || hv_pidlist_limits(&sel->event_pids[i]);
	return hv_instance_has_events(in) && limits;
}

bool hv_instance_has_functions(const struct hv_instance *in)
{
	return in->selection.tracer->records_calls ||
	       (in->selection.tracer->measures &&
		hv_options_on(&in->options, HV_OPT_FUNCTION_TRACE));
}

struct hv_instance *hv_instances_single(struct hv_instances *all)
{
	struct hv_instance *found = NULL;

	for (struct hv_instance *in = &all->top; in; in = in->next) {
		if (!hv_instance_has_functions(in) && !hv_instance_has_events(in))
			continue;
		if (found || needs_lists_of_tasks(in))
			return NULL;
		found = in;
	}
	return found ? found : &all->top;
}

void hv_instances_know_single(struct hv_instances *all, enum hv_event_kind kind)
{
	if (kind > HV_EVENT_GRAPH_EXIT) {
		all->knows_single = 0;
		return;
	}
	if (!all->knows_single)
		all->single_now = hv_instances_single(all);
	all->knows_single = 1;
}

bool hv_instance_is_single(const struct hv_instance *in)
{
	struct hv_instances *all = in->all;

	return (all->knows_single ? all->single_now : hv_instances_single(all)) == in;
}

bool hv_instances_share(const struct hv_instances *all)
{
	return all->drain != NULL;
}

bool hv_instance_is_live(const struct hv_instance *in)
{
	if (hv_instance_has_functions(in) || in->profiles)
		return true;
	FOR_EACH_PART (p, in->all)
		if ((*p)->calls_trampolines && (*p)->calls_trampolines(in))
			return true;
	return false;
}

bool hv_instances_profile(const struct hv_instances *all)
{
	for (const struct hv_instance *in = &all->top; in; in = in->next)
		if (in->profiles)
			return true;
	return false;
}

void hv_instances_drain(struct hv_instances *all)
{
	all->knows_single = 0;
	if (all->drain)
		hv_drain_run(all->drain);
	all->knows_single = 0;
	FOR_EACH_PART (p, all)
		if ((*p)->drained)
			(*p)->drained(all);
}

void hv_instance_report(struct hv_instance *in, const struct hv_err *why)
{
	const char *tracer = in->selection.tracer->name;
	uint64_t ns = 0;

	hv_clocks_now_ns(in->all->session->clocks, in->buffers.clock, &ns);
	hv_error_log_add(&in->errors, ns, "current_tracer", why->message, tracer, strlen(tracer));
}

/* -- needs of the parts ------------------------------------------------------------------------ */

bool hv_instance_has_triggers(const struct hv_instance *in)
{
	for (const struct hv_part *const *p = in->all->acting; *p; p++)
		if ((*p)->acts(in))
			return true;
	return false;
}

bool hv_instance_has_events(const struct hv_instance *in)
{
	return in->events.nr || hv_instance_has_triggers(in) ||
	       hv_func_commands_have_events(&in->func_commands);
}

bool hv_instance_acts_on(const struct hv_instance *in, struct hv_event_ref ref)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->acts_on && (*p)->acts_on(in, ref))
			return true;
	return false;
}

bool hv_instance_probes(const struct hv_instance *in, struct hv_event_ref ref)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->probes && (*p)->probes(in, ref))
			return true;
	return false;
}

bool hv_instance_follows(const struct hv_instance *in, const struct hv_event_type *type)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->follows && (*p)->follows(in, type))
			return true;
	return false;
}

bool hv_instance_needs_event(const struct hv_instance *in, struct hv_event_ref ref)
{
	return hv_event_set_has(&in->events, ref) || hv_instance_acts_on(in, ref) ||
	       hv_instance_probes(in, ref);
}

bool hv_instances_want_event(const struct hv_instances *all, const struct hv_event_type *type)
{
	const struct hv_event_ref ref = hv_event_ref_of(type);

	for (const struct hv_instance *in = &all->top; in; in = in->next)
		if (hv_instance_needs_event(in, ref) || hv_instance_follows(in, type))
			return true;
	return false;
}

bool hv_instance_makes(const struct hv_instance *in, const struct hv_synth *synth)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->makes && (*p)->makes(in, synth))
			return true;
	return false;
}

bool hv_instance_wants_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	if (hv_options_on(&in->options, HV_OPT_STACKTRACE) && hv_instance_needs_event(in, ref))
		return true;
	FOR_EACH_PART (p, in->all)
		if ((*p)->wants_stacks && (*p)->wants_stacks(in, ref))
			return true;
	return false;
}

bool hv_instance_wants_user_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	if (hv_options_on(&in->options, HV_OPT_USERSTACKTRACE) && hv_instance_needs_event(in, ref))
		return true;
	FOR_EACH_PART (p, in->all)
		if ((*p)->wants_user_stacks && (*p)->wants_user_stacks(in, ref))
			return true;
	return false;
}

bool hv_instances_make_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	FOR_EACH_PART (p, all)
		if ((*p)->makes_any && (*p)->makes_any(all, set))
			return true;
	return false;
}

bool hv_instances_take_rings(const struct hv_instances *all)
{
	FOR_EACH_PART (p, all)
		if ((*p)->takes_rings && (*p)->takes_rings(all))
			return true;
	return false;
}

/* -- notifications to the parts ---------------------------------------------------------------- */

void hv_instance_lose(struct hv_instance *in, const struct hv_event *event)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->lose)
			(*p)->lose(in, event);
}

void hv_instance_return_rings(struct hv_instance *in)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->returns_rings)
			(*p)->returns_rings(in);
}

void hv_instance_forget_gone(struct hv_instance *in, const struct hv_catalogue *c)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->forget_gone)
			(*p)->forget_gone(in, c);
}

void hv_instance_forget_event(struct hv_instance *in, struct hv_event_ref ref)
{
	FOR_EACH_PART (p, in->all)
		if ((*p)->forget)
			(*p)->forget(in, ref);
}

/* -- updates of the session -------------------------------------------------------------------- */

struct hv_err *hv_instance_retrace(struct hv_instance *in)
{
	return in->all->publisher->retrace(in);
}

struct hv_err *hv_instance_publish_events(struct hv_instance *in)
{
	return in->all->publisher->events(in);
}

struct hv_err *hv_instance_publish_triggers(struct hv_instance *in)
{
	struct hv_err *err = hv_instance_publish_events(in);

	return err ? err : hv_instance_retrace(in);
}

void hv_instances_publish_filter(const struct hv_instances *all, const struct hv_event_type *type)
{
	all->publisher->filter(all, type);
}

struct hv_err *hv_instances_publish_commands(struct hv_instances *all)
{
	return all->publisher->commands(all);
}

/* -- what an instance traces ------------------------------------------------------------------- */

const struct hv_tracer_ops hv_tracer_nop = {HV_TRACER_IS(nop, NOP)};

bool hv_selection_has_function(const struct hv_selection *sel, struct hv_gva ip)
{
	const struct hv_filter *filter = &sel->lists[HV_LIST_FILTER];

	return (hv_filter_is_all(filter) || hv_filter_has(filter, ip)) &&
	       !hv_filter_has(&sel->lists[HV_LIST_NOTRACE], ip);
}

bool hv_selection_has_task(const struct hv_selection *sel, uint32_t pid)
{
	const struct hv_pidlist *only = &sel->pids[HV_LIST_FILTER];

	return (!only->nr || hv_pidlist_has(only, pid)) &&
	       !hv_pidlist_has(&sel->pids[HV_LIST_NOTRACE], pid);
}

/* -- rights ------------------------------------------------------------------------------------ */

uint32_t hv_instance_tracer_need(const struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	uint32_t need = 1u << tracer->id;

	if (!tracer->measures || !hv_options_on(&in->options, HV_OPT_FUNCTION_TRACE))
		return need;
	if (tracer->measures == HV_MEASURES_SECTIONS &&
	    hv_options_on(&in->options, HV_OPT_DISPLAY_GRAPH))
		return need | HV_RIGHT_GRAPH;
	return need | HV_RIGHT_FUNCTIONS;
}

static uint32_t running(const struct hv_instance *in)
{
	return hv_instance_tracer_need(in, in->selection.tracer) |
	       (in->profiles ? HV_RIGHT_GRAPH : 0);
}

uint32_t hv_instance_end_need(const struct hv_instance *in)
{
	return running(in) | (hv_instance_has_events(in) ? HV_RIGHT_EVENTS : 0) |
	       (in->func_commands.nr ? HV_RIGHT_FUNCTIONS : 0);
}

uint32_t hv_instance_need(const struct hv_instance *in, uint32_t need)
{
	uint32_t rest = need & ~(HV_NEED_RUNNING | HV_NEED_ALL_RUNNING);

	if (need & HV_NEED_RUNNING)
		rest |= running(in);
	for (const struct hv_instance *i = &in->all->top; i && (need & HV_NEED_ALL_RUNNING);
	     i = i->next)
		rest |= running(i);
	return rest;
}
