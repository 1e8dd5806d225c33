/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <limits.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/verbs/latency/report.h"

#define DEV_MINOR_BITS 20 /* of the kernel's dev_t */
#define RT_PRIO_END    100
#define NS_PER_US      1000

static const char *const softirqs[] = {"HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
				       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU"};

const char *latency_word_kind(const struct hv_stall *s)
{
	static const char *const words[HV_NR_STALLS] = {
		[HV_STALL_HOST] = "vcpu-not-run",      [HV_STALL_LOCK] = "lock",
		[HV_STALL_SECTION] = "irqs-off",       [HV_STALL_IRQ] = "interrupt",
		[HV_STALL_SOFTIRQ] = "softirq",	       [HV_STALL_RECLAIM] = "reclaim",
		[HV_STALL_IO_DEVICE] = "block-device", [HV_STALL_IO_QUEUE] = "block-queue",
		[HV_STALL_RUNQUEUE] = "run-queue",     [HV_STALL_SYSCALL] = "system-call",
		[HV_STALL_SLEEP] = "uninterruptible",  [HV_STALL_EXITS] = "exits",
		[HV_STALL_FAULTS] = "page-faults",     [HV_STALL_LIMIT] = "cpu-limit",
	};

	return words[s->kind];
}

const char *latency_word_fault(enum hv_fault fault)
{
	static const char *const words[HV_NR_FAULTS] = {
		[HV_FAULT_UNKNOWN] = "unknown",
		[HV_FAULT_TENANTS_KERNEL] = "tenant-kernel",
		[HV_FAULT_TENANTS_PROGRAM] = "tenant-program",
		[HV_FAULT_TENANTS_LIMIT] = "tenant-limit",
		[HV_FAULT_HOSTS_LIMIT] = "host-limit",
		[HV_FAULT_HOSTS_SCHEDULER] = "host-scheduler",
		[HV_FAULT_HOSTS_IO] = "host-io",
		[HV_FAULT_OTHER_TENANT] = "other-tenant",
		[HV_FAULT_HOST] = "host",
	};

	return words[fault];
}

const char *latency_phrase_fault(enum hv_fault fault)
{
	static const char *const phrases[HV_NR_FAULTS] = {
		[HV_FAULT_UNKNOWN] = "not known",
		[HV_FAULT_TENANTS_KERNEL] = "the tenant's kernel",
		[HV_FAULT_TENANTS_PROGRAM] = "the tenant's program",
		[HV_FAULT_TENANTS_LIMIT] = "the tenant's limit of CPU time",
		[HV_FAULT_HOSTS_LIMIT] = "the host's limit of CPU time for this guest",
		[HV_FAULT_HOSTS_SCHEDULER] = "the host's scheduler",
		[HV_FAULT_HOSTS_IO] = "the host's I/O",
		[HV_FAULT_OTHER_TENANT] = "another tenant",
		[HV_FAULT_HOST] = "the host, where an operator stopped the guest",
	};

	return phrases[fault];
}

void latency_add_time(struct hv_text *out, uint64_t ns)
{
	if (ns >= 10 * HV_NS_PER_S)
		hv_text_printf(out, "%.1f s", (double)ns / HV_NS_PER_S);
	else if (ns >= HV_NS_PER_MS)
		hv_text_printf(out, "%.*f ms", ns < 100 * HV_NS_PER_MS ? 1 : 0,
			       (double)ns / HV_NS_PER_MS);
	else
		hv_text_printf(out, "%.0f us", (double)ns / 1000);
}

void latency_add_task(struct hv_text *out, const struct hv_stall_task *task)
{
	if (task->comm[0])
		hv_text_add_guest(out, task->comm, sizeof(task->comm));
	else
		hv_text_add(out, task->pid ? "<...>" : "<idle>");
	hv_text_printf(out, "-%" PRIu32, task->pid);
}

/* Guests whose events can be recorded have this architecture. 32-bit programs use other numbers,
 * which the event does not distinguish. */
void latency_add_syscall(struct hv_text *out, const struct hv_stall *s)
{
	char *name = s->number <= INT_MAX
			     ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)s->number)
			     : NULL;

	if (name)
		hv_text_add(out, name);
	else
		hv_text_printf(out, "%" PRIu64, s->number);
	free(name);
}

static void add_softirq(struct hv_text *out, uint64_t number)
{
	if (number < HV_ARRAY_LEN(softirqs))
		hv_text_printf(out, "softirq %s", softirqs[number]);
	else
		hv_text_printf(out, "softirq %" PRIu64, number);
}

static void add_handler(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_SOFTIRQ) {
		add_softirq(out, s->number);
		return;
	}
	hv_text_printf(out, "interrupt %" PRIu64 " ", s->number);
	hv_text_add_guest(out, s->name, sizeof(s->name));
}

static void add_device(struct hv_text *out, const struct hv_stall *s)
{
	hv_text_printf(out, "block device %u:%u", s->device >> DEV_MINOR_BITS,
		       s->device & ((1u << DEV_MINOR_BITS) - 1));
}

static void add_lock(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s)
{
	const char *name = hv_latency_symbol(l, s->number);

	hv_text_add(out, s->flags & HV_LOCK_SPINS ? "spin lock " : "lock ");
	if (name)
		hv_text_add_guest(out, name, HV_STALL_NAME_LEN);
	else
		hv_text_printf(out, "at 0x%" PRIx64, s->number);
}

static void add_runqueue(struct hv_text *out, const struct hv_cause *c)
{
	const struct hv_stall *s = &c->longest;

	if (c->nr_crowd) {
		hv_text_printf(out, "%" PRIu64 " tasks wait for each other's vCPU", c->nr_crowd);
		return;
	}
	hv_text_add(out, "waiting for a vCPU that ");
	if (!s->by.pid) {
		hv_text_add(out, "no known task used");
		return;
	}
	latency_add_task(out, &s->by);
	hv_text_add(out, " used");
	if (s->by_prio >= 0 && s->by_prio < RT_PRIO_END)
		hv_text_printf(out, " with real-time priority %d", RT_PRIO_END - 1 - s->by_prio);
}

static void add_quota(struct hv_text *out, uint64_t quota_ns, uint64_t period_ns)
{
	if (!quota_ns || !period_ns)
		return;
	hv_text_add(out, " (");
	latency_add_time(out, quota_ns);
	hv_text_add(out, " of each ");
	latency_add_time(out, period_ns);
	hv_text_add(out, ")");
}

/* Adds the limit of a cgroup of the guest, or of a class of tasks. */
static void add_limit(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s)
{
	const struct hv_limit_group *g = hv_limits_group(l->finders.limits, s->number);

	if (s->flags & HV_LIMIT_REALTIME) {
		hv_text_add(out, "the limit of real-time tasks (sched_rt_runtime_us)");
		return;
	}
	if (s->flags & HV_LIMIT_DEADLINE) {
		hv_text_add(out, "the runtime of the SCHED_DEADLINE task");
		return;
	}
	hv_text_add(out, "the CPU limit of cgroup ");
	if (!g) {
		hv_text_printf(out, "at 0x%" PRIx64, s->number);
		return;
	}
	hv_text_add_guest(out, g->path, sizeof(g->path));
	add_quota(out, g->quota_ns, g->period_ns);
}

void latency_add_vmm_limit(struct hv_text *out, const struct vmm_limit *limit)
{
	hv_text_add(out, "its cgroup ");
	hv_text_add_lines(out, limit->path);
	add_quota(out, limit->quota_us * NS_PER_US, limit->period_us * NS_PER_US);
	hv_text_printf(out, " was at its limit in %" PRIu64 " period%s", limit->nr,
		       hv_plural(limit->nr));
}

static void add_storm(struct hv_text *out, const struct hv_stall *s)
{
	uint64_t passed = s->to_ns - s->from_ns;

	hv_text_add(out, "exit storm: ");
	hv_text_add_guest(out, s->name, sizeof(s->name));
	if (passed)
		hv_text_printf(out, " took %.0f %% of the vCPU's time",
			       100 * (double)s->length_ns / (double)passed);
}

void latency_add_cause(struct hv_text *out, const struct hv_latency *l, const struct hv_cause *c)
{
	const struct hv_stall *s = &c->longest;

	switch (s->kind) {
	case HV_STALL_HOST:
		hv_text_add(out, s->number == HV_OUTAGE_STOPPED ? "the vCPU was stopped on the host"
								: "the host did not run the vCPU");
		latency_add_taker(out, l, s);
		return;
	case HV_STALL_EXITS:
		add_storm(out, s);
		return;
	case HV_STALL_LOCK:
		hv_text_add(out, "waiting for ");
		add_lock(out, l, s);
		return;
	case HV_STALL_SECTION:
		hv_text_add(out, "interrupts or preemption off");
		if (c->inside.length_ns) {
			hv_text_add(out, " in ");
			add_handler(out, &c->inside);
		}
		return;
	case HV_STALL_IRQ:
	case HV_STALL_SOFTIRQ:
		add_handler(out, s);
		return;
	case HV_STALL_LIMIT:
		add_limit(out, l, s);
		return;
	case HV_STALL_RECLAIM:
		hv_text_add(out, s->number ? "moving memory to get a large page"
					   : "looking for free memory");
		return;
	case HV_STALL_FAULTS:
		hv_text_add(out, "page faults, until the memory was read");
		return;
	case HV_STALL_IO_DEVICE:
	case HV_STALL_IO_QUEUE:
		add_device(out, s);
		hv_text_add(out, s->kind == HV_STALL_IO_QUEUE ? ": in the guest's queue"
							      : ": the device did not answer");
		return;
	case HV_STALL_RUNQUEUE:
		add_runqueue(out, c);
		return;
	case HV_STALL_SYSCALL:
		hv_text_add(out, "system call ");
		latency_add_syscall(out, s);
		hv_text_add(out, " kept the vCPU");
		return;
	case HV_STALL_SLEEP:
		hv_text_add(out, "an uninterruptible sleep");
		return;
	case HV_NR_STALLS:
		return;
	}
}

void latency_add_command(struct hv_text *out, const struct latency_report *r,
			 const struct hv_cause *c)
{
	static const char *const options[HV_NR_STALLS] = {
		[HV_STALL_EXITS] = "-e 'host:kvm_*'",
		[HV_STALL_LOCK] = "-e lock",
		[HV_STALL_SECTION] = "-p preemptirqsoff",
		[HV_STALL_IRQ] = "-e irq",
		[HV_STALL_SOFTIRQ] = "-e irq",
		[HV_STALL_LIMIT] = "-e sched:sched_switch",
		[HV_STALL_RECLAIM] = "-e vmscan -e compaction",
		[HV_STALL_FAULTS] = "-e vmscan -e block",
		[HV_STALL_IO_DEVICE] = "-e block",
		[HV_STALL_IO_QUEUE] = "-e block",
		[HV_STALL_RUNQUEUE] = "-e sched:sched_switch -e 'sched:sched_wak*'",
		[HV_STALL_SYSCALL] = "-p function_graph",
		[HV_STALL_SLEEP] = "-p function_graph",
	};
	const struct hv_stall *s = &c->longest;

	const char *option = options[s->kind];

	if (s->kind == HV_STALL_HOST && s->by.comm[0])
		option = "-e host:sched_switch";
	if (!option)
		return;
	hv_text_printf(out, "hvtrace record %s %s", r->domain, option);
	if ((s->kind == HV_STALL_SYSCALL || s->kind == HV_STALL_SLEEP) && s->task.pid)
		hv_text_printf(out, " -P %" PRIu32, s->task.pid);
	hv_text_add(out, " --for=10s");
}

#define REASONS_SHOWN 4

/* -- takers of a CPU -------------------------------------------------------------------------- */

static const char *word_taker(enum hv_taker_kind kind)
{
	static const char *const words[HV_NR_TAKERS] = {
		[HV_TAKER_UNKNOWN] = "unknown", [HV_TAKER_HOST] = "host",
		[HV_TAKER_VM] = "guest",	[HV_TAKER_OWN] = "own-vmm",
		[HV_TAKER_NOBODY] = "nobody",
	};

	return words[kind];
}

void latency_add_taker(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s)
{
	const struct hv_taker *t = hv_takers_find(&l->threads.takers, &s->by);

	if (!s->by.comm[0])
		return;
	if (!s->by.pid) {
		hv_text_add(out,
			    ", though its CPU was idle: a limit of its cgroup (cpu.max) does so");
		return;
	}
	hv_text_add(out, ": ");
	latency_add_task(out, &s->by);
	if (t && t->kind == HV_TAKER_VM && t->domain[0]) {
		hv_text_add(out, " of domain '");
		hv_text_add_guest(out, t->domain, sizeof(t->domain));
		hv_text_add(out, "'");
	} else if (t && t->kind == HV_TAKER_VM) {
		hv_text_add(out, " of another VMM");
	} else if (t && t->kind == HV_TAKER_OWN) {
		hv_text_add(out, " of the guest's VMM");
	}
	hv_text_add(out, " had the CPU");
}

/* -- exits ------------------------------------------------------------------------------------- */

static int more_time_first(const void *a, const void *b)
{
	const struct hv_exit_reason *const *x = a, *const *y = b;

	if ((*x)->total_ns != (*y)->total_ns)
		return (*x)->total_ns > (*y)->total_ns ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static unsigned exit_reasons(const struct hv_latency *l, const struct hv_exit_reason **ret)
{
	const struct hv_exits *x = &l->threads.exits;
	unsigned nr = 0;

	for (unsigned i = 0; i < x->nr_reasons; i++)
		if (x->reasons[i].nr)
			ret[nr++] = &x->reasons[i];
	qsort(ret, nr, sizeof(*ret), more_time_first);
	return nr;
}

void latency_add_exits(struct hv_text *out, const struct hv_latency *l)
{
	const struct hv_exit_reason *list[HV_EXIT_REASONS_MAX];
	const struct hv_wakeups *w = &l->threads.wakeups;
	unsigned nr = exit_reasons(l, list), shown = 0;

	if (!l->has_host_events)
		return;
	hv_text_add(out, "exits:");
	for (unsigned i = 0; i < nr && shown < REASONS_SHOWN; i++) {
		if (list[i]->sort == HV_EXIT_HALT)
			continue;
		hv_text_add(out, shown++ ? ", " : " ");
		hv_text_add_guest(out, list[i]->name, sizeof(list[i]->name));
		hv_text_printf(out, " %" PRIu64 " in ", list[i]->nr);
		latency_add_time(out, list[i]->total_ns);
		hv_text_add(out, " (longest ");
		latency_add_time(out, list[i]->longest_ns);
		hv_text_add(out, ")");
	}
	hv_text_printf(out, "%s; vCPUs woken %" PRIu64 " time%s", shown ? "" : " none", w->nr,
		       hv_plural(w->nr));
	if (w->nr) {
		hv_text_add(out, ", then ran after ");
		latency_add_time(out, w->total_ns / w->nr);
		hv_text_add(out, " (longest ");
		latency_add_time(out, w->longest_ns);
		hv_text_add(out, ")");
	}
	hv_text_add(out, "\n");
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static json_object *string(const char *text, size_t size)
{
	HV_AUTO_TEXT struct hv_text shown = {0};

	hv_text_add_utf8(&shown, text, size);
	hv_text_add(&shown, "");
	return json_object_new_string(shown.data);
}

static json_object *taker_object(const struct hv_taker *t)
{
	json_object *o = json_object_new_object();

	add_number(o, "pid", t->task.pid);
	json_object_object_add(o, "comm", string(t->task.comm, sizeof(t->task.comm)));
	json_object_object_add(o, "of", json_object_new_string(word_taker(t->kind)));
	if (t->domain[0])
		json_object_object_add(o, "domain", string(t->domain, sizeof(t->domain)));
	return o;
}

json_object *latency_json_taker(const struct hv_latency *l, const struct hv_stall *s)
{
	const struct hv_taker *found = hv_takers_find(&l->threads.takers, &s->by);
	struct hv_taker t = {.task = s->by};

	if (!s->by.comm[0])
		return NULL;
	return taker_object(found ? found : &t);
}

static json_object *exits_array(const struct hv_latency *l)
{
	const struct hv_exit_reason *list[HV_EXIT_REASONS_MAX];
	unsigned nr = exit_reasons(l, list);
	json_object *exits = json_object_new_array();

	for (unsigned i = 0; i < nr; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "reason", string(list[i]->name, sizeof(list[i]->name)));
		add_number(o, "times", list[i]->nr);
		add_number(o, "total_ns", list[i]->total_ns);
		add_number(o, "longest_ns", list[i]->longest_ns);
		json_object_array_add(exits, o);
	}
	return exits;
}

json_object *latency_json_host(const struct hv_latency *l)
{
	const struct hv_wakeups *w = &l->threads.wakeups;
	json_object *o = json_object_new_object(), *wakeups = json_object_new_object();
	json_object *takers = json_object_new_array();

	add_number(wakeups, "times", w->nr);
	add_number(wakeups, "total_ns", w->total_ns);
	add_number(wakeups, "longest_ns", w->longest_ns);
	for (size_t i = 0; i < l->threads.takers.nr; i++) {
		const struct hv_taker *t = &l->threads.takers.list[i];
		json_object *taker = taker_object(t);

		add_number(taker, "taken_ns", t->taken_ns);
		json_object_array_add(takers, taker);
	}
	json_object_object_add(o, "exits", exits_array(l));
	json_object_object_add(o, "wakeups", wakeups);
	json_object_object_add(o, "takers", takers);
	return o;
}
