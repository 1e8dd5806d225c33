/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/guard.h"
#include "latency/stall.h"
#include "latency/vcpu_threads.h"

/* -- what the verdict knows of a stall --------------------------------------------------------- */

#define NO_REASON SIZE_MAX

/* A stall under examination. */
struct look {
	struct hv_stall stall; /* its length excludes the time taken by the host */
	uint64_t host_ns;
	uint64_t vmm_ns; /* request: how long a thread of the VMM waited for a CPU */
	bool is_doubtful;
	size_t reason;	/* index of the look that led to it, or NO_REASON */
	uint32_t crowd; /* wait for a vCPU: its crowd, or 0 */
	bool has_victims;
};

struct looks {
	struct look *list; /* owned */
	size_t nr;
};

/* -- which stall can be the reason of another -------------------------------------------------- */

/* Decides whether one stall can be the reason of another, from their kinds and times. The
 * verdict chooses among several reasons. */

#define DEV_MINOR_BITS 20 /* as in the kernel's dev_t */
#define MAJOR_LOOP     7
#define MAJOR_NBD      43

static bool stall_is_io(const struct hv_stall *s)
{
	return s->kind == HV_STALL_IO_DEVICE || s->kind == HV_STALL_IO_QUEUE;
}

/* Returns whether S is a request to a device that the guest itself provides, locally or over its
 * network (loop, nbd). These have fixed major numbers (Documentation/admin-guide/devices.txt). */
static bool stall_is_guests_own(const struct hv_stall *s)
{
	unsigned major = s->device >> DEV_MINOR_BITS;

	return stall_is_io(s) && (major == MAJOR_LOOP || major == MAJOR_NBD);
}

static bool stall_same_task(const struct hv_stall *a, const struct hv_stall *b)
{
	return a->task.pid && a->task.pid == b->task.pid;
}

/* Returns whether S is a series of waits (docs/users/latency.md: reclaim and page faults). */
static bool stall_is_series(const struct hv_stall *s)
{
	return s->kind == HV_STALL_RECLAIM || s->kind == HV_STALL_FAULTS;
}

static bool explains_lock(const struct hv_stall *by, const struct hv_stall *lock)
{
	if (by->kind == HV_STALL_SECTION)
		return (lock->flags & HV_LOCK_SPINS) && by->cpu != lock->cpu;
	return stall_is_io(by) && !(lock->flags & HV_LOCK_SPINS);
}

/* The group is unknown for tasks that never used up its time themselves. But only a limit leaves a
 * vCPU idle while a task waits for it. */
static bool is_limited(const struct hv_stall *limit, const struct hv_stall *wait)
{
	return wait->number == limit->number || !wait->by.pid;
}

static bool explains_wait(const struct hv_stall *by, const struct hv_stall *wait)
{
	switch (by->kind) {
	case HV_STALL_SECTION:
	case HV_STALL_IRQ:
	case HV_STALL_SOFTIRQ:
		return by->cpu == wait->cpu;
	case HV_STALL_EXITS:
	case HV_STALL_RECLAIM:
	case HV_STALL_SYSCALL:
		return by->cpu == wait->cpu && by->task.pid == wait->by.pid;
	case HV_STALL_LIMIT:
		return by->cpu == wait->cpu && by->number && is_limited(by, wait);
	default:
		return false;
	}
}

static bool explains_syscall(const struct hv_stall *by, const struct hv_stall *call)
{
	switch (by->kind) {
	case HV_STALL_SECTION:
	case HV_STALL_IRQ:
	case HV_STALL_SOFTIRQ:
		return by->cpu == call->cpu;
	case HV_STALL_EXITS:
		return by->cpu == call->cpu && stall_same_task(by, call);
	case HV_STALL_LOCK:
		return stall_same_task(by, call);
	default:
		return false;
	}
}

/* Returns whether a stall like BY can be the reason of one like S, if their intervals overlap. */
static bool stall_explains(const struct hv_stall *by, const struct hv_stall *s)
{
	switch (s->kind) {
	case HV_STALL_LOCK:
		return explains_lock(by, s);
	case HV_STALL_SECTION:
		return by->kind == HV_STALL_LOCK && by->cpu == s->cpu && stall_same_task(by, s);
	case HV_STALL_IRQ:
		return by->kind == HV_STALL_SECTION && by->cpu == s->cpu;
	case HV_STALL_SOFTIRQ:
		return (by->kind == HV_STALL_SECTION || by->kind == HV_STALL_IRQ) &&
		       by->cpu == s->cpu;
	case HV_STALL_IO_DEVICE:
	case HV_STALL_IO_QUEUE:
		if (stall_is_io(by))
			return stall_is_guests_own(s) && !stall_is_guests_own(by);
		return (by->kind == HV_STALL_SECTION || by->kind == HV_STALL_SOFTIRQ) &&
		       by->cpu == s->cpu;
	case HV_STALL_RUNQUEUE:
		return explains_wait(by, s);
	case HV_STALL_SYSCALL:
		return explains_syscall(by, s);
	case HV_STALL_FAULTS:
		return stall_is_io(by);
	case HV_STALL_SLEEP:
		return stall_is_io(by) || ((by->kind == HV_STALL_LOCK || stall_is_series(by)) &&
					   stall_same_task(by, s));
	default:
		return false;
	}
}

/* Returns how much of S's interval BY took. For a series, the gaps between its waits do not
 * count. */
static uint64_t stall_explained_ns(const struct hv_stall *by, const struct hv_stall *s)
{
	uint64_t overlap = hv_stall_overlap(by, s->from_ns, s->to_ns);

	return stall_is_series(by) && by->length_ns < overlap ? by->length_ns : overlap;
}

/* -- crowds ------------------------------------------------------------------------------------ */

/* Crowds: groups of tasks that wait for each other's vCPUs.
 *
 * Two tasks belong to one crowd if one waits while the other runs, and the other also has to wait
 * at some time. A task that makes others wait but never waits itself is not part of a crowd: it
 * alone is the cause.
 *
 * find_crowds() chooses the waits. */

/* Zero-initialised is empty. */
struct crowds {
	struct crowd_task *list; /* owned; sorted by pid after crowds_join() */
	size_t nr, nr_max;
	uint32_t (*waits)[2]; /* owned: pid of the waiting task, pid of the running task */
	size_t nr_waits, nr_waits_max;
};

struct crowd_task {
	uint32_t pid;
	bool waits;
	size_t next; /* towards the task that names the crowd, which points to itself */
};

static void crowds_deinit(struct crowds *c)
{
	free(c->list);
	free(c->waits);
	*c = (struct crowds){0};
}

static void add_task(struct crowds *c, uint32_t pid, bool waits)
{
	c->list = hv_grow(c->list, c->nr, &c->nr_max, 64, sizeof(*c->list));
	c->list[c->nr++] = (struct crowd_task){.pid = pid, .waits = waits};
}

/* Task PID waited while BY ran. Neither is 0. */
static void crowds_add(struct crowds *c, uint32_t pid, uint32_t by)
{
	c->waits = hv_grow(c->waits, c->nr_waits, &c->nr_waits_max, 64, sizeof(*c->waits));
	c->waits[c->nr_waits][0] = pid;
	c->waits[c->nr_waits++][1] = by;
	add_task(c, pid, true);
	add_task(c, by, false);
}

static int by_pid(const void *a, const void *b)
{
	const struct crowd_task *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Keeps one entry per task. */
static void sort(struct crowds *c)
{
	size_t kept = 0;

	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), by_pid);
	for (size_t i = 0; i < c->nr; i++) {
		if (kept && c->list[kept - 1].pid == c->list[i].pid)
			c->list[kept - 1].waits |= c->list[i].waits;
		else
			c->list[kept++] = c->list[i];
	}
	c->nr = kept;
	for (size_t i = 0; i < c->nr; i++)
		c->list[i].next = i;
}

static struct crowd_task *find(const struct crowds *c, uint32_t pid)
{
	struct crowd_task key = {.pid = pid};

	return c->nr ? bsearch(&key, c->list, c->nr, sizeof(*c->list), by_pid) : NULL;
}

static size_t crowd_root_of(const struct crowds *c, const struct crowd_task *task)
{
	size_t i = (size_t)(task - c->list);

	while (c->list[i].next != i) {
		c->list[i].next = c->list[c->list[i].next].next;
		i = c->list[i].next;
	}
	return i;
}

/* Finds the crowds. Call it once, after the last crowds_add(). */
static void crowds_join(struct crowds *c)
{
	sort(c);
	for (size_t i = 0; i < c->nr_waits; i++) {
		struct crowd_task *by = find(c, c->waits[i][1]);

		if (by->waits)
			c->list[crowd_root_of(c, find(c, c->waits[i][0]))].next =
				crowd_root_of(c, by);
	}
}

/* Returns the pid that names the crowd in which PID waits for BY, or 0. A crowd is named after one
 * of its tasks. */
static uint32_t crowds_of(const struct crowds *c, uint32_t pid, uint32_t by)
{
	const struct crowd_task *task = find(c, pid), *other = find(c, by);

	return task && other && other->waits ? c->list[crowd_root_of(c, task)].pid : 0;
}

static size_t crowds_size(const struct crowds *c, uint32_t crowd)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++)
		nr += c->list[crowd_root_of(c, &c->list[i])].pid == crowd;
	return nr;
}

/* -- causes ------------------------------------------------------------------------------------ */

/* Finds the fault of a stall, groups stalls by cause, and ranks the causes. */

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
	if (stall_is_guests_own(&l->stall))
		return HV_FAULT_UNKNOWN;
	return 2 * l->vmm_ns >= l->stall.length_ns ? HV_FAULT_HOSTS_SCHEDULER : HV_FAULT_HOSTS_IO;
}

static enum hv_fault fault_of(const struct hv_verdict_input *in, const struct look *l)
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
		return a->number == b->number && stall_same_task(a, b);
	case HV_STALL_SLEEP:
		return stall_same_task(a, b);
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
	c->fault = fault_of(in, l);
}

static struct hv_cause *cause_of(struct hv_verdict *v, const struct hv_verdict_input *in,
				 const struct look *l)
{
	struct hv_cause *c = v->list;

	for (; c < v->list + v->nr; c++)
		if (is_same(in, c, l))
			return c;
	if (v->nr == HV_CAUSES_MAX) {
		v->nr_skipped++;
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

/* Adds L, which has no reason, to its cause. Creates the cause if it does not exist. */
static void causes_add(struct hv_verdict *v, const struct hv_verdict_input *in,
		       const struct look *l)
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

/* Adds L as a consequence of ROOT. */
static void causes_add_victim(struct hv_verdict *v, const struct hv_verdict_input *in,
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

static void causes_sort(struct hv_verdict *v)
{
	blame_devices(v);
	qsort(v->list, v->nr, sizeof(*v->list), worse_first);
}

/* -- the verdict ------------------------------------------------------------------------------- */

#define HOST_MUCH   4 /* 1/4 of an interval is much of it */
#define DEPTH_MAX   8 /* maximum length of a chain of reasons */
#define RT_PRIO_END 100

static void looks_deinit(struct looks *l)
{
	free(l->list);
}

static void add_look(struct looks *l, const struct hv_stall *stall, uint64_t host_ns)
{
	l->list[l->nr++] = (struct look){.stall = *stall, .host_ns = host_ns, .reason = NO_REASON};
}

/* -- reasons ----------------------------------------------------------------------------------- */

/* Returns whether several stalls like BY can be the reason of S together, although each fills less
 * than half of it. Examples: slow device requests during a series of page faults, throttled periods
 * during a task's wait. */
static bool adds_up(const struct hv_stall *by, const struct hv_stall *s)
{
	return (s->kind == HV_STALL_FAULTS && stall_is_io(by)) ||
	       (by->kind == HV_STALL_LIMIT && stall_explains(by, s));
}

/* Returns the largest of the stalls that together fill half of stall OF, or NO_REASON. */
static size_t find_together(const struct looks *l, size_t of)
{
	const struct hv_stall *s = &l->list[of].stall;
	uint64_t total = 0, most = 0;
	size_t found = NO_REASON;

	for (size_t i = 0; i < l->nr; i++) {
		const struct hv_stall *by = &l->list[i].stall;
		uint64_t overlap = adds_up(by, s) ? stall_explained_ns(by, s) : 0;

		total += overlap;
		if (overlap > most) {
			most = overlap;
			found = i;
		}
	}
	return total && total >= s->length_ns / 2 ? found : NO_REASON;
}

/* Returns the stall that is the reason of stall OF. Among the stalls that fill at least half of OF,
 * it has the earliest kind (enum hv_stall_kind); among several of that kind, it fills most of OF.
 * If no stall fills half of it, several together may (find_together()). */
static size_t find_reason(const struct looks *l, size_t of)
{
	const struct hv_stall *s = &l->list[of].stall;
	uint64_t most = 0;
	size_t found = NO_REASON;

	for (size_t i = 0; i < l->nr; i++) {
		const struct hv_stall *by = &l->list[i].stall;
		uint64_t overlap = stall_explained_ns(by, s);

		if (i == of || overlap < s->length_ns / 2 || !overlap || !stall_explains(by, s))
			continue;
		if (found == NO_REASON || by->kind < l->list[found].stall.kind ||
		    (by->kind == l->list[found].stall.kind && overlap > most)) {
			found = i;
			most = overlap;
		}
	}
	return found != NO_REASON ? found : find_together(l, of);
}

static size_t root_of(const struct looks *l, size_t i)
{
	for (unsigned depth = 0; depth < DEPTH_MAX && l->list[i].reason != NO_REASON; depth++)
		i = l->list[i].reason;
	return i;
}

/* -- the host ---------------------------------------------------------------------------------- */

/* Returns the host's stall that took most of S. Adds one if each outage was below the threshold. */
static size_t host_reason(struct looks *l, size_t nr_host, const struct hv_verdict_input *in,
			  const struct hv_stall *s, uint64_t host_ns)
{
	uint64_t most = 0;
	size_t found = NO_REASON;

	for (size_t i = 0; i < nr_host; i++) {
		const struct hv_stall *by = &l->list[i].stall;
		uint64_t overlap =
			by->cpu == s->cpu ? hv_stall_overlap(by, s->from_ns, s->to_ns) : 0;

		if (overlap > most) {
			most = overlap;
			found = i;
		}
	}
	if (found != NO_REASON)
		return found;
	add_look(l,
		 &(struct hv_stall){.kind = HV_STALL_HOST,
				    .cpu = s->cpu,
				    .from_ns = s->from_ns,
				    .to_ns = s->to_ns,
				    .length_ns = host_ns,
				    .number = HV_OUTAGE_WAITED,
				    .by = hv_outages_taker(in->host, s->cpu, s->from_ns, s->to_ns)},
		 0);
	return l->nr - 1;
}

/* Returns the time that the host took while the system call S was on a vCPU. While the call slept
 * or other tasks ran, the host took nothing from it. */
static uint64_t taken_of_pieces(const struct hv_verdict_input *in, const struct hv_stall *s,
				uint64_t slack_ns)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < s->nr_pieces; i++) {
		const struct hv_stall_piece *p = &s->pieces[i];
		uint64_t from_ns = p->from_ns > slack_ns ? p->from_ns - slack_ns : 0;

		taken += hv_outages_ns(in->host, p->cpu, from_ns, p->to_ns + slack_ns);
	}
	return taken;
}

/* Returns the time that the host took from S, whose times may be off by SLACK_NS. */
static uint64_t taken_of(const struct hv_verdict_input *in, const struct hv_stall *s,
			 uint64_t slack_ns)
{
	uint64_t from_ns = s->from_ns > slack_ns ? s->from_ns - slack_ns : 0;

	/* The length of an exit storm already excludes the host's time. */
	if (in->view != HV_HOST_SEEN || s->kind == HV_STALL_EXITS)
		return 0;
	if (stall_is_io(s) || s->kind == HV_STALL_SLEEP)
		return hv_outages_before(in->host, s->cpu, s->from_ns, s->to_ns);
	if (s->nr_pieces)
		return taken_of_pieces(in, s, slack_ns);
	return hv_outages_ns(in->host, s->cpu, from_ns, s->to_ns + slack_ns);
}

/* Returns how long S was on a vCPU, or its whole interval if that is unknown. */
static uint64_t passed_of(const struct hv_stall *s)
{
	uint64_t passed_ns = 0;

	if (!s->nr_pieces)
		return s->to_ns > s->from_ns ? s->to_ns - s->from_ns : 0;
	for (unsigned i = 0; i < s->nr_pieces; i++)
		passed_ns += s->pieces[i].to_ns - s->pieces[i].from_ns;
	return passed_ns;
}

/* Returns how much of HOST_NS, the host's part of S's interval, is included in S's length.
 *
 * Some lengths cover only a part of the interval. The length of a section excludes the outages that
 * the guest noticed, the length of a series contains only its waits, and the length of a system
 * call only the time on a vCPU without memory searches. The host may have taken its time outside
 * the length, so only the part of HOST_NS that does not fit there is subtracted. */
static uint64_t in_length(const struct hv_stall *s, uint64_t host_ns)
{
	uint64_t passed_ns = passed_of(s);
	uint64_t apart_ns = passed_ns > s->length_ns ? passed_ns - s->length_ns : 0;

	if (s->kind != HV_STALL_SECTION && !stall_is_series(s) && s->kind != HV_STALL_SYSCALL)
		return host_ns;
	return host_ns > apart_ns ? host_ns - apart_ns : 0;
}

/* Returns whether the host did not run a vCPU other than CPU for much of the time. */
static bool another_did_not_run(const struct hv_outages *host, unsigned cpu, uint64_t from_ns,
				uint64_t to_ns)
{
	for (unsigned i = 0; to_ns > from_ns && i < host->nr_cpus; i++)
		if (i != cpu &&
		    HOST_MUCH * hv_outages_ns(host, i, from_ns, to_ns) >= to_ns - from_ns)
			return true;
	return false;
}

/* vCPUs wait for each other: for a lock, for the answer to an interrupt, or in an emulator for the
 * vCPU that translates. */
static bool may_wait_for_others(const struct hv_verdict_input *in, const struct hv_stall *s)
{
	if (in->view != HV_HOST_SEEN || stall_is_io(s) || s->kind == HV_STALL_EXITS)
		return false;
	for (unsigned i = 0; i < s->nr_pieces; i++)
		if (another_did_not_run(in->host, s->pieces[i].cpu, s->pieces[i].from_ns,
					s->pieces[i].to_ns))
			return true;
	return !s->nr_pieces && another_did_not_run(in->host, s->cpu, s->from_ns, s->to_ns);
}

/* Returns whether S may be the host's fault. This includes stalls from which the host took much
 * time, because a guest whose vCPUs get little time is slow in everything. */
static bool may_be_hosts(const struct hv_verdict_input *in, const struct hv_stall *s)
{
	uint64_t host_ns = taken_of(in, s, in->slack_ns + s->slack_ns);

	return host_ns && (s->length_ns < in->threshold_ns + host_ns ||
			   HOST_MUCH * taken_of(in, s, 0) >= passed_of(s));
}

/* Returns how long a thread of the VMM waited for a CPU during the request S. */
static uint64_t waited_of_vmm(const struct hv_verdict_input *in, const struct hv_stall *s)
{
	if (s->kind != HV_STALL_IO_DEVICE || in->view != HV_HOST_SEEN || !in->vmm)
		return 0;
	return hv_outages_ns(in->vmm, 0, s->from_ns, s->to_ns);
}

static void look_at(struct looks *l, size_t nr_host, const struct hv_verdict_input *in,
		    const struct hv_stall *stall)
{
	struct hv_stall s = *stall;
	uint64_t host_ns = taken_of(in, stall, 0);
	uint64_t counted_ns = in_length(stall, host_ns);
	size_t reason = NO_REASON;

	if (!counted_ns || s.length_ns >= in->threshold_ns + counted_ns)
		s.length_ns -= counted_ns;
	else if (counted_ns >= in->threshold_ns)
		reason = host_reason(l, nr_host, in, &s, host_ns);
	else
		return; /* neither the host's part nor the rest reaches the threshold */
	add_look(l, &s, host_ns);
	l->list[l->nr - 1].reason = reason;
	l->list[l->nr - 1].vmm_ns = waited_of_vmm(in, &s);
	l->list[l->nr - 1].is_doubtful = may_be_hosts(in, stall) || may_wait_for_others(in, stall);
}

/* If a kernel worker also searches for memory, a balloon may have caused the shortage. */
static void doubt_while_workers_search(struct looks *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		const struct hv_stall *w = &l->list[i].stall;

		for (size_t j = 0; j < l->nr && stall_is_series(w) && w->flags & HV_SERIES_WORKERS;
		     j++)
			if (stall_is_series(&l->list[j].stall) &&
			    hv_stall_overlap(w, l->list[j].stall.from_ns, l->list[j].stall.to_ns))
				l->list[j].is_doubtful = true;
	}
}

/* -- shares ------------------------------------------------------------------------------------ */

/* The shares show for how long, but not when, the host took the vCPU. */
static void add_share(struct looks *l, const struct hv_share *share)
{
	bool is_stopped = share->stopped_ns > share->waited_ns;

	add_look(l,
		 &(struct hv_stall){
			 .kind = HV_STALL_HOST,
			 .cpu = share->cpu,
			 .length_ns = hv_share_taken_ns(share),
			 .number = is_stopped ? HV_OUTAGE_STOPPED : HV_OUTAGE_WAITED,
		 },
		 0);
}

static size_t find_hosts(const struct looks *l, unsigned cpu)
{
	size_t found = NO_REASON;

	for (size_t i = 0; i < l->nr; i++)
		if (l->list[i].stall.kind == HV_STALL_HOST && l->list[i].stall.cpu == cpu &&
		    (found == NO_REASON ||
		     l->list[i].stall.length_ns > l->list[found].stall.length_ns))
			found = i;
	return found;
}

/* A guest whose clock counts instructions does not notice outages. */
static void add_shares(struct looks *l, const struct hv_verdict_input *in)
{
	unsigned nr = in->shares && in->view != HV_HOST_APART ? in->shares->nr : 0;

	for (unsigned cpu = 0; cpu < nr; cpu++) {
		const struct hv_share *share = hv_shares_deciding(in->shares, cpu);

		if (share && find_hosts(l, cpu) == NO_REASON)
			add_share(l, share);
		if (share && in->shares->is_together)
			return;
	}
}

/* If the fault of stall I is unknown, makes the host its reason, provided that the host took at
 * least the length of the stall from the stall's vCPU. If the stall may have waited for another
 * vCPU, the vCPU that lost most counts instead. */
static void give_to_host(struct looks *l, const struct hv_verdict_input *in, size_t i)
{
	struct look *look = &l->list[i];
	const struct hv_share *share = hv_shares_deciding(in->shares, look->stall.cpu);

	if (in->view == HV_HOST_APART || look->stall.kind == HV_STALL_HOST ||
	    look->reason != NO_REASON || fault_of(in, look) != HV_FAULT_UNKNOWN)
		return;
	if (!share && (look->is_doubtful || in->view == HV_HOST_UNSEEN))
		share = hv_shares_worst(in->shares);
	if (share && look->stall.length_ns <= hv_share_taken_ns(share))
		look->reason = find_hosts(l, in->shares->is_together ? 0 : share->cpu);
}

/* -- crowds among the stalls ------------------------------------------------------------------- */

/* Real-time tasks do not share their vCPU. */
static bool is_shared(const struct look *l)
{
	const struct hv_stall *s = &l->stall;

	return s->kind == HV_STALL_RUNQUEUE && l->reason == NO_REASON && s->task.pid && s->by.pid &&
	       (s->by_prio < 0 || s->by_prio >= RT_PRIO_END);
}

static uint64_t count_cpus(const struct looks *l, uint32_t crowd)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < l->nr; i++) {
		bool is_first = l->list[i].crowd == crowd;

		for (size_t j = 0; is_first && j < i; j++)
			is_first = l->list[j].crowd != crowd ||
				   l->list[j].stall.cpu != l->list[i].stall.cpu;
		nr += is_first;
	}
	return nr;
}

static void find_crowds(struct looks *l, struct crowds *crowds)
{
	for (size_t i = 0; i < l->nr; i++)
		if (is_shared(&l->list[i]))
			crowds_add(crowds, l->list[i].stall.task.pid, l->list[i].stall.by.pid);
	crowds_join(crowds);
	for (size_t i = 0; i < l->nr; i++)
		if (is_shared(&l->list[i]))
			l->list[i].crowd = crowds_of(crowds, l->list[i].stall.task.pid,
						     l->list[i].stall.by.pid);
}

static void count_crowds(struct hv_verdict *v, const struct looks *l, const struct crowds *crowds)
{
	for (size_t i = 0; i < v->nr; i++) {
		struct hv_cause *c = &v->list[i];

		if (!c->crowd)
			continue;
		c->nr_crowd = crowds_size(crowds, c->crowd);
		c->nr_crowd_cpus = count_cpus(l, c->crowd);
	}
}

/* -- all --------------------------------------------------------------------------------------- */

static void find_looks(struct looks *l, const struct hv_verdict_input *in)
{
	hv_cleanup(hv_stalls_deinit) struct hv_stalls host = {0};
	unsigned nr_storms = in->exits ? in->exits->nr_cpus : 0;
	unsigned nr_shares = in->shares ? in->shares->nr : 0;

	if (in->view == HV_HOST_SEEN)
		hv_outages_stalls(in->host, in->threshold_ns, &host);
	/* Each stall may add a stall of the host. */
	l->list = hv_realloc_array(NULL, host.nr + 2 * in->stalls->nr + nr_storms + nr_shares + 1,
				   sizeof(*l->list));
	for (size_t i = 0; i < host.nr; i++)
		add_look(l, &host.list[i], 0);
	for (size_t i = 0; i < in->stalls->nr; i++)
		look_at(l, host.nr, in, &in->stalls->list[i]);
	for (unsigned i = 0; i < nr_storms; i++)
		if (hv_exits_storm(in->exits, i))
			add_look(l, hv_exits_storm(in->exits, i), 0);
	add_shares(l, in);
}

static void find_reasons(struct looks *l, const struct hv_verdict_input *in)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->list[i].stall.kind != HV_STALL_HOST && l->list[i].reason == NO_REASON)
			l->list[i].reason = find_reason(l, i);
	for (size_t i = 0; i < l->nr; i++)
		give_to_host(l, in, i);
	for (size_t i = 0; i < l->nr; i++)
		if (l->list[i].reason != NO_REASON)
			l->list[root_of(l, i)].has_victims = true;
}

/* A group that used up its time is no cause if none of its tasks wanted to run. */
static bool is_root(const struct look *l)
{
	bool is_groups = l->stall.kind == HV_STALL_LIMIT && !l->stall.flags;

	return l->reason == NO_REASON && (l->has_victims || !is_groups);
}

void hv_verdict_find(const struct hv_verdict_input *in, struct hv_verdict *ret)
{
	hv_cleanup(crowds_deinit) struct crowds crowds = {0};
	hv_cleanup(looks_deinit) struct looks l = {0};

	*ret = (struct hv_verdict){0};
	find_looks(&l, in);
	doubt_while_workers_search(&l);
	find_reasons(&l, in);
	find_crowds(&l, &crowds);
	for (size_t i = 0; i < l.nr; i++)
		if (is_root(&l.list[i]))
			causes_add(ret, in, &l.list[i]);
	for (size_t i = 0; i < l.nr; i++)
		if (l.list[i].reason != NO_REASON)
			causes_add_victim(ret, in, &l.list[root_of(&l, i)], &l.list[i]);
	count_crowds(ret, &l, &crowds);
	causes_sort(ret);
}
