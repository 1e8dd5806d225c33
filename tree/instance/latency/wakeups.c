/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/latency/wakeups.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/events/catalogue.h"
#include "kernel/tasks/tasks.h"
#include "ringbuf/abi.h"
#include "tracer/events/cursor.h"
#include "tracer/events/host_buffer.h"
#include "tracer/events/names.h"
#include "tracer/guest/trampolines.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/events/match.h"
#include "tree/instance/latency/sections.h"

#define PRIO_OF_RT	100 /* realtime tasks are below it */
#define PRIO_OF_IDLE	120
#define POLICY_DEADLINE 6     /* SCHED_DEADLINE */
#define PREEMPTED	0x100 /* TASK_REPORT_MAX, in prev_state */
#define ENTRY_MAX	64u
#define COMM_LEN	16
/* Minimum interval between searches of the guest's task lists, in case every wait is the worst. */
#define SEARCH_NS	100000000

/* Options that are set while a wakeup is traced (__wakeup_tracer_init). */
static const enum hv_option switched_on[] = {HV_OPT_OVERWRITE, HV_OPT_LATENCY_FORMAT};

/* The events, and the fields used from each. */
enum event { WAKEUP, WAKEUP_NEW, SWITCH, MIGRATE, NR_EVENTS };
enum field { PID, PRIO, CPU, COMM, PREV_PID, PREV_PRIO, PREV_STATE, NR_FIELDS };

static const struct {
	const char *name;
	struct {
		const char *name;
		uint32_t len_bytes;
	} fields[NR_FIELDS];
} known[NR_EVENTS] = {
	[WAKEUP] = {"sched_wakeup",
		    {[PID] = {"pid", 4},
		     [PRIO] = {"prio", 4},
		     [CPU] = {"target_cpu", 4},
		     [COMM] = {"comm", COMM_LEN}}},
	[WAKEUP_NEW] = {"sched_wakeup_new",
			{[PID] = {"pid", 4},
			 [PRIO] = {"prio", 4},
			 [CPU] = {"target_cpu", 4},
			 [COMM] = {"comm", COMM_LEN}}},
	[SWITCH] = {"sched_switch",
		    {[PID] = {"next_pid", 4},
		     [PRIO] = {"next_prio", 4},
		     [COMM] = {"next_comm", COMM_LEN},
		     [PREV_PID] = {"prev_pid", 4},
		     [PREV_PRIO] = {"prev_prio", 4},
		     [PREV_STATE] = {"prev_state", 8}}},
	[MIGRATE] = {"sched_migrate_task", {[PID] = {"pid", 4}, [CPU] = {"dest_cpu", 4}}},
};

/* The records that the kernel's tracer writes: ftrace:wakeup and ftrace:context_switch. */
enum made { MADE_WAKEUP, MADE_SWITCH, NR_MADE };
enum made_field {
	MADE_PREV_PID,
	MADE_NEXT_PID,
	MADE_NEXT_CPU,
	MADE_PREV_PRIO,
	MADE_PREV_STATE,
	MADE_NEXT_PRIO,
	MADE_NEXT_STATE,
	NR_MADE_FIELDS
};
static const char *const made_names[NR_MADE] = {"wakeup", "context_switch"};
static const struct {
	const char *name;
	uint32_t len_bytes;
} made_fields[NR_MADE_FIELDS] = {
	[MADE_PREV_PID] = {"prev_pid", 4},     [MADE_NEXT_PID] = {"next_pid", 4},
	[MADE_NEXT_CPU] = {"next_cpu", 4},     [MADE_PREV_PRIO] = {"prev_prio", 1},
	[MADE_PREV_STATE] = {"prev_state", 1}, [MADE_NEXT_PRIO] = {"next_prio", 1},
	[MADE_NEXT_STATE] = {"next_state", 1},
};

/* The contents of an event or of an hvtrace record. */
struct moment {
	uint32_t pid, cpu, prev_pid;
	int32_t prio, prev_prio;
	uint64_t prev_state;
	char comm[COMM_LEN + 1];
};

struct current {
	bool is_known;
	uint32_t pid;
	int32_t prio;
};

struct hv_wakeups {
	const struct hv_tracer_ops *tracer;
	struct {
		uint32_t id;
		uint32_t offs[NR_FIELDS];
	} events[NR_EVENTS];
	struct {
		uint32_t id, len_bytes;
		uint32_t offs[NR_MADE_FIELDS];
	} made[NR_MADE];
	struct current *cpus; /* owned; the task that each vCPU runs */
	/* The followed task: */
	bool follows, is_deadline;
	struct moment task; /* as of its wakeup */
	unsigned cpu;	    /* the vCPU that it was woken for (wakeup_cpu) */
	unsigned runs_on;   /* the vCPU that it will run on (wakeup_current_cpu) */
	uint64_t since_ns;
	struct hv_section *worst; /* owns a reference; may be NULL */
	bool has_line;		  /* WORST already describes its task */
	/* Result and time of the last search in the guest's task lists. */
	struct hv_task_line line;
	uint64_t searched_ns;
	struct hv_options options_before; /* saved while the tracer runs */
};

static struct hv_wakeups *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_WAKEUPS);
}

bool hv_wakeups_are_on(const struct hv_instance *in)
{
	return state_of(in) != NULL;
}

/* -- types ------------------------------------------------------------------------------------- */

static struct hv_err *need_field(const struct hv_catalogue *c, const struct hv_event_type *type,
				 const char *name, uint32_t len_bytes, uint32_t *ret_off)
{
	const struct hv_event_field *f = hv_event_type_field(c, type, name);

	if (!f || f->size_bytes != len_bytes || f->off > HV_ENTRY_LEN_MAX)
		return hv_err_new(EOPNOTSUPP, "%s:%s has no field %s of %u bytes", type->system,
				  type->name, name, len_bytes);
	*ret_off = f->off;
	return NULL;
}

static struct hv_err *need_type(const struct hv_catalogue *c, const char *system, const char *name,
				const struct hv_event_type **ret)
{
	*ret = hv_catalogue_find(c, system, name);
	return *ret ? NULL : hv_err_new(EOPNOTSUPP, "the guest has no event %s:%s", system, name);
}

static struct hv_err *learn_event(struct hv_wakeups *w, const struct hv_catalogue *c,
				  enum event event)
{
	const struct hv_event_type *type = NULL;
	struct hv_err *err = need_type(c, "sched", known[event].name, &type);

	for (unsigned i = 0; !err && i < NR_FIELDS; i++)
		if (known[event].fields[i].name)
			err = need_field(c, type, known[event].fields[i].name,
					 known[event].fields[i].len_bytes,
					 &w->events[event].offs[i]);
	if (!err)
		w->events[event].id = type->id;
	return err;
}

static struct hv_err *learn_made(struct hv_wakeups *w, const struct hv_catalogue *c, enum made made)
{
	const struct hv_event_type *type = NULL;
	struct hv_err *err = need_type(c, "ftrace", made_names[made], &type);
	uint32_t end = 0, *offs = w->made[made].offs;

	for (unsigned i = 0; !err && i < NR_MADE_FIELDS; i++) {
		err = need_field(c, type, made_fields[i].name, made_fields[i].len_bytes, &offs[i]);
		if (!err && offs[i] + made_fields[i].len_bytes > end)
			end = offs[i] + made_fields[i].len_bytes;
	}
	if (!err && end > ENTRY_MAX)
		err = hv_err_new(EOPNOTSUPP, "ftrace:%s has %u bytes", made_names[made], end);
	if (err)
		return err;
	w->made[made].id = type->id;
	w->made[made].len_bytes = end;
	return NULL;
}

static struct hv_err *learn(const struct hv_instance *in, struct hv_wakeups *w)
{
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instance_session(in)->types, &c);

	for (unsigned i = 0; !err && i < NR_EVENTS; i++)
		err = learn_event(w, c, i);
	for (unsigned i = 0; !err && i < NR_MADE; i++)
		err = learn_made(w, c, i);
	return err;
}

static bool exists(const struct hv_instance *in, const struct hv_tracer_ops *ops)
{
	struct hv_session *s = hv_instance_session(in);
	struct hv_wakeups unused = {0};
	const struct hv_catalogue *c;
	HV_AUTO_ERR struct hv_err *err = learn(in, &unused);

	(void)ops;
	if (!err)
		err = hv_event_types_catalogue(s->types, &c);
	for (unsigned i = 0; !err && i < NR_EVENTS; i++)
		err = hv_event_tracer_check(s->events,
					    hv_catalogue_find(c, "sched", known[i].name));
	return !err;
}

static bool follows(const struct hv_instance *in, const struct hv_event_type *type)
{
	const struct hv_wakeups *w = state_of(in);

	for (unsigned i = 0; w && i < NR_EVENTS; i++)
		if (w->events[i].id == type->id)
			return true;
	return false;
}

/* -- start and stop ---------------------------------------------------------------------------- */

/* All instances share one such tracer (wakeup_busy). */
static struct hv_err *check_others(const struct hv_instance *in)
{
	for (const struct hv_instance *i = hv_instances_top(hv_instance_all(in)); i;
	     i = hv_instance_next(i)) {
		const char *name = hv_instance_name(i);

		if (i != in && hv_wakeups_are_on(i))
			return hv_err_new(EBUSY,
					  "%s%s already traces %s, which only one instance can do",
					  name ? "instances/" : "the top", name ? name : "",
					  hv_instance_tracer(i)->name);
	}
	return NULL;
}

static void free_wakeups(struct hv_wakeups *w)
{
	if (!w)
		return;
	hv_section_unref(w->worst);
	free(w->cpus);
	free(w);
}

static void switch_options(struct hv_instance *in)
{
	state_of(in)->options_before = *hv_instance_options(in);
	for (size_t i = 0; i < HV_ARRAY_LEN(switched_on); i++)
		hv_options_set(hv_instance_options(in), switched_on[i], HV_ON);
	hv_buffers_when_full(hv_instance_buffers(in), HV_FULL_OVERWRITES);
}

static void switch_options_back(struct hv_instance *in, const struct hv_options *before)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(switched_on); i++)
		hv_options_set(hv_instance_options(in), switched_on[i],
			       hv_options_on(before, switched_on[i]));
	hv_buffers_when_full(hv_instance_buffers(in),
			     hv_options_on(hv_instance_options(in), HV_OPT_OVERWRITE)
				     ? HV_FULL_OVERWRITES
				     : HV_FULL_DROPS);
}

/* Reads the tasks that the vCPUs run. Events that are already recorded arrive later. */
static void read_currents(const struct hv_instance *in)
{
	for (unsigned cpu = 0; cpu < hv_instances_nr_cpus(hv_instance_all(in)); cpu++) {
		struct hv_task_line line;
		struct hv_err *err =
			hv_task_line_of_cpu(hv_instance_session(in)->kernel, cpu, &line);

		if (!err)
			state_of(in)->cpus[cpu] = (struct current){true, line.pid, line.prio};
		hv_err_free(err);
	}
}

static void leave(struct hv_instance *in)
{
	struct hv_wakeups *w = state_of(in);

	hv_instance_set_state(in, HV_PART_WAKEUPS, NULL);
	hv_instance_selection(in)->tracer = &hv_tracer_nop;
	hv_buffers_keep_snapshot(hv_instance_buffers(in), HV_SNAPSHOT_FREE);
	hv_buffers_free_snapshot(hv_instance_buffers(in));
	switch_options_back(in, &w->options_before);
	free_wakeups(w);
}

static struct hv_err *begin(struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	struct hv_wakeups *w = hv_alloc(sizeof(*w));
	uint64_t max_before_ns = hv_sections_longest_ns(in);
	struct hv_err *err = check_others(in);

	w->tracer = tracer;
	w->cpus = hv_alloc(hv_instances_nr_cpus(hv_instance_all(in)) * sizeof(*w->cpus));
	if (!err)
		err = learn(in, w);
	if (!err)
		err = hv_instances_begin_sharing(hv_instance_all(in));
	if (!err)
		err = hv_buffers_need_snapshot(hv_instance_buffers(in));
	if (err) {
		free_wakeups(w);
		return hv_err_in(err, "%s", tracer->name);
	}
	hv_buffer_clear(hv_instance_buffers(in)->snapshot, HV_ALL_CPUS);
	hv_buffers_keep_snapshot(hv_instance_buffers(in), HV_SNAPSHOT_KEPT);
	hv_instance_set_state(in, HV_PART_WAKEUPS, w);
	hv_instance_selection(in)->tracer = tracer;
	hv_sections_begin_at(in, 0);
	switch_options(in);
	err = hv_instance_publish_triggers(in);
	if (!err) {
		read_currents(in);
		return NULL;
	}
	leave(in);
	hv_err_free(hv_instance_publish_triggers(in));
	hv_sections_begin_at(in, max_before_ns);
	return hv_err_in(err, "%s", tracer->name);
}

static struct hv_err *end(struct hv_instance *in)
{
	struct hv_wakeups *w = state_of(in);
	struct hv_err *err;

	hv_instances_drain(hv_instance_all(in));
	hv_instance_set_state(in, HV_PART_WAKEUPS, NULL);
	hv_instance_selection(in)->tracer = &hv_tracer_nop;
	err = hv_instance_publish_triggers(in);
	hv_instance_set_state(in, HV_PART_WAKEUPS, w);
	hv_instance_selection(in)->tracer = w->tracer;
	if (!err)
		leave(in);
	return err;
}

/* -- following --------------------------------------------------------------------------------- */

static void stop_following(struct hv_wakeups *w)
{
	w->follows = w->is_deadline = false;
}

void hv_wakeups_restart(struct hv_instance *in)
{
	struct hv_wakeups *w = state_of(in);

	if (w)
		stop_following(w);
}

static void lose(struct hv_instance *in, const struct hv_event *event)
{
	struct hv_wakeups *w = state_of(in);

	if (!w)
		return;
	w->cpus[event->cpu].is_known = false;
	stop_following(w);
}

/* Returns false if EVENT is shorter than its format. */
static bool read_moment(const struct hv_wakeups *w, enum event event, const struct hv_event *e,
			struct moment *ret)
{
	void *const to[NR_FIELDS] = {&ret->pid,	     &ret->prio,      &ret->cpu,       ret->comm,
				     &ret->prev_pid, &ret->prev_prio, &ret->prev_state};

	*ret = (struct moment){0};
	for (unsigned i = 0; i < NR_FIELDS; i++)
		if (known[event].fields[i].name &&
		    !hv_span_copy(e->entry, w->events[event].offs[i], to[i],
				  known[event].fields[i].len_bytes))
			return false;
	return true;
}

/* task_state_index(). The state of a preempted task is unknown, and usually running. */
static uint8_t state_index(uint64_t state)
{
	return state && state < PREEMPTED ? (uint8_t)(__builtin_ctzll(state) + 1) : 0;
}

/* Makes a record of the tracer, with the vCPU and time of EVENT and the tasks in M. */
static void put_made(const struct hv_wakeups *w, enum made made, const struct hv_event *event,
		     const struct moment *m, const struct hv_wakeups_consumer *consumer)
{
	const uint32_t values[NR_MADE_FIELDS] = {
		[MADE_PREV_PID] = m->prev_pid,
		[MADE_NEXT_PID] = m->pid,
		[MADE_NEXT_CPU] = m->cpu,
		[MADE_PREV_PRIO] = (uint32_t)m->prev_prio,
		[MADE_PREV_STATE] = state_index(m->prev_state),
		[MADE_NEXT_PRIO] = (uint32_t)m->prio,
	};
	const uint16_t id = (uint16_t)w->made[made].id;
	uint8_t entry[ENTRY_MAX] = {0};
	struct hv_event own = *event;

	if (event->entry.len_bytes < HV_ENTRY_HEADER_LEN)
		return;
	memcpy(entry, event->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &id, sizeof(id));
	for (unsigned i = 0; i < NR_MADE_FIELDS; i++)
		memcpy(entry + w->made[made].offs[i], &values[i], made_fields[i].len_bytes);
	own.id = id;
	own.lost_before = 0;
	own.entry = (struct hv_span){entry, w->made[made].len_bytes};
	consumer->put(consumer->ctx, &own);
}

/* Returns whether the tracer follows tasks of PRIO. */
static bool is_for(const struct hv_tracer_ops *tracer, int32_t prio)
{
	if (tracer == &hv_tracer_wakeup_dl)
		return prio < 0;
	return tracer == &hv_tracer_wakeup || prio < PRIO_OF_RT;
}

/* Finds the priority of the task that EVENT's vCPU runs, which is EVENT's task. Returns false if it
 * is unknown. */
static bool find_current(const struct hv_wakeups *w, const struct hv_event *event, int32_t *ret)
{
	const struct current *c = &w->cpus[event->cpu];

	*ret = event->pid ? c->prio : PRIO_OF_IDLE;
	return !event->pid || (c->is_known && c->pid == event->pid);
}

/* probe_wakeup(). A deadline task is followed regardless of the running task, until it runs. */
static void follow_wakeup(struct hv_instance *in, const struct hv_event *event, struct moment *m,
			  const struct hv_wakeups_consumer *consumer)
{
	struct hv_wakeups *w = state_of(in);
	struct hv_names *names = hv_instance_session(in)->names;
	bool is_deadline = m->prio < 0;
	bool is_known = find_current(w, event, &m->prev_prio);

	if (w->is_deadline || !is_for(w->tracer, m->prio))
		return;
	if (!is_deadline &&
	    (!is_known || m->prio >= m->prev_prio || (w->follows && m->prio >= w->task.prio)))
		return;
	m->prev_pid = event->pid;
	w->follows = true;
	w->is_deadline = is_deadline;
	w->task = *m;
	w->cpu = w->runs_on = m->cpu;
	w->since_ns = event->time_ns;
	hv_names_add(names, m->pid, hv_names_tgid(names, m->pid), m->comm);
	put_made(w, MADE_WAKEUP, event, m, consumer);
}

/* report_latency() */
static bool is_worst(const struct hv_instance *in, uint64_t ns)
{
	uint64_t thresh_ns = hv_instances_top_settings(hv_instance_all(in))->thresh_ns;

	return thresh_ns ? ns >= thresh_ns : ns > hv_sections_longest_ns(in);
}

static void use_line(struct hv_wakeups *w)
{
	w->has_line = true;
	w->worst->uid = w->line.uid;
	w->worst->nice = w->line.nice;
	w->worst->policy = w->line.policy;
	w->worst->rt_priority = w->line.rt_priority;
}

/* Reads the name and priority of the task that waited longest from guest memory. The task may have
 * exited. */
static void find_line(struct hv_instance *in)
{
	struct hv_wakeups *w = state_of(in);
	struct hv_task_line line;
	struct hv_err *err =
		hv_task_line_of(hv_instance_session(in)->kernel, w->worst->to.pid, &line);

	w->searched_ns = hv_now_ns();
	w->has_line = true;
	if (!err) {
		w->line = line;
		use_line(w);
	}
	hv_err_free(err);
}

static void keep(struct hv_instance *in, uint64_t ns)
{
	struct hv_wakeups *w = state_of(in);
	int32_t prio = w->task.prio;

	hv_sections_begin_at(in, ns);
	hv_section_unref(w->worst);
	w->worst = hv_alloc(sizeof(*w->worst));
	*w->worst = (struct hv_section){.nr_refs = 1, .cpu = w->cpu, .ns = ns};
	w->worst->to.pid = w->task.pid;
	memcpy(w->worst->to.comm, w->task.comm, sizeof(w->worst->to.comm) - 1);
	/* Derived from the priority, in case the task has exited before guest memory is read. */
	w->worst->policy = prio < 0 ? POLICY_DEADLINE : 0;
	w->worst->nice = prio >= PRIO_OF_RT ? prio - PRIO_OF_IDLE : 0;
	w->worst->rt_priority =
		prio >= 0 && prio < PRIO_OF_RT ? PRIO_OF_RT - 1 - (uint32_t)prio : 0;
	hv_buffers_swap_kept(hv_instance_buffers(in));
	w->has_line = false;
	if (w->line.pid == w->task.pid)
		use_line(w);
	else if (hv_now_ns() - w->searched_ns >= SEARCH_NS)
		find_line(in);
}

/* probe_wakeup_sched_switch(). A task that ran while nothing was recorded no longer waits. As in
 * the kernel, this does not apply to a vCPU excluded by tracing_cpumask. */
static void follow_switch(struct hv_instance *in, const struct hv_event *event, struct moment *m,
			  const struct hv_wakeups_consumer *consumer)
{
	struct hv_wakeups *w = state_of(in);
	uint64_t ns;

	if (!w->follows || m->pid != w->task.pid)
		return;
	if (!consumer->is_recorded) {
		if (!hv_instance_selection(in)->muted[event->cpu])
			stop_following(w);
		return;
	}
	m->cpu = event->cpu;
	ns = event->time_ns > w->since_ns ? event->time_ns - w->since_ns : 0;
	put_made(w, MADE_SWITCH, event, m, consumer);
	if (is_worst(in, ns))
		keep(in, ns);
	stop_following(w);
}

static void follow(struct hv_instance *in, enum event event, const struct hv_event *e,
		   const struct hv_wakeups_consumer *consumer)
{
	struct hv_wakeups *w = state_of(in);
	struct moment m;

	if (!read_moment(w, event, e, &m))
		return;
	if (event == SWITCH) {
		follow_switch(in, e, &m, consumer);
		w->cpus[e->cpu] = (struct current){true, m.pid, m.prio};
	} else if (event == MIGRATE) {
		if (w->follows && m.pid == w->task.pid)
			w->runs_on = m.cpu;
	} else if (consumer->is_recorded) {
		follow_wakeup(in, e, &m, consumer);
	}
}

void hv_wakeups_follow(struct hv_instance *in, const struct hv_event *event,
		       const struct hv_wakeups_consumer *consumer)
{
	struct hv_wakeups *w = state_of(in);

	for (unsigned i = 0; w && i < NR_EVENTS; i++)
		if (w->events[i].id == event->id)
			follow(in, i, event, consumer);
}

/* -- the worst wait ---------------------------------------------------------------------------- */

struct hv_section *hv_wakeups_worst(struct hv_instance *in)
{
	struct hv_wakeups *w = state_of(in);

	hv_instances_drain(hv_instance_all(in));
	if (!w || !w->worst)
		return NULL;
	if (!w->has_line)
		find_line(in);
	return hv_section_ref(w->worst);
}

void hv_wakeups_forget_worst(struct hv_instance *in)
{
	struct hv_wakeups *w = state_of(in);

	hv_instances_drain(hv_instance_all(in));
	hv_section_unref(w->worst);
	w->worst = NULL;
	hv_buffer_clear(hv_instance_buffers(in)->snapshot, HV_ALL_CPUS);
}

uint64_t hv_wakeups_start_ns(const struct hv_instance *in)
{
	struct hv_cursor *c = hv_cursor_new(hv_instance_buffers(in)->snapshot, -1, HV_CURSOR_DUMP);
	struct hv_event event;
	uint64_t start_ns = 0;

	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT)
		if (event.kind == HV_EVENT_GUESTS && event.id == state_of(in)->made[MADE_WAKEUP].id)
			start_ns = event.time_ns;
	hv_cursor_free(c);
	return start_ns;
}

/* -- the tracers ------------------------------------------------------------------------------- */

static uint8_t trampoline_of(const struct hv_instance *in, const struct hv_site *site)
{
	(void)in;
	(void)site;
	return HV_TRAMPOLINE_FUNCTION;
}

/* Returns whether the followed task will run on CPU: function calls there are then part of the
 * wait. */
static bool follows_on(const struct hv_instance *in, unsigned cpu)
{
	const struct hv_wakeups *w = state_of(in);

	return w && w->follows && w->runs_on == cpu;
}

static void take(struct hv_instance *in, const struct hv_cursor *cursor,
		 const struct hv_event *event)
{
	if (event->kind == HV_EVENT_FUNCTION && hv_instance_has_functions(in) &&
	    follows_on(in, event->cpu) && hv_would_record(in, event))
		hv_buffer_put(hv_instance_buffers(in)->host, cursor, event);
}

#define OF_WAKEUPS                                                                                 \
	.exists = exists, .begin = begin, .end = end, .trampoline_of = trampoline_of,              \
	.take = take, .takes_each = 1

const struct hv_tracer_ops hv_tracer_wakeup = {HV_TRACER_IS(wakeup, WAKEUP), OF_WAKEUPS};
const struct hv_tracer_ops hv_tracer_wakeup_rt = {HV_TRACER_IS(wakeup_rt, WAKEUP_RT), OF_WAKEUPS};
const struct hv_tracer_ops hv_tracer_wakeup_dl = {HV_TRACER_IS(wakeup_dl, WAKEUP_DL), OF_WAKEUPS};

/* -- the part ---------------------------------------------------------------------------------- */

static void deinit(struct hv_instance *in)
{
	free_wakeups(state_of(in));
	hv_instance_set_state(in, HV_PART_WAKEUPS, NULL);
}

const struct hv_part hv_wakeups_part = {
	.deinit = deinit,
	.acts = hv_wakeups_are_on,
	.follows = follows,
	.lose = lose,
};
