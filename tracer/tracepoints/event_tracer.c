/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/event_tracer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/retry.h"
#include "kernel/events/catalogue.h"
#include "kernel/events/tracepoint_state.h"
#include "kernel/tasks/tasks.h"
#include "tracer/guest/trampoline_programs.h"
#include "tracer/guest/tracee.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/tracepoints/module_claims.h"
#include "tracer/tracepoints/plug.h"

/* -- flags of tasks for system calls ----------------------------------------------------------- */

/* Number of tasks whose flag is changed in one hold, and of searches for tasks with a wrong
 * flag. */
#define TASKS_OF_A_HOLD 256u
#define ROUNDS		4u

struct flagging {
	struct hv_tracee *tracee;
	const struct hv_tracepoint_layout *layout;
	bool sets;
	struct hv_gva *tasks;	   /* owned; task N belongs to change N */
	struct hv_change *changes; /* owned */
	size_t nr;
};

static void flagging_deinit(struct flagging *f)
{
	free(f->tasks);
	free(f->changes);
}

static const struct hv_syscall_work *work_of(const struct flagging *f)
{
	return &f->layout->syscalls;
}

static struct hv_err *is_on(const struct hv_tracee *t, const struct hv_syscall_work *w, bool *ret)
{
	uint32_t count;
	struct hv_err *err = hv_read_u32(&t->kernel->core.as, w->count, &count);

	if (!err)
		*ret = count != 0;
	return err;
}

/* Plans to change the flag of TASK, unless it is right. Ignores a task that cannot be read: it has
 * ended. */
static void plan(struct flagging *f, struct hv_gva task)
{
	const struct hv_syscall_work *w = work_of(f);
	const struct hv_address_space *as = &f->tracee->kernel->core.as;
	struct hv_change *c = &f->changes[f->nr];
	struct hv_gva at = hv_gva_add(task, w->flag_off);
	struct hv_mapping m = {0};
	HV_AUTO_ERR struct hv_err *err = hv_walk(as, at, &m);
	uint8_t now;

	if (!err && m.present)
		err = hv_guest_read(f->tracee->guest, m.gpa, &now, 1);
	if (err || !m.present || !(now & w->flag) != f->sets)
		return;
	*c = (struct hv_change){.gva = at, .gpa = m.gpa, .kind = HV_CHANGE_TASK, .len_bytes = 1};
	c->from[0] = now;
	c->to[0] = now ^ w->flag;
	f->tasks[f->nr++] = task;
}

/* Returns whether TASK is still on its process's list of threads, and so has not been freed. */
static bool is_listed(const struct flagging *f, struct hv_gva task)
{
	const struct hv_address_space *as = &f->tracee->kernel->core.as;
	const struct hv_syscall_work *w = work_of(f);
	struct hv_gva node = hv_gva_add(task, w->node_off);
	uint64_t prev, next = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(as, hv_gva_add(node, w->prev_off), &prev);

	if (!err)
		err = hv_read_u64(as, hv_gva(prev + w->next_off), &next);
	return !err && next == node.v;
}

struct hold_part {
	struct flagging *f;
	size_t first, nr;
};

/* The guest's own callbacks may have changed since f->sets was read. */
static struct hv_err *check_still(const struct flagging *f)
{
	const char *lock;
	bool on = false;
	struct hv_err *err = hv_tracepoints_locked(f->tracee->kernel, f->layout, &lock);

	if (!err && lock)
		return hv_err_new(EBUSY, "the guest's kernel holds %s", lock);
	if (!err)
		err = is_on(f->tracee, work_of(f), &on);
	if (!err && on != f->sets)
		err = hv_err_new(EBUSY, "the guest switches system calls %s", on ? "on" : "off");
	return err;
}

static struct hv_err *change_held(struct hv_hold *hold, void *ctx)
{
	struct hold_part *p = ctx;
	struct flagging *f = p->f;
	struct hv_change *changes = f->changes + p->first;
	struct hv_err *err = check_still(f);
	size_t nr = 0;

	for (size_t i = 0; !err && i < p->nr; i++)
		if (is_listed(f, f->tasks[p->first + i]))
			changes[nr++] = changes[i];
	if (!err && nr)
		err = hv_patcher_apply_held(f->tracee->patcher, hold, changes, nr);
	p->nr = nr;
	return err;
}

/* The memory of these tasks may be reused for anything, and the journal does not restore flags: a
 * later process checks the tasks that exist then. */
static void forget_part(const struct hold_part *p)
{
	for (size_t i = 0; i < p->nr; i++)
		hv_patcher_forget_at(p->f->tracee->patcher, p->f->changes[p->first + i].gpa);
}

static struct hv_err *change_all(struct flagging *f)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < f->nr; i += TASKS_OF_A_HOLD) {
		size_t left = f->nr - i;
		struct hold_part p = {f, i, left < TASKS_OF_A_HOLD ? left : TASKS_OF_A_HOLD};

		err = hv_patcher_held(f->tracee->patcher, change_held, &p);
		forget_part(&p);
	}
	return err;
}

/* *RET_NR is the number of tasks whose flag was wrong. */
static struct hv_err *look_once(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				size_t *ret_nr)
{
	hv_cleanup(flagging_deinit) struct flagging f = {.tracee = t, .layout = layout};
	hv_cleanup(hv_tasks_deinit) struct hv_tasks tasks = {0};
	struct hv_err *err = is_on(t, &layout->syscalls, &f.sets);

	if (!err)
		err = hv_tasks_read(t->kernel, &tasks);
	if (err)
		return err;
	f.tasks = hv_alloc((tasks.nr + 1) * sizeof(*f.tasks));
	f.changes = hv_alloc((tasks.nr + 1) * sizeof(*f.changes));
	for (size_t i = 0; i < tasks.nr; i++)
		if (tasks.list[i].pid) /* idle tasks make no system calls */
			plan(&f, tasks.list[i].task);
	*ret_nr = f.nr;
	return change_all(&f);
}

struct hv_err *hv_syscall_tasks_set(struct hv_tracee *t, const struct hv_tracepoint_layout *layout)
{
	struct hv_err *err = NULL;
	size_t nr = 1;

	for (unsigned i = 0; !err && nr && i < ROUNDS && layout->has_syscalls; i++)
		err = look_once(t, layout, &nr);
	return err;
}

/* Like hv_syscall_tasks_set(), but retries for about 40 ms. */
static struct hv_err *syscall_tasks_set_soon(struct hv_tracee *t,
					     const struct hv_tracepoint_layout *layout)
{
	struct hv_err *err = hv_syscall_tasks_set(t, layout);

	for (unsigned i = 0; i < HV_MOMENT_TRIES && err && err->code == EBUSY; i++) {
		hv_wait_a_moment();
		hv_err_free(err);
		err = hv_syscall_tasks_set(t, layout);
	}
	return err;
}

/* -- modules of events ------------------------------------------------------------------------- */

/* Claims modules for the event tracer. The tracepoint, callback and type of a module's event are
 * memory that the guest can free, so the module is claimed before the event is switched on. While
 * it is claimed, the event is handled like one of the core kernel.
 *
 * module_claims.h implements claims. The event tracer releases them. */

/* Number of attempts to claim a module, and the time between them. When the guest tries to remove a
 * module that is in use, the module briefly looks as if it were being removed. */
#define TRIES	 20u
#define AGAIN_NS 2000000l

static struct hv_err *claim(struct hv_tracee *t, const struct hv_module *module, bool *ret_new)
{
	const struct timespec a_little = {.tv_nsec = AGAIN_NS};
	struct hv_err *err = hv_module_claim(t, module, ret_new);

	for (unsigned i = 0; i < TRIES && err && err->code == EBUSY; i++) {
		nanosleep(&a_little, NULL);
		hv_err_free(err);
		err = hv_module_claim(t, module, ret_new);
	}
	return err;
}

/* Claims the module of TYPE, if it belongs to one, and verifies that the type still exists. EBUSY:
 * the guest is loading or removing the module. ENOENT: the module was removed. */
static struct hv_err *event_modules_claim(struct hv_tracee *t, struct hv_event_calls *calls,
					  const struct hv_event_type *type)
{
	const struct hv_module *module;
	bool is_new = false, is_there = false;
	struct hv_err *err;

	if (!type->module)
		return NULL;
	module = hv_module_named(&t->kernel->modules, type->module);
	if (!module)
		return hv_err_new(ENOENT, "the guest no longer has the module %s", type->module);
	err = claim(t, module, &is_new);
	if (!err && is_new)
		hv_event_calls_look_again(calls, module);
	if (!err)
		err = hv_event_type_is_there(t->kernel, type, &is_there);
	if (!err && !is_there)
		err = hv_err_new(ENOENT,
				 "the module %s was removed, and may have been loaded again",
				 type->module);
	return err;
}

/* -- users of events that were switched off ---------------------------------------------------- */

/* Checks in a hold whether the guest still uses region memory of an event that was switched off
 * (plug.h). */

struct check {
	struct hv_tracee *tracee;
	enum hv_plug_sleepers sleepers;
	const bool *which; /* by index; NULL: all */
	const struct hv_iterators *iterators;
};

static struct hv_err *check_held(struct hv_hold *hold, void *ctx)
{
	const struct check *check = ctx;

	return hv_plugs_check_unused(check->tracee, hold, check->sleepers, check->which,
				     check->iterators);
}

/* Checks that no task is on its way to a trampoline from the plugs in WHICH, by index; NULL: from
 * any plug. EBUSY: a task is, or its state is unknown. */
static struct hv_err *event_use_check(struct hv_tracee *t,
				      const struct hv_tracepoint_layout *layout,
				      const struct hv_event_calls *calls, const bool *which)
{
	hv_cleanup(hv_iterators_deinit) struct hv_iterators iterators = {0};
	struct check check = {.tracee = t, .which = which};
	struct hv_err *err;

	if (t->had_copies) {
		hv_iterators_find(t->kernel, layout, &iterators);
		if (!t->have_left)
			t->have_left = hv_alloc(HV_VCPUS_MAX * sizeof(*t->have_left));
		check.iterators = &iterators;
	}
	if (hv_event_calls_may_sleep(calls))
		check.sleepers = HV_PLUG_SLEEPERS;
	err = hv_patcher_held(t->patcher, check_held, &check);
	/* While anything is plugged in, the guest may make more copies of our callbacks. */
	if (!err && !which)
		t->had_copies = false;
	return err;
}

/* Like event_use_check(), but retries for about 40 ms. */
static struct hv_err *event_use_await_end(struct hv_tracee *t,
					  const struct hv_tracepoint_layout *layout,
					  const struct hv_event_calls *calls, const bool *which)
{
	struct hv_err *err = event_use_check(t, layout, calls, which);

	for (unsigned i = 0; i < HV_MOMENT_TRIES && err && err->code == EBUSY; i++) {
		hv_wait_a_moment();
		hv_err_free(err);
		err = event_use_check(t, layout, calls, which);
	}
	return err;
}

/* -- the event tracer -------------------------------------------------------------------------- */

/* How often tasks are checked after system calls were switched. The second check finds tasks that
 * were being created. */
#define LOOKS 2u

/* After the last event was switched off, a hold checks for remaining users after this time, and
 * then again with the interval doubled each time. */
#define TEND_FIRST_NS 200000000ull
#define TEND_LAST_NS  (60 * HV_NS_PER_S)

/* An event that was recorded; it has the same index as its plug. It keeps its memory in the region
 * until no callback uses the address of its file or its array. This is checked for all events
 * together, or for the events of a module. */
struct event {
	struct hv_event_type type; /* the names are owned; without fields and texts */
	bool is_on;
	bool is_wanted; /* valid only during hv_event_tracer_set() */
	bool is_free;	/* its memory in the region is unused */
	bool was_on;	/* the guest may be using its array */
};

struct hv_event_tracer {
	struct hv_tracee *tracee; /* borrowed */
	struct hv_event_calls *calls;
	struct hv_tracepoint_layout layout;
	bool has_layout;
	struct event *events;
	size_t nr;
	struct hv_event_words words;
	uint64_t tend_ns, tend_delay_ns; /* time of the next check, and the interval after that */
	unsigned nr_looks;		 /* remaining checks of tasks (see_to_tasks) */
};

struct hv_event_tracer *hv_event_tracer_new(struct hv_tracee *t)
{
	struct hv_event_tracer *e = hv_alloc(sizeof(*e));

	e->tracee = t;
	e->calls = hv_event_calls_new(t);
	return e;
}

static void forget(struct event *event)
{
	free((char *)event->type.system);
	free((char *)event->type.name);
	free((char *)event->type.module);
	*event = (struct event){.is_free = true};
}

static void forget_events(struct hv_event_tracer *e)
{
	for (size_t i = 0; i < e->nr; i++)
		forget(&e->events[i]);
	e->nr = 0;
}

void hv_event_tracer_free(struct hv_event_tracer *e)
{
	if (!e)
		return;
	forget_events(e);
	free(e->events);
	hv_event_calls_free(e->calls);
	free(e);
}

void hv_event_wants_deinit(struct hv_event_want *wants, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		hv_err_free(wants[i].why_not);
		wants[i].why_not = NULL;
	}
}

/* -- lookup ------------------------------------------------------------------------------------ */

static struct event *find(const struct hv_event_tracer *e, const struct hv_event_type *type)
{
	for (size_t i = 0; i < e->nr; i++) {
		const struct hv_event_type *known = &e->events[i].type;

		if (!e->events[i].is_free && known->call.v == type->call.v &&
		    known->id == type->id && strcmp(known->name, type->name) == 0 &&
		    strcmp(known->system, type->system) == 0)
			return &e->events[i];
	}
	return NULL;
}

static unsigned index_of(const struct hv_event_tracer *e, const struct event *event)
{
	return (unsigned)(event - e->events);
}

static size_t free_index(const struct hv_event_tracer *e)
{
	size_t i = 0;

	while (i < e->nr && !e->events[i].is_free)
		i++;
	return i;
}

static struct event *add(struct hv_event_tracer *e, const struct hv_event_type *type)
{
	size_t at = free_index(e);
	struct event *event;

	if (at == e->nr)
		e->events = hv_realloc_array(e->events, ++e->nr, sizeof(*e->events));
	event = &e->events[at];
	*event = (struct event){.type = *type};
	event->type.system = hv_strdup(type->system);
	event->type.name = hv_strdup(type->name);
	event->type.module = type->module ? hv_strdup(type->module) : NULL;
	event->type.print_fmt = NULL;
	event->type.fields = (struct hv_event_fields){0};
	event->type.syscall = NULL;
	return event;
}

/* Returns whether the layout was found before the guest loaded its first module, which showed where
 * modules have their tables (derived types). */
static bool is_outdated(const struct hv_event_tracer *e)
{
	const struct hv_site_table *table = &e->layout.jumps.table;

	return table->has_links && !table->has_module_tables && e->tracee->kernel->modules.nr;
}

static struct hv_err *need_layout(struct hv_event_tracer *e)
{
	struct hv_err *err;

	if (e->has_layout && !is_outdated(e))
		return NULL;
	err = hv_tracepoint_layout_find(e->tracee->kernel, &e->layout);
	if (err && e->has_layout) {
		/* The old one is right, except that it lacks the tables of modules. */
		hv_err_free(err);
		return NULL;
	}
	e->has_layout = !err;
	return err;
}

struct hv_err *hv_event_tracer_check(struct hv_event_tracer *e, const struct hv_event_type *type)
{
	struct hv_err *err = hv_event_calls_refusal(e->tracee->kernel->core.as.arch);

	if (!err)
		err = need_layout(e);
	if (!err)
		err = hv_plug_check(e->tracee->kernel, &e->layout, type);
	return err ? err : hv_event_calls_check(e->calls, type);
}

bool hv_event_tracer_is_on(const struct hv_event_tracer *e, const struct hv_event_type *type)
{
	const struct event *event = find(e, type);

	return event && event->is_on;
}

void hv_event_tracer_stat(const struct hv_event_tracer *e, struct hv_event_tracer_stat *ret)
{
	*ret = (struct hv_event_tracer_stat){0};
	for (size_t i = 0; i < e->nr; i++)
		*(e->events[i].is_on ? &ret->nr_on : &ret->nr_leaving) += !e->events[i].is_free;
	for (unsigned cpu = 0; cpu < e->tracee->plan.nr_cpus; cpu++)
		ret->nr_no_draft += __atomic_load_n(&hv_tracee_state(e->tracee, cpu)->nr_no_draft,
						    __ATOMIC_RELAXED);
}

/* -- tracepoints ------------------------------------------------------------------------------- */

static struct hv_err *make_all(struct hv_event_tracer *e, struct hv_plug_step *steps, size_t nr)
{
	bool has_syscalls = false;
	struct hv_err *err = need_layout(e);

	if (!err)
		err = hv_plug_steps_make_all(e->tracee, &e->layout, steps, nr, &has_syscalls);
	if (has_syscalls)
		e->nr_looks = LOOKS;
	return err;
}

/* Updates the tasks after system calls were switched on or off, if that is still necessary. */
static struct hv_err *see_to_tasks(struct hv_event_tracer *e)
{
	struct hv_err *err;

	if (!e->nr_looks)
		return NULL;
	err = syscall_tasks_set_soon(e->tracee, &e->layout);
	e->nr_looks -= !err;
	return err;
}

static void tend_later(struct hv_event_tracer *e)
{
	e->tend_delay_ns = TEND_FIRST_NS;
	e->tend_ns = hv_now_ns() + TEND_FIRST_NS;
}

/* -- off --------------------------------------------------------------------------------------- */

static struct hv_err *switch_off(struct hv_event_tracer *e)
{
	HV_AUTO_FREE struct hv_plug_step *steps = hv_alloc((e->nr + 1) * sizeof(*steps));
	HV_AUTO_FREE struct event **events = hv_alloc((e->nr + 1) * sizeof(*events));
	struct hv_err *err;
	size_t nr = 0;

	for (size_t i = 0; i < e->nr; i++) {
		if (!e->events[i].is_on || e->events[i].is_wanted)
			continue;
		steps[nr].tp = e->events[i].type.tracepoint;
		events[nr++] = &e->events[i];
	}
	if (!nr)
		return NULL;
	err = make_all(e, steps, nr);
	for (size_t i = 0; !err && i < nr; i++)
		events[i]->is_on = steps[i].why_not != NULL;
	if (!err)
		err = hv_plug_steps_take_error(steps, nr);
	hv_plug_steps_deinit(steps, nr);
	tend_later(e);
	return err;
}

/* -- on ---------------------------------------------------------------------------------------- */

/* An event to be switched on. */
struct coming {
	struct event *event;
	struct hv_event_want *want;
};

static struct hv_err *check_room(struct hv_event_tracer *e, const struct hv_event_type *type)
{
	struct hv_err *err = hv_event_tracer_check(e, type);

	if (!err && !find(e, type) && free_index(e) == HV_REGION_NR_EVENTS)
		err = hv_err_new(ENOSPC, "more than %zu events", (size_t)HV_REGION_NR_EVENTS);
	if (!err && !find(e, type))
		add(e, type);
	return err;
}

/* Claims the modules of the events in LIST. Sets why_not of those that fail, and returns how many
 * are left. */
static size_t claim_modules(struct hv_event_tracer *e, struct coming *list, size_t nr)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < nr; i++) {
		list[i].want->why_not =
			event_modules_claim(e->tracee, e->calls, &list[i].event->type);
		if (!list[i].want->why_not)
			list[nr_left++] = list[i];
	}
	return nr_left;
}

/* Makes the callbacks call the trampolines. Sets why_not of those that fail. */
static struct hv_err *redirect(struct hv_event_tracer *e, struct coming *list, size_t nr)
{
	HV_AUTO_FREE const struct hv_event_type **types = hv_alloc((nr + 1) * sizeof(*types));
	HV_AUTO_FREE struct hv_err **why_not = hv_alloc((nr + 1) * sizeof(*why_not));
	struct hv_err *err = hv_event_calls_begin(e->calls);

	for (size_t i = 0; i < nr; i++)
		types[i] = &list[i].event->type;
	if (!err)
		err = hv_event_calls_redirect(e->calls, types, nr, why_not);
	for (size_t i = 0; i < nr; i++)
		list[i].want->why_not = why_not[i];
	return err;
}

/* Makes STEPS of plugs. An event that was on before needs a new array if the guest's own callbacks
 * changed since then. In this case first waits until the guest no longer uses the old array. */
static struct hv_err *make_plugs(struct hv_event_tracer *e, struct hv_plug_step *steps,
				 struct hv_plug *plugs, size_t nr)
{
	HV_AUTO_FREE bool *which = hv_alloc(HV_REGION_NR_EVENTS * sizeof(*which));
	struct hv_err *err = make_all(e, steps, nr);
	size_t nr_used = 0;

	for (size_t i = 0; !err && i < nr; i++)
		if (steps[i].why_not && steps[i].why_not->code == EBUSY &&
		    plugs[i].array_use == HV_ARRAY_MAY_BE_USED) {
			which[plugs[i].index] = true;
			nr_used++;
		}
	if (err || !nr_used)
		return err;
	err = event_use_await_end(e->tracee, &e->layout, e->calls, which);
	if (err && err->code == EBUSY) {
		hv_err_free(err); /* each step already has its why_not */
		return NULL;
	}
	for (size_t i = 0; !err && i < nr; i++) {
		if (!which[plugs[i].index])
			continue;
		e->events[plugs[i].index].was_on = false;
		plugs[i].array_use = HV_ARRAY_UNUSED;
		hv_plug_steps_deinit(&steps[i], 1);
	}
	return err ? err : make_all(e, steps, nr);
}

/* Plugs in the events without an error. */
static struct hv_err *plug_in(struct hv_event_tracer *e, struct coming *list, size_t nr)
{
	HV_AUTO_FREE struct hv_plug_step *steps = hv_alloc((nr + 1) * sizeof(*steps));
	HV_AUTO_FREE struct hv_plug *plugs = hv_alloc((nr + 1) * sizeof(*plugs));
	struct hv_err *err;
	size_t nr_steps = 0, nr_done = 0;

	for (size_t i = 0; i < nr; i++) {
		struct coming *c = &list[i];

		if (c->want->why_not)
			continue;
		plugs[nr_steps] =
			(struct hv_plug){&c->event->type, index_of(e, c->event),
					 c->event->was_on ? HV_ARRAY_MAY_BE_USED : HV_ARRAY_UNUSED};
		hv_plug_prepare(e->tracee, &plugs[nr_steps]);
		hv_event_words_set_program(&e->words, &e->tracee->region, index_of(e, c->event),
					   c->want->program);
		steps[nr_steps].plug = &plugs[nr_steps];
		steps[nr_steps++].tp = c->event->type.tracepoint;
	}
	err = make_plugs(e, steps, plugs, nr_steps);
	for (size_t i = 0; i < nr; i++) {
		if (list[i].want->why_not)
			continue;
		list[i].want->why_not = hv_take(steps[nr_done++].why_not);
		/* After an error it is unknown which steps were made. */
		list[i].event->is_on = err || !list[i].want->why_not;
		list[i].event->was_on |= list[i].event->is_on;
	}
	hv_plug_steps_deinit(steps, nr_steps);
	return err;
}

/* Finds the events of WANTS that are off and possible. Returns their number. */
static size_t choose(struct hv_event_tracer *e, struct hv_event_want *wants, size_t nr,
		     struct coming *ret)
{
	size_t nr_coming = 0;

	for (size_t i = 0; i < nr; i++)
		if (!hv_event_tracer_is_on(e, wants[i].type))
			wants[i].why_not = check_room(e, wants[i].type);
	for (size_t i = 0; i < nr; i++) {
		struct event *event = find(e, wants[i].type);

		if (!wants[i].why_not && !event->is_on)
			ret[nr_coming++] = (struct coming){.event = event, .want = &wants[i]};
	}
	return nr_coming;
}

static void mark_wanted(struct hv_event_tracer *e, struct hv_event_want *wants, size_t nr)
{
	for (size_t i = 0; i < e->nr; i++)
		e->events[i].is_wanted = false;
	for (size_t i = 0; i < nr; i++) {
		struct event *event = find(e, wants[i].type);

		wants[i].why_not = NULL;
		if (event)
			event->is_wanted = true;
	}
}

static void set_stacks(struct hv_event_tracer *e, const struct hv_event_want *wants, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct event *event = find(e, wants[i].type);

		if (event && event->is_on)
			hv_plug_set_stacks(e->tracee, (unsigned)(event - e->events),
					   wants[i].has_stacks ? HV_PLUG_STACKS
							       : HV_PLUG_NO_STACKS);
	}
}

/* Removes filters and programs of the previous set. */
static void clear_words(struct hv_event_tracer *e)
{
	for (size_t i = 0; i < e->nr; i++)
		hv_event_words_clear(&e->words, &e->tracee->region, (unsigned)i);
}

static void set_words(struct hv_event_tracer *e, const struct hv_event_want *wants, size_t nr)
{
	HV_AUTO_FREE struct hv_event_file_word *words = hv_alloc((nr + 1) * sizeof(*words));
	size_t nr_words = 0;

	for (size_t i = 0; i < e->nr; i++)
		if (!e->events[i].is_on)
			hv_event_words_clear(&e->words, &e->tracee->region, (unsigned)i);
	for (size_t i = 0; i < nr; i++) {
		const struct event *event = find(e, wants[i].type);

		if (event && event->is_on)
			words[nr_words++] = (struct hv_event_file_word){
				index_of(e, event), wants[i].filter, wants[i].program};
	}
	hv_event_words_set(&e->words, &e->tracee->region, words, nr_words);
}

void hv_event_tracer_set_filter(struct hv_event_tracer *e, const struct hv_event_type *type,
				const struct hv_trampoline_filter *filter)
{
	const struct event *event = find(e, type);

	if (event && event->is_on)
		hv_event_words_set_filter(&e->words, &e->tracee->region, index_of(e, event),
					  filter);
}

static struct hv_err *switch_on(struct hv_event_tracer *e, struct hv_event_want *wants, size_t nr)
{
	HV_AUTO_FREE struct coming *list = hv_alloc((nr + 1) * sizeof(*list));
	size_t nr_coming = choose(e, wants, nr, list);
	struct hv_err *err;

	if (!nr_coming)
		return NULL;
	tend_later(e);
	nr_coming = claim_modules(e, list, nr_coming);
	err = redirect(e, list, nr_coming);
	if (!err)
		err = plug_in(e, list, nr_coming);
	if (!err)
		return NULL;
	/* Some may be plugged in. They are removed now, or remembered until they can be: the calls
	 * that they need must not be restored before that. */
	for (size_t i = 0; i < nr_coming; i++)
		list[i].event->is_wanted = false;
	hv_err_free(switch_off(e));
	return err;
}

struct hv_err *hv_event_tracer_set(struct hv_event_tracer *e, struct hv_event_want *wants,
				   size_t nr)
{
	struct hv_err *err;

	mark_wanted(e, wants, nr);
	err = switch_off(e);
	if (!err)
		err = switch_on(e, wants, nr);
	if (err) {
		clear_words(e);
		return err;
	}
	set_stacks(e, wants, nr);
	set_words(e, wants, nr);
	err = see_to_tasks(e);
	if (!err || err->code != EBUSY)
		return err;
	hv_err_free(err); /* hv_event_tracer_tend() continues with the tasks */
	return NULL;
}

/* -- cleanup ----------------------------------------------------------------------------------- */

/* Returns whether an event of MODULE is on. */
static bool has_any_on(void *ctx, const struct hv_module *module)
{
	const struct hv_event_tracer *e = ctx;

	for (size_t i = 0; i < e->nr; i++)
		if (e->events[i].is_on && e->events[i].type.module &&
		    strcmp(e->events[i].type.module, module->name) == 0)
			return true;
	return false;
}

/* Releases modules without active events while other events are on. */
static struct hv_err *give_back_modules(struct hv_event_tracer *e)
{
	HV_AUTO_FREE bool *which = hv_alloc(HV_REGION_NR_EVENTS * sizeof(*which));
	const struct hv_modules *modules = &e->tracee->kernel->modules;
	struct hv_err *err = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < e->nr; i++) {
		const char *name = e->events[i].type.module;
		const struct hv_module *module = name ? hv_module_named(modules, name) : NULL;

		which[i] = module && !has_any_on(e, module);
		nr += which[i];
	}
	if (!nr)
		return NULL;
	err = event_use_check(e->tracee, &e->layout, e->calls, which);
	for (size_t i = 0; !err && i < e->nr; i++)
		if (which[i])
			err = hv_event_calls_put_back_of(
				e->calls, hv_module_named(modules, e->events[i].type.module));
	if (!err)
		err = hv_module_claims_take_out(e->tracee, has_any_on, e);
	for (size_t i = 0; !err && i < e->nr; i++)
		if (which[i])
			forget(&e->events[i]);
	return err;
}

/* Once nothing is plugged in and no task is on its way to a trampoline, restores the calls. */
static struct hv_err *give_back(struct hv_event_tracer *e)
{
	struct hv_err *err = NULL;

	if (hv_event_calls_are_there(e->calls)) {
		err = event_use_check(e->tracee, &e->layout, e->calls, NULL);
		if (!err)
			err = hv_event_calls_put_back(e->calls);
	}
	if (!err)
		err = hv_module_claims_take_out(e->tracee, NULL, NULL);
	if (!err)
		forget_events(e);
	return err;
}

void hv_event_tracer_tend(struct hv_event_tracer *e)
{
	struct hv_event_tracer_stat stat;
	uint64_t now = hv_now_ns();

	/* In a session that is being recovered, only hv_event_tracer_restore() can find plugs. */
	if (!e->nr || now < e->tend_ns)
		return;
	hv_err_free(see_to_tasks(e));
	hv_event_tracer_stat(e, &stat);
	hv_err_free(stat.nr_on ? give_back_modules(e) : give_back(e));
	e->tend_delay_ns = e->tend_delay_ns < TEND_LAST_NS ? 2 * e->tend_delay_ns : TEND_LAST_NS;
	e->tend_ns = now + e->tend_delay_ns;
}

struct hv_err *hv_event_tracer_restore(struct hv_event_tracer *e, struct hv_text *report)
{
	size_t nr = 0;
	struct hv_err *err;

	if (!hv_event_calls_are_there(e->calls) &&
	    !hv_patcher_nr_patched(e->tracee->patcher, HV_CHANGE_PLUG))
		return hv_module_claims_take_out(e->tracee, NULL, NULL);
	err = need_layout(e);
	if (!err)
		err = hv_plugs_take_out(e->tracee, &e->layout, &nr);
	if (nr)
		hv_text_printf(report, "%zu event%s of the guest switched off\n", nr,
			       hv_plural(nr));
	if (err)
		return err;
	for (size_t i = 0; i < e->nr; i++)
		e->events[i].is_on = false;
	e->nr_looks = 1; /* check the tasks even if an earlier process switched system calls off */
	err = see_to_tasks(e);
	return err ? err : give_back(e);
}
