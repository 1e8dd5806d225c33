/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/syscall_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "kernel/events/tracepoint_state.h"
#include "kernel/tasks/tasks.h"
#include "tracer/guest/tracee.h"

/* Number of tasks whose flag is changed in one hold, and of searches for tasks with a wrong flag.
 */
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

/* The guest's own probes may have changed since f->sets was read. */
static struct hv_err *check_still(const struct flagging *f)
{
	const char *lock;
	bool on = false;
	struct hv_err *err = hv_tracepoints_locked(f->tracee->kernel, f->layout, &lock);

	if (!err && lock)
		return hv_err_new(EBUSY, "the guest's kernel has %s locked", lock);
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
static void forget(const struct hold_part *p)
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
		forget(&p);
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

struct hv_err *hv_syscall_tasks_set_soon(struct hv_tracee *t,
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
