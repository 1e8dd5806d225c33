/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: kernel/sched/sched.h, kernel/sched/core.c. */
#include "kernel/derive/queue_members.h"

#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "kernel/arch/generic.h"
#include "kernel/core/fields.h"

#define CPUS_MAX   64u /* number of CPUs that are checked */
#define COMM_BYTES 16u
#define PID_MAX	   (1u << 22)
#define POINTERS   2u

/* The pointers in the run queue that idle_cpu() compares: curr, and after it idle. */
struct pointers {
	uint32_t list[POINTERS];
	unsigned nr;
	bool has_more;
};

static void note_pointer(void *ctx, const struct hv_member_use *use)
{
	struct pointers *p = ctx;
	unsigned i = 0;

	if (use->len_bytes != 8 || use->kind != HV_MEMBER_READ || use->off > HV_CODE_OFF_MAX)
		return;
	while (i < p->nr && p->list[i] != use->off)
		i++;
	if (i < p->nr)
		return;
	p->has_more |= p->nr == POINTERS;
	if (!p->has_more)
		p->list[p->nr++] = use->off;
}

struct task {
	char comm[COMM_BYTES + 1];
	uint32_t pid;
};

static bool read_task(const struct hv_deriving *d, uint64_t at, struct task *ret)
{
	const struct hv_fact *comm = hv_facts_find(&d->facts, "task_struct", "comm");
	const struct hv_fact *pid = hv_facts_find(&d->facts, "task_struct", "pid");
	HV_AUTO_ERR struct hv_err *err = NULL;

	*ret = (struct task){.comm = ""};
	if (!comm || !pid || at < d->core->as.arch->kernel_start(d->core->as.levels).v)
		return false;
	err = hv_read(&d->core->as, hv_gva(at + comm->off), ret->comm, COMM_BYTES);
	if (!err)
		err = hv_read_u32(&d->core->as, hv_gva(at + pid->off), &ret->pid);
	return !err && *ret->comm && strlen(ret->comm) < COMM_BYTES && ret->pid <= PID_MAX;
}

/* Returns whether the pointers at CURR and IDLE of the run queue at AT lead to a task and to the
 * idle task of CPU. */
static bool are_tasks_of(const struct hv_deriving *d, struct hv_gva at, uint32_t curr,
			 uint32_t idle, unsigned cpu)
{
	HV_AUTO_FREE char *name = hv_format("swapper/%u", cpu);
	uint64_t curr_at = 0, idle_at = 0;
	struct task task;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&d->core->as, hv_gva_add(at, curr), &curr_at);

	if (!err)
		err = hv_read_u64(&d->core->as, hv_gva_add(at, idle), &idle_at);
	return !err && read_task(d, curr_at, &task) && read_task(d, idle_at, &task) && !task.pid &&
	       (!strcmp(task.comm, name) || !strcmp(task.comm, "swapper"));
}

static bool are_pointers(const struct hv_deriving *d, struct hv_gva queues, uint32_t curr,
			 uint32_t idle)
{
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct hv_gva at;
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (!hv_cpu_in(d->core, "__cpu_online_mask", cpu))
			continue;
		err = hv_core_percpu(d->core, queues.v, cpu, &at);
		if (err || !are_tasks_of(d, at, curr, idle, cpu))
			return false;
		nr++;
	}
	return nr;
}

static void add(struct hv_deriving *d, const char *member, uint32_t off, unsigned proofs)
{
	hv_facts_add(&d->facts, &(struct hv_fact){"rq", member, off, 8, NULL, proofs});
}

static void derive_pointers(struct hv_deriving *d)
{
	struct pointers p = {.nr = 0};
	struct hv_gva queues;
	uint32_t curr, idle;

	if (!hv_core_symbol(d->core, "runqueues", &queues) ||
	    !hv_code_list(d->core, "idle_cpu", note_pointer, &p) || p.nr != POINTERS || p.has_more)
		return;
	curr = p.list[p.list[0] > p.list[1]];
	idle = p.list[p.list[0] < p.list[1]];
	if (!are_pointers(d, queues, curr, idle))
		return;
	add(d, "curr", curr, HV_PROVED_BY_CODE | HV_PROVED_BY_MEMORY);
	add(d, "idle", idle, HV_PROVED_BY_CODE | HV_PROVED_BY_MEMORY);
}

/* The first two uses of an 8-byte member of a function's first argument. */
struct first_uses {
	struct hv_member_use list[2];
	unsigned nr;
};

static void note_use(void *ctx, const struct hv_member_use *use)
{
	struct first_uses *f = ctx;

	if (use->from == HV_ROOT_ARGUMENT && !use->root && !use->nr_steps && use->len_bytes == 8 &&
	    f->nr < 2)
		f->list[f->nr++] = *use;
}

/* update_rq_clock() first subtracts the clock from the present time, and then sets it. */
static void derive_clock(struct hv_deriving *d)
{
	struct first_uses f = {.nr = 0};

	if (!hv_code_follow(d->core, "update_rq_clock", note_use, &f) || f.nr != 2 ||
	    f.list[0].off != f.list[1].off || f.list[0].kind != HV_MEMBER_READ ||
	    f.list[1].kind != HV_MEMBER_WRITE)
		return;
	add(d, "clock", f.list[0].off, HV_PROVED_BY_CODE);
}

void hv_queue_members_derive(struct hv_deriving *d)
{
	derive_pointers(d);
	derive_clock(d);
}
