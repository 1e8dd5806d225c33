/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/vcpu_threads.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/guard.h"

/* -- exits ------------------------------------------------------------------------------------- */

#define WINDOW_NS (HV_NS_PER_S / 2)
#define PART_OF	  5  /* 1/5 of the time makes a storm */
#define GOES_ON	  10 /* 1/10 continues it, so that a storm near the limit is not split */
#define MANY	  50 /* fewer exits per window are slow exits, not a storm */
#define OTHERS	  (HV_EXIT_REASONS_MAX - 1)

void hv_exits_init(struct hv_exits *x, unsigned nr_cpus, struct hv_stalls *stalls)
{
	*x = (struct hv_exits){
		.nr_cpus = nr_cpus < HV_EXIT_CPUS_MAX ? nr_cpus : HV_EXIT_CPUS_MAX,
		.stalls = stalls,
	};
	x->cpus = hv_alloc((x->nr_cpus + 1) * sizeof(*x->cpus));
}

void hv_exits_deinit(struct hv_exits *x)
{
	for (unsigned i = 0; i < x->nr_cpus; i++)
		free(x->cpus[i].shares);
	free(x->cpus);
}

/* -- reasons ----------------------------------------------------------------------------------- */

static unsigned find(const struct hv_exits *x, uint64_t key)
{
	unsigned i = 0;

	while (i < x->nr_reasons && x->reasons[i].key != key)
		i++;
	return i;
}

bool hv_exits_knows(const struct hv_exits *x, uint64_t key)
{
	return find(x, key) < x->nr_reasons || x->nr_reasons == HV_EXIT_REASONS_MAX;
}

/* Matches the names in the kernel's kvm_exit_reason and svm's (arch/x86/include/uapi/asm/vmx.h,
 * svm.h). '*' matches any suffix. KVM uses EPT misconfigurations to make accesses to device memory
 * exit. */
static enum hv_exit_sort sort_of(const char *name)
{
	static const char *const halts[] = {"hlt", "mwait", "mwait_instruction"};
	static const char *const provoked[] = {
		"cpuid",       "io",	     "io_instruction", "msr*",
		"vmmcall",     "vmcall",     "hypercall",      "rdtsc*",
		"invd",	       "wbinvd",     "rdpmc",	       "xsetbv",
		"read_cr*",    "write_cr*",  "read_dr*",       "write_dr*",
		"cr_access",   "dr_access",  "cr0_sel_write",  "monitor*",
		"invlpg*",     "invpcid",    "rdrand",	       "rdseed",
		"apic_access", "apic_write", "ept_misconfig",  "rdpru",
		"wbnoinvd",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(halts); i++)
		if (strcasecmp(name, halts[i]) == 0)
			return HV_EXIT_HALT;
	for (size_t i = 0; i < HV_ARRAY_LEN(provoked); i++) {
		size_t len = strcspn(provoked[i], "*");

		if (provoked[i][len] ? strncasecmp(name, provoked[i], len) == 0
				     : strcasecmp(name, provoked[i]) == 0)
			return HV_EXIT_PROVOKED;
	}
	return HV_EXIT_OTHER;
}

void hv_exits_name(struct hv_exits *x, uint64_t key, const char *name)
{
	struct hv_exit_reason *r = &x->reasons[x->nr_reasons];

	if (x->nr_reasons == OTHERS) {
		key = UINT64_MAX;
		name = "others";
	}
	x->nr_reasons++;
	*r = (struct hv_exit_reason){.key = key, .sort = sort_of(name)};
	memcpy(r->name, name, strnlen(name, sizeof(r->name) - 1));
}

/* -- storms ------------------------------------------------------------------------------------ */

/* Boyer-Moore majority vote: *TASK becomes the task with more than half of the time, if there is
 * one. *TASK_NS is its lead. */
static void vote(struct hv_stall_task *task, uint64_t *task_ns, const struct hv_stall_task *other,
		 uint64_t ns)
{
	if (task->pid == other->pid && *task_ns) {
		*task_ns += ns;
	} else if (*task_ns > ns) {
		*task_ns -= ns;
	} else {
		*task = *other;
		*task_ns = ns - *task_ns;
	}
}

static void end_storm(struct hv_exits *x, struct hv_exit_cpu *c)
{
	struct hv_stall *s = &c->storm;

	if (s->length_ns && s->length_ns >= x->threshold_ns)
		hv_stalls_add(x->stalls, s);
	*s = (struct hv_stall){0};
	c->storm_kernel_ns = c->storm_task_ns = 0;
}

/* Returns the reason with the most time, and the totals of all reasons. */
static unsigned main_reason(const struct hv_exits *x, const struct hv_exit_cpu *c,
			    uint64_t *ret_all_ns, uint64_t *ret_all)
{
	unsigned most = 0;

	*ret_all_ns = *ret_all = 0;
	for (unsigned i = 0; i < x->nr_reasons; i++) {
		*ret_all_ns += c->shares[i].ns;
		*ret_all += c->shares[i].nr;
		if (c->shares[i].ns > c->shares[most].ns)
			most = i;
	}
	return most;
}

static void add_window(struct hv_exits *x, struct hv_exit_cpu *c, unsigned reason)
{
	const struct hv_exit_reason *r = &x->reasons[reason];
	const struct hv_exit_share *share = &c->shares[reason];
	struct hv_stall *s = &c->storm;

	if (s->length_ns && s->number != r->key)
		end_storm(x, c);
	if (!s->length_ns) {
		*s = (struct hv_stall){
			.kind = HV_STALL_EXITS,
			.cpu = (unsigned)(c - x->cpus),
			.from_ns = c->from_ns,
			.by_prio = -1,
			.number = r->key,
			.flags = r->sort == HV_EXIT_PROVOKED ? HV_EXITS_PROVOKED : 0,
		};
		memcpy(s->name, r->name, sizeof(r->name));
	}
	s->to_ns = c->newest_ns;
	s->length_ns += share->ns;
	s->nr += share->nr;
	if (share->longest_ns > s->longest_ns)
		s->longest_ns = share->longest_ns;
	c->storm_kernel_ns += share->kernel_ns;
	s->flags &= ~(uint64_t)HV_EXITS_IN_KERNEL;
	if (2 * c->storm_kernel_ns >= s->length_ns)
		s->flags |= HV_EXITS_IN_KERNEL;
	vote(&s->task, &c->storm_task_ns, &c->task, c->task_ns);
}

/* Evaluates the current window and starts the next one. */
static void end_window(struct hv_exits *x, struct hv_exit_cpu *c)
{
	uint64_t passed = c->newest_ns - c->from_ns;
	uint64_t seen = passed > c->unseen_ns ? passed - c->unseen_ns : 0;
	uint64_t ns, nr;
	unsigned reason = main_reason(x, c, &ns, &nr);
	uint64_t part = c->storm.length_ns ? GOES_ON : PART_OF;

	if (nr >= MANY && ns && part * ns >= seen)
		add_window(x, c, reason);
	else
		end_storm(x, c);
	memset(c->shares, 0, HV_EXIT_REASONS_MAX * sizeof(*c->shares));
	c->task = (struct hv_stall_task){0};
	c->task_ns = c->unseen_ns = 0;
	c->from_ns = c->newest_ns;
}

static void exits_pass(struct hv_exits *x, unsigned cpu, uint64_t now_ns)
{
	struct hv_exit_cpu *c;

	if (cpu >= x->nr_cpus)
		return;
	c = &x->cpus[cpu];
	if (!c->shares)
		c->shares = hv_alloc(HV_EXIT_REASONS_MAX * sizeof(*c->shares));
	if (!c->newest_ns)
		c->from_ns = now_ns;
	if (now_ns > c->newest_ns)
		c->newest_ns = now_ns;
	if (c->newest_ns - c->from_ns >= WINDOW_NS)
		end_window(x, c);
}

void hv_exits_add(struct hv_exits *x, unsigned cpu, const struct hv_exit *exit)
{
	unsigned i = find(x, exit->key);
	struct hv_exit_share *share;
	struct hv_exit_reason *r;

	if (i == HV_EXIT_REASONS_MAX)
		i = OTHERS;
	if (cpu >= x->nr_cpus || i >= x->nr_reasons)
		return;
	r = &x->reasons[i];
	r->nr++;
	r->total_ns += exit->length_ns;
	if (exit->length_ns > r->longest_ns)
		r->longest_ns = exit->length_ns;
	x->cpus[cpu].nr++;
	exits_pass(x, cpu, exit->entry_ns);
	if (r->sort == HV_EXIT_HALT)
		return;
	share = &x->cpus[cpu].shares[i];
	share->nr++;
	share->ns += exit->length_ns;
	if (exit->length_ns > share->longest_ns)
		share->longest_ns = exit->length_ns;
	if (exit->is_in_kernel)
		share->kernel_ns += exit->length_ns;
	vote(&x->cpus[cpu].task, &x->cpus[cpu].task_ns, &exit->task, exit->length_ns);
}

/* Excludes the time from the last event of CPU to NOW_NS, in which events were lost. */
static void exits_lose(struct hv_exits *x, unsigned cpu, uint64_t now_ns)
{
	struct hv_exit_cpu *c;

	if (cpu >= x->nr_cpus)
		return;
	c = &x->cpus[cpu];
	if (c->newest_ns && now_ns > c->newest_ns)
		c->unseen_ns += now_ns - c->newest_ns;
	exits_pass(x, cpu, now_ns);
}

const struct hv_stall *hv_exits_storm(const struct hv_exits *x, unsigned cpu)
{
	const struct hv_stall *s = cpu < x->nr_cpus ? &x->cpus[cpu].storm : NULL;

	return s && s->length_ns && s->length_ns >= x->threshold_ns ? s : NULL;
}

uint64_t hv_exits_since(struct hv_exits *x)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < x->nr_cpus; i++) {
		if (x->cpus[i].nr > most)
			most = x->cpus[i].nr;
		x->cpus[i].nr = 0;
	}
	return most;
}

static void exits_end(struct hv_exits *x)
{
	for (unsigned i = 0; i < x->nr_cpus; i++) {
		struct hv_exit_cpu *c = &x->cpus[i];

		if (!c->shares)
			continue;
		if (c->newest_ns - c->from_ns >= WINDOW_NS / 2)
			end_window(x, c);
		end_storm(x, c);
	}
}

/* -- threads ----------------------------------------------------------------------------------- */

#define SHORT_NS  HV_NS_PER_MS	      /* shorter outages are combined */
#define PIECES_NS (10 * HV_NS_PER_MS) /* into spans of at most this length */

void hv_vcpu_threads_init(struct hv_vcpu_threads *t, unsigned nr_cpus, struct hv_outages *outages,
			  struct hv_stalls *stalls)
{
	*t = (struct hv_vcpu_threads){
		.nr = nr_cpus < HV_EXIT_CPUS_MAX ? nr_cpus : HV_EXIT_CPUS_MAX,
		.outages = outages,
	};
	t->list = hv_alloc((t->nr + 1) * sizeof(*t->list));
	hv_exits_init(&t->exits, t->nr, stalls);
}

void hv_vcpu_threads_deinit(struct hv_vcpu_threads *t)
{
	hv_exits_deinit(&t->exits);
	free(t->list);
}

/* -- outages ----------------------------------------------------------------------------------- */

static void give_pieces(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v)
{
	hv_outages_add(t->outages, (unsigned)(v - t->list), &v->pieces);
	v->pieces = (struct hv_outage){0};
}

/* The threads of the longest outage stand for all of them. */
static void add_piece(struct hv_outage *pieces, const struct hv_outage *o)
{
	if (!pieces->taken_ns)
		*pieces = (struct hv_outage){.from_ns = o->from_ns, .why = o->why};
	if (o->taken_ns > pieces->longest_ns) {
		pieces->longest_ns = o->taken_ns;
		pieces->by = o->by;
		pieces->by_last = o->by_last;
	}
	pieces->taken_ns += o->taken_ns;
	pieces->to_ns = o->to_ns;
}

static void add_outage(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v, struct hv_outage *o)
{
	o->taken_ns = o->longest_ns = o->to_ns - o->from_ns;
	v->exit_waited_ns += o->taken_ns;
	hv_takers_add(&t->takers, &o->by_last, o->taken_ns - o->taken_ns / 2);
	hv_takers_add(&t->takers, &o->by, o->taken_ns / 2);
	o->from_ns += (uint64_t)t->outages->offset_ns;
	o->to_ns += (uint64_t)t->outages->offset_ns;
	if (v->pieces.taken_ns &&
	    (o->taken_ns >= SHORT_NS || o->to_ns > v->pieces.from_ns + PIECES_NS))
		give_pieces(t, v);
	if (o->taken_ns >= SHORT_NS || o->why != HV_OUTAGE_WAITED)
		hv_outages_add(t->outages, (unsigned)(v - t->list), o);
	else if (o->taken_ns)
		add_piece(&v->pieces, o);
}

static void end_state(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v, uint64_t now_ns,
		      const struct hv_stall_task *last)
{
	struct hv_outage o = {.from_ns = v->since_ns, .to_ns = now_ns};

	if (now_ns <= v->since_ns)
		return;
	if (v->state == HV_VCPU_STOPPED) {
		o.why = HV_OUTAGE_STOPPED;
		add_outage(t, v, &o);
		return;
	}
	if (v->state != HV_VCPU_WAITS)
		return;
	o.why = HV_OUTAGE_WAITED;
	o.by = v->was_woken ? *last : v->by;
	o.by_last = last->comm[0] ? *last : v->by;
	add_outage(t, v, &o);
	if (!v->was_woken)
		return;
	t->wakeups.nr++;
	t->wakeups.total_ns += o.taken_ns;
	if (o.taken_ns > t->wakeups.longest_ns)
		t->wakeups.longest_ns = o.taken_ns;
}

static void set_state(struct hv_vcpu_thread *v, enum hv_vcpu_state state, uint64_t now_ns)
{
	v->state = state;
	v->since_ns = now_ns;
	v->was_woken = false;
	v->by = (struct hv_stall_task){0};
}

/* -- events ------------------------------------------------------------------------------------ */

static void see_exit(struct hv_vcpu_thread *v, const struct hv_moment *m)
{
	v->tid = m->pid;
	v->state = HV_VCPU_ON_CPU;
	v->exit_ns = m->time_ns;
	v->exit_key = hv_exit_key(m->state, m->number);
	v->exit_address = m->address;
	v->exit_waited_ns = 0;
}

static void see_entry(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v,
		      const struct hv_moment *m)
{
	uint64_t length_ns = m->time_ns - v->exit_ns;
	struct hv_exit exit = {
		.key = v->exit_key,
		.entry_ns = m->time_ns,
		.length_ns = length_ns > v->exit_waited_ns ? length_ns - v->exit_waited_ns : 0,
		.is_in_kernel = v->exit_address >> 63,
		.task = v->task,
	};

	v->tid = m->pid;
	v->state = HV_VCPU_ON_CPU;
	if (v->exit_ns && m->time_ns >= v->exit_ns)
		hv_exits_add(&t->exits, m->cpu, &exit);
	v->exit_ns = 0;
}

static void leave(struct hv_vcpu_thread *v, const struct hv_moment *m)
{
	if (m->state == HV_LEFT_RUNNABLE || m->state >= HV_LEFT_PREEMPTED) {
		set_state(v, HV_VCPU_WAITS, m->time_ns);
		v->by = hv_stall_task(m->other, m->other_comm);
	} else if (m->state & (HV_LEFT_STOPPED | HV_LEFT_TRACED)) {
		set_state(v, HV_VCPU_STOPPED, m->time_ns);
	} else {
		set_state(v, HV_VCPU_SLEEPS, m->time_ns);
	}
}

/* A switch between two vCPU threads is reported once for each. */
static void see_switch(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v,
		       const struct hv_moment *m)
{
	struct hv_stall_task last = hv_stall_task(m->pid, m->comm);

	if (m->pid == v->tid) {
		leave(v, m);
	} else if (m->other == v->tid) {
		end_state(t, v, m->time_ns, &last);
		set_state(v, HV_VCPU_ON_CPU, m->time_ns);
	}
}

static void see_waking(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v,
		       const struct hv_moment *m)
{
	static const struct hv_stall_task nobody;

	if (m->other != v->tid || (v->state != HV_VCPU_SLEEPS && v->state != HV_VCPU_STOPPED))
		return;
	end_state(t, v, m->time_ns, &nobody);
	set_state(v, HV_VCPU_WAITS, m->time_ns);
	v->was_woken = true;
}

void hv_vcpu_threads_see(struct hv_vcpu_threads *t, const struct hv_moment *m)
{
	struct hv_vcpu_thread *v = m->cpu < t->nr ? &t->list[m->cpu] : NULL;

	if (!v)
		return;
	t->sees_any = true;
	if (m->kind == HV_MOMENT_HOST_EXIT)
		see_exit(v, m);
	else if (m->kind == HV_MOMENT_HOST_ENTRY)
		see_entry(t, v, m);
	else if (m->kind == HV_MOMENT_HOST_SWITCH && v->tid)
		see_switch(t, v, m);
	else if (m->kind == HV_MOMENT_HOST_WAKING && v->tid)
		see_waking(t, v, m);
	if (!v->known_ns && v->state != HV_VCPU_UNKNOWN)
		v->known_ns = m->time_ns;
	exits_pass(&t->exits, m->cpu, m->time_ns);
}

bool hv_vcpu_threads_know(const struct hv_vcpu_threads *t, unsigned cpu, uint64_t from_ns)
{
	return cpu < t->nr && t->list[cpu].known_ns && t->list[cpu].known_ns <= from_ns;
}

void hv_vcpu_threads_see_guest(struct hv_vcpu_threads *t, const struct hv_moment *m)
{
	if (m->cpu >= t->nr)
		return;
	if (m->kind == HV_MOMENT_SWITCH)
		t->list[m->cpu].task = hv_stall_task(m->other, m->other_comm);
	else if (t->list[m->cpu].task.pid != m->pid || !t->list[m->cpu].task.comm[0])
		t->list[m->cpu].task = hv_stall_task(m->pid, m->comm);
}

void hv_vcpu_threads_lose(struct hv_vcpu_threads *t, unsigned cpu, uint64_t now_ns)
{
	if (cpu >= t->nr)
		return;
	set_state(&t->list[cpu], HV_VCPU_UNKNOWN, now_ns);
	t->list[cpu].exit_ns = t->list[cpu].known_ns = 0;
	exits_lose(&t->exits, cpu, now_ns);
}

void hv_vcpu_threads_end(struct hv_vcpu_threads *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < t->nr; i++) {
		struct hv_vcpu_thread *v = &t->list[i];

		end_state(t, v, now_ns, &v->by);
		set_state(v, HV_VCPU_UNKNOWN, now_ns);
		give_pieces(t, v);
	}
	exits_end(&t->exits);
}
