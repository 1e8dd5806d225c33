/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the fault of a stall, groups stalls by cause, and ranks the causes. */
#include <stdlib.h>
#include <string.h>

#include "latency/looks.h"
#include "latency/reasons.h"
#include "latency/vcpu_threads.h"

/* Returns whether a limit caused most of the time that the vCPU waited. */
static bool is_hosts_limit(const struct hv_verdict_input *in, unsigned cpu)
{
	const struct hv_share *share =
		in->shares && cpu < in->shares->nr ? &in->shares->list[cpu] : NULL;

	return share && share->limited_ns && 2 * share->limited_ns >= share->waited_ns;
}

static enum hv_fault fault_of_host(const struct hv_verdict_input *in, const struct hv_stall *s)
{
	const struct hv_taker *taker = in->takers ? hv_takers_find(in->takers, &s->by) : NULL;

	if (s->number == HV_OUTAGE_STOPPED)
		return HV_FAULT_HOST;
	if (is_hosts_limit(in, s->cpu))
		return HV_FAULT_HOSTS_LIMIT;
	return taker && taker->kind == HV_TAKER_VM ? HV_FAULT_OTHER_TENANT
						   : HV_FAULT_HOSTS_SCHEDULER;
}

static enum hv_fault fault_of_exits(const struct hv_stall *s)
{
	if (!(s->flags & HV_EXITS_PROVOKED))
		return HV_FAULT_UNKNOWN;
	return s->flags & HV_EXITS_IN_KERNEL ? HV_FAULT_TENANTS_KERNEL : HV_FAULT_TENANTS_PROGRAM;
}

/* Returns whether the program needs more memory than there is. A kernel worker may be filling a
 * balloon on behalf of the host. Page faults without memory pressure may be those of a starting
 * program. */
static bool is_programs(const struct hv_stall *s)
{
	return !(s->flags & HV_SERIES_WORKERS) &&
	       (s->kind == HV_STALL_RECLAIM || s->flags & HV_SERIES_PRESSED);
}

/* The guest itself provides loop and nbd devices. */
static enum hv_fault fault_of_device(const struct look *l)
{
	if (hv_stall_is_guests_own(&l->stall))
		return HV_FAULT_UNKNOWN;
	return 2 * l->vmm_ns >= l->stall.length_ns ? HV_FAULT_HOSTS_SCHEDULER : HV_FAULT_HOSTS_IO;
}

enum hv_fault hv_fault_of(const struct hv_verdict_input *in, const struct look *l)
{
	const struct hv_stall *s = &l->stall;
	bool is_seen = in->view == HV_HOST_APART || !in->threads ||
		       hv_vcpu_threads_know(in->threads, s->cpu, s->from_ns);
	bool is_sure = in->view != HV_HOST_UNSEEN && is_seen && !l->is_doubtful;

	switch (s->kind) {
	case HV_STALL_HOST:
		return fault_of_host(in, s);
	case HV_STALL_EXITS:
		return fault_of_exits(s);
	case HV_STALL_LIMIT:
		return HV_FAULT_TENANTS_LIMIT;
	case HV_STALL_IO_DEVICE:
		return fault_of_device(l);
	case HV_STALL_RUNQUEUE:
		return is_sure && s->by.pid ? HV_FAULT_TENANTS_PROGRAM : HV_FAULT_UNKNOWN;
	case HV_STALL_RECLAIM:
	case HV_STALL_FAULTS:
		return is_sure && is_programs(s) ? HV_FAULT_TENANTS_PROGRAM : HV_FAULT_UNKNOWN;
	case HV_STALL_SLEEP:
		return HV_FAULT_UNKNOWN;
	default:
		return is_sure ? HV_FAULT_TENANTS_KERNEL : HV_FAULT_UNKNOWN;
	}
}

static bool is_same_wait(const struct hv_cause *c, const struct look *l)
{
	if (c->crowd || l->crowd)
		return c->crowd == l->crowd;
	return c->longest.by.pid == l->stall.by.pid;
}

/* Returns whether L belongs to the cause C. */
static bool is_same(const struct hv_verdict_input *in, const struct hv_cause *c,
		    const struct look *l)
{
	const struct hv_stall *a = &c->longest, *b = &l->stall;

	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case HV_STALL_HOST:
		return a->number == b->number && c->fault == fault_of_host(in, b);
	case HV_STALL_LIMIT:
		return a->number == b->number && a->flags == b->flags;
	case HV_STALL_SECTION:
		return strcmp(a->name, b->name) == 0 && strcmp(a->end, b->end) == 0;
	case HV_STALL_IO_DEVICE:
	case HV_STALL_IO_QUEUE:
		return a->device == b->device;
	case HV_STALL_RUNQUEUE:
		return is_same_wait(c, l);
	case HV_STALL_SYSCALL:
		return a->number == b->number && hv_stall_same_task(a, b);
	case HV_STALL_SLEEP:
		return hv_stall_same_task(a, b);
	default:
		return a->number == b->number;
	}
}

static void take_longest(struct hv_cause *c, const struct hv_verdict_input *in,
			 const struct look *l)
{
	c->longest = l->stall;
	c->host_ns = l->host_ns;
	c->vmm_ns = l->vmm_ns;
	if (l->vmm_ns)
		c->vmm = hv_outages_taker(in->vmm, 0, l->stall.from_ns, l->stall.to_ns);
	c->is_doubtful = l->is_doubtful;
	c->fault = hv_fault_of(in, l);
}

static struct hv_cause *cause_of(struct hv_verdict *v, const struct hv_verdict_input *in,
				 const struct look *l)
{
	struct hv_cause *c = v->list;

	for (; c < v->list + v->nr; c++)
		if (is_same(in, c, l))
			return c;
	if (v->nr == HV_CAUSES_MAX) {
		v->nr_left_out++;
		return NULL;
	}
	v->nr++;
	*c = (struct hv_cause){.crowd = l->crowd};
	take_longest(c, in, l);
	return c;
}

static bool decides(const struct hv_verdict_input *in, const struct look *l)
{
	return l->stall.kind == HV_STALL_HOST && in->view != HV_HOST_APART &&
	       hv_shares_deciding(in->shares, l->stall.cpu);
}

void hv_causes_add(struct hv_verdict *v, const struct hv_verdict_input *in, const struct look *l)
{
	struct hv_cause *c = cause_of(v, in, l);

	if (!c)
		return;
	c->nr++;
	c->decides |= decides(in, l);
	c->total_ns += l->stall.length_ns;
	if (l->stall.length_ns > c->longest.length_ns)
		take_longest(c, in, l);
}

static bool is_handler(const struct hv_stall *s)
{
	return s->kind == HV_STALL_SOFTIRQ || s->kind == HV_STALL_IRQ;
}

void hv_causes_add_victim(struct hv_verdict *v, const struct hv_verdict_input *in,
			  const struct look *root, const struct look *l)
{
	struct hv_cause *c = cause_of(v, in, root);

	if (!c)
		return;
	if (root->stall.kind == HV_STALL_SECTION && is_handler(&l->stall)) {
		if (l->stall.length_ns > c->inside.length_ns)
			c->inside = l->stall;
		return;
	}
	c->nr_victims++;
	if (l->stall.length_ns > c->victim.length_ns)
		c->victim = l->stall;
}

/* Sleeps without a reason come last: they may be by design, such as waiting for an RCU grace
 * period. */
static int worse_first(const void *a, const void *b)
{
	const struct hv_cause *x = a, *y = b;
	bool x_sleeps = x->longest.kind == HV_STALL_SLEEP;
	bool y_sleeps = y->longest.kind == HV_STALL_SLEEP;

	if (x->decides != y->decides)
		return x->decides ? -1 : 1;
	if (x_sleeps != y_sleeps)
		return x_sleeps ? 1 : -1;
	if (x->longest.length_ns != y->longest.length_ns)
		return x->longest.length_ns > y->longest.length_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (int)x->longest.kind - (int)y->longest.kind;
}

/* A full queue in front of a slow device is the device's fault. */
static void blame_devices(struct hv_verdict *v)
{
	for (size_t i = 0; i < v->nr; i++)
		for (size_t j = 0; j < v->nr; j++)
			if (v->list[i].longest.kind == HV_STALL_IO_QUEUE &&
			    v->list[j].longest.kind == HV_STALL_IO_DEVICE &&
			    v->list[i].longest.device == v->list[j].longest.device)
				v->list[i].fault = v->list[j].fault;
}

void hv_causes_sort(struct hv_verdict *v)
{
	blame_devices(v);
	qsort(v->list, v->nr, sizeof(*v->list), worse_first);
}
