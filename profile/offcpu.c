/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/offcpu.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/prefix.h"
#include "latency/stall.h"

#define BLOCKED "[blocked]"
#define WAITING "[waiting for a vCPU]"
#define RUNNING "[running]"
#define EARLIER "[since before the profile]"
#define UNWOKEN "[not woken]"
#define IRQ	"[interrupt]"
#define OTHERS	0u /* the group for tasks whose group has no room */

struct hv_offcpu *hv_offcpu_of(struct hv_export *x)
{
	return (struct hv_offcpu *)x;
}

/* -- intervals ---------------------------------------------------------------------------------- */

static void count(struct hv_offcpu *o, const struct hv_offcpu_interval *i)
{
	uint64_t ns = i->to_ns - i->from_ns;

	o->groups[i->group].ns[i->kind] += ns;
	if (i->node != HV_CHAINS_ROOT && i->kind != HV_OFFCPU_UNCOUNTED)
		o->profile.chains.nodes[i->node].self += ns;
}

static struct hv_offcpu_interval *interval(struct hv_offcpu *o, uint64_t number)
{
	return &o->recent[number % HV_OFFCPU_RECENT_MAX];
}

/* Returns the number of the interval. */
static uint64_t keep(struct hv_offcpu *o, const struct hv_offcpu_interval *i)
{
	if (o->next - o->first == HV_OFFCPU_RECENT_MAX)
		count(o, interval(o, o->first++));
	*interval(o, o->next) = *i;
	return o->next++;
}

/* Events of CPU were lost before AT_NS and after its last event. */
static void lose(struct hv_offcpu *o, unsigned cpu, uint64_t at_ns)
{
	struct hv_offcpu_cpu *c = &o->cpus[cpu];

	for (uint64_t i = o->next; i > o->first && interval(o, i - 1)->to_ns > c->last_ns; i--)
		interval(o, i - 1)->kind = HV_OFFCPU_UNCOUNTED;
	c->found_ns = o->found_ns = at_ns;
	c->nr_due = 0;
	c->program.is_there = o->profile.pending[cpu].is_there = false;
}

/* -- groups and tasks --------------------------------------------------------------------------- */

static uint32_t add_times(struct hv_offcpu *o, uint32_t node)
{
	o->groups = hv_grow(o->groups, o->nr_groups, &o->groups_cap, 64, sizeof(*o->groups));
	o->groups[o->nr_groups] = (struct hv_offcpu_times){.node = node};
	return (uint32_t)o->nr_groups++;
}

static uint32_t group_of(struct hv_offcpu *o, const struct hv_offcpu_task *t)
{
	struct hv_profile_pending s = {.pid = t->pid};
	uint32_t node = HV_CHAINS_ROOT;
	uintptr_t found;

	memcpy(s.comm, t->comm, sizeof(s.comm));
	if (!hv_profile_add_groups(&o->profile, &s, t->cpu, &node))
		return OTHERS;
	found = (uintptr_t)hv_map_find(&o->by_node, node);
	if (found || o->nr_groups == HV_OFFCPU_GROUPS_MAX)
		return (uint32_t)found;
	found = add_times(o, node);
	hv_map_add(&o->by_node, node, (void *)found);
	return (uint32_t)found;
}

static struct hv_offcpu_task *find_task(const struct hv_offcpu *o, uint32_t pid)
{
	uintptr_t found = (uintptr_t)hv_map_find(&o->by_pid, pid);

	return found ? &o->tasks[found - 1] : NULL;
}

static void drop_ended(struct hv_offcpu *o)
{
	size_t nr = 0;

	hv_map_deinit(&o->by_pid);
	for (size_t i = 0; i < o->nr_tasks; i++) {
		if (o->tasks[i].has_ended)
			continue;
		o->tasks[nr++] = o->tasks[i];
		hv_map_add(&o->by_pid, o->tasks[nr - 1].pid, (void *)nr);
	}
	o->nr_tasks = nr;
	o->nr_ended = 0;
}

/* Counts the time of running that no sample of T has. */
static void count_unsampled(struct hv_offcpu *o, struct hv_offcpu_task *t)
{
	uint32_t node = o->groups[t->group].node;

	if (t->unsampled_ns && hv_profile_add_group(&o->profile, RUNNING, &node))
		o->profile.chains.nodes[node].self += t->unsampled_ns;
	t->unsampled_ns = 0;
}

static void find_group(struct hv_offcpu *o, struct hv_offcpu_task *t)
{
	uint32_t group = group_of(o, t);

	if (group != t->group)
		count_unsampled(o, t);
	t->group = group;
}

static void begin(struct hv_offcpu *o, struct hv_offcpu_task *t, enum hv_offcpu_kind kind,
		  uint64_t at_ns)
{
	t->kind = kind;
	t->since_ns = at_ns;
	if (o->profile.per == HV_PROFILE_PER_CPU || o->profile.per == HV_PROFILE_PER_CONTAINER)
		find_group(o, t);
}

static void set_name(struct hv_offcpu *o, struct hv_offcpu_task *t, const char *comm)
{
	if (*comm && strncmp(t->comm, comm, sizeof(t->comm)) != 0) {
		memcpy(t->comm, comm, sizeof(t->comm));
		find_group(o, t);
	}
}

/* Adds a task, which is in KIND since SINCE_NS. If there is a task PID, it has ended, and the new
 * task replaces it. Returns NULL if there is no room. */
static struct hv_offcpu_task *add_task(struct hv_offcpu *o, uint32_t pid, unsigned cpu,
				       const char *comm, enum hv_offcpu_kind kind,
				       uint64_t since_ns)
{
	struct hv_offcpu_task *t = find_task(o, pid);

	if (!t && o->nr_tasks == HV_OFFCPU_TASKS_MAX && o->nr_ended > HV_OFFCPU_TASKS_MAX / 8)
		drop_ended(o);
	if (!t && o->nr_tasks == HV_OFFCPU_TASKS_MAX) {
		o->nr_no_room++;
		return NULL;
	}
	if (t) {
		o->nr_ended--;
	} else {
		o->tasks = hv_grow(o->tasks, o->nr_tasks, &o->tasks_cap, 256, sizeof(*o->tasks));
		t = &o->tasks[o->nr_tasks++];
		hv_map_add(&o->by_pid, pid, (void *)o->nr_tasks);
	}
	*t = (struct hv_offcpu_task){.pid = pid, .cpu = cpu};
	memcpy(t->comm, comm, sizeof(t->comm));
	t->group = group_of(o, t);
	begin(o, t, kind, since_ns);
	return t;
}

/* Returns the time since which a task exists whose first event is at AT_NS: it existed before the
 * input, unless it reuses the pid of T (NULL: none). A task without room before may be this one, so
 * then the time before AT_NS is not counted. */
static uint64_t exists_since(const struct hv_offcpu *o, const struct hv_offcpu_task *t,
			     uint64_t at_ns)
{
	return t || o->nr_no_room ? at_ns : o->begin_ns;
}

/* Ends the interval of T. IS_SEEN is false if T may have left its kind unseen: then the interval is
 * not counted as that kind. Returns the interval's number, or 0 if T was running. */
static uint64_t end(struct hv_offcpu *o, struct hv_offcpu_task *t, uint64_t at_ns, bool is_seen)
{
	bool is_running = t->kind == HV_OFFCPU_RUNNING;
	struct hv_offcpu_interval i = {
		.kind = t->kind,
		.group = t->group,
		.node = t->kind == HV_OFFCPU_BLOCKED ? t->node : HV_CHAINS_ROOT,
		.from_ns = t->since_ns,
		.to_ns = at_ns > t->since_ns ? at_ns : t->since_ns,
	};

	if (!is_seen || t->since_ns < (is_running ? o->cpus[t->cpu].found_ns : o->found_ns))
		i.kind = HV_OFFCPU_UNCOUNTED;
	if (t->kind == HV_OFFCPU_WAITING) {
		i.node = o->groups[t->group].node;
		hv_profile_add_group(&o->profile, WAITING, &i.node);
	}
	/* A loss on another vCPU does not affect a running task. */
	if (is_running) {
		count(o, &i);
		if (o->has_running && i.kind == HV_OFFCPU_RUNNING)
			t->unsampled_ns += i.to_ns - i.from_ns;
		return 0;
	}
	return keep(o, &i);
}

/* The weight of a sample. The interval ends at it, and the next one begins. */
static uint64_t weigh(struct hv_profile *p, uint32_t pid, uint64_t time_ns)
{
	struct hv_offcpu *o = (struct hv_offcpu *)p;
	struct hv_offcpu_task *t = find_task(o, pid);
	uint64_t ns;

	if (!t || t->has_ended || t->kind != HV_OFFCPU_RUNNING)
		return 0;
	if (time_ns > t->since_ns) {
		end(o, t, time_ns, true);
		t->since_ns = time_ns;
	}
	ns = t->unsampled_ns;
	t->unsampled_ns = 0;
	return ns;
}

/* -- chains ------------------------------------------------------------------------------------- */

/* Returns the chain of T, which is blocked, without functions of the kernel. */
static uint32_t blocked_chain(struct hv_offcpu *o, const struct hv_offcpu_task *t,
			      const struct hv_profile_pending *program)
{
	uint32_t node = o->groups[t->group].node;

	if (hv_profile_add_group(&o->profile, BLOCKED, &node) && o->has_stacks && program)
		hv_profile_add_users(&o->profile, program, &node);
	return node;
}

static uint32_t child(struct hv_offcpu *o, uint32_t node, const char *name)
{
	hv_profile_add_group(&o->profile, name, &node);
	return node;
}

/* Returns the child of NODE for the waker of E. */
static uint32_t waker(struct hv_offcpu *o, const struct hv_event *e, bool is_irq, uint32_t node)
{
	HV_AUTO_FREE char *name = hv_format("[woken by %s]", e->comm);

	return child(o, node, is_irq || !e->pid ? IRQ : name);
}

static void add_due(struct hv_offcpu_cpu *c, const struct hv_offcpu_due *due)
{
	if (c->nr_due == HV_OFFCPU_STACKS_MAX)
		memmove(c->due, c->due + 1, --c->nr_due * sizeof(*c->due));
	c->due[c->nr_due++] = *due;
}

/* The innermost functions of each stack are the scheduler's. */
static bool is_scheduler(const struct hv_offcpu *o, uint64_t at)
{
	static const char *const names[] = {
		"__traceiter_",
		"__schedule",
		"schedule",
		"io_schedule",
		"try_to_wake_up",
		"wake_up_",
		"default_wake_function",
		"__wake_up",
		"autoremove_wake_function",
		"swake_up",
	};
	const struct hv_symbol *symbol = hv_page_decode_symbol(&o->profile.decode, hv_gva(at));

	for (size_t i = 0; symbol && i < HV_ARRAY_LEN(names); i++)
		if (hv_starts_with(symbol->name, names[i]))
			return true;
	return false;
}

/* Continues NODE by the callers of E before NR, the outermost first. */
static uint32_t add_callers(struct hv_offcpu *o, const struct hv_event *e, size_t nr, uint32_t node)
{
	size_t begin = 0;
	bool fits = true;

	while (begin < nr && is_scheduler(o, e->callers[begin].v - 1))
		begin++;
	for (size_t i = nr; fits && i-- > begin;)
		fits = hv_profile_add_kernel(&o->profile, e->callers[i].v - 1, &node);
	return node;
}

/* The stack of a waking in an interrupt ends where the interrupt begins: the interrupted task has
 * nothing to do with it. */
static void take_waker(struct hv_offcpu *o, const struct hv_event *e,
		       const struct hv_offcpu_due *due)
{
	size_t nr = hv_profile_interrupt_frames(&o->profile, e);
	uint32_t node = waker(o, e, nr || e->flags & HV_TRACE_HARDIRQ, due->node);

	if (due->interval >= o->first && interval(o, due->interval)->node == due->leaf)
		interval(o, due->interval)->node = add_callers(o, e, nr ? nr : e->nr_callers, node);
}

/* A stack belongs to the last event that waits for one, because a sample can interrupt others. */
static void take_stack(struct hv_offcpu *o, const struct hv_event *e)
{
	const struct hv_profile_pending *sample = &o->profile.pending[e->cpu];
	struct hv_offcpu_cpu *c = &o->cpus[e->cpu];
	const struct hv_offcpu_due *due;
	struct hv_offcpu_task *t;

	if (sample->is_there && (!c->nr_due || c->due[c->nr_due - 1].time_ns <= sample->time_ns)) {
		hv_profile_see(&o->profile, e);
		return;
	}
	if (!c->nr_due || c->due[c->nr_due - 1].pid != e->pid)
		return;
	due = &c->due[--c->nr_due];
	if (due->is_waking) {
		take_waker(o, e, due);
		return;
	}
	t = find_task(o, e->pid);
	if (t && t->kind == HV_OFFCPU_BLOCKED && t->node == due->leaf)
		t->node = add_callers(o, e, e->nr_callers, due->node);
}

/* -- events ------------------------------------------------------------------------------------- */

static uint64_t number(const struct hv_event_field *field, const struct hv_event *e)
{
	struct hv_entry_value v;

	return hv_entry_value(field, e->entry, &v) ? v.number : 0;
}

static void text(const struct hv_event_field *field, const struct hv_event *e, char ret[static 16])
{
	struct hv_entry_value v;

	memset(ret, 0, 16);
	if (hv_entry_value(field, e->entry, &v) && v.kind == HV_ENTRY_STRING)
		memcpy(ret, v.bytes.data, v.bytes.len_bytes < 16 ? v.bytes.len_bytes : 15);
}

static void switch_out(struct hv_offcpu *o, const struct hv_event *e, uint64_t at_ns)
{
	struct hv_offcpu_cpu *c = &o->cpus[e->cpu];
	uint32_t pid = (uint32_t)number(o->switches.pid, e);
	uint64_t state = number(o->switches.state, e);
	struct hv_offcpu_task *t = find_task(o, pid);
	bool is_seen = true;
	char comm[16];

	text(o->switches.comm, e, comm);
	if (!pid)
		return;
	/* Before the first switch of a vCPU, its task is not known. */
	if (!t || t->has_ended) {
		t = add_task(o, pid, e->cpu, comm, HV_OFFCPU_RUNNING, exists_since(o, t, at_ns));
		is_seen = !c->has_switched;
	}
	if (!t)
		return;
	end(o, t, at_ns, is_seen && t->kind == HV_OFFCPU_RUNNING && t->cpu == e->cpu);
	set_name(o, t, comm);
	t->cpu = e->cpu;
	if (state & HV_LEFT_ENDED && state < HV_LEFT_PREEMPTED) {
		count_unsampled(o, t);
		t->has_ended = true;
		o->nr_ended++;
	} else if (state == HV_LEFT_RUNNABLE || state >= HV_LEFT_PREEMPTED) {
		begin(o, t, HV_OFFCPU_WAITING, at_ns);
	} else {
		bool is_there = c->program.is_there && c->program.pid == pid;

		begin(o, t, HV_OFFCPU_BLOCKED, at_ns);
		t->node = blocked_chain(o, t, is_there ? &c->program : NULL);
		if (o->has_stacks)
			add_due(c, &(struct hv_offcpu_due){.pid = pid,
							   .node = t->node,
							   .leaf = t->node,
							   .time_ns = at_ns});
	}
}

static void switch_in(struct hv_offcpu *o, const struct hv_event *e, uint64_t at_ns)
{
	uint32_t pid = (uint32_t)number(o->switches.next_pid, e);
	struct hv_offcpu_task *t = find_task(o, pid);
	char comm[16];

	text(o->switches.next_comm, e, comm);
	if (!pid)
		return;
	if (!t || t->has_ended)
		t = add_task(o, pid, e->cpu, comm, HV_OFFCPU_WAITING, exists_since(o, t, at_ns));
	if (!t)
		return;
	/* It was woken before it had left its vCPU. */
	if (t->kind == HV_OFFCPU_BLOCKED && t->is_woken_before)
		t->kind = HV_OFFCPU_WAITING;
	if (t->kind == HV_OFFCPU_BLOCKED && o->has_wakers)
		t->node = child(o, t->node, UNWOKEN);
	end(o, t, at_ns, t->kind != HV_OFFCPU_RUNNING);
	set_name(o, t, comm);
	t->is_woken_before = false;
	t->cpu = e->cpu;
	begin(o, t, HV_OFFCPU_RUNNING, at_ns);
}

static void take_switch(struct hv_offcpu *o, const struct hv_event *e, uint64_t at_ns)
{
	struct hv_offcpu_cpu *c = &o->cpus[e->cpu];

	c->nr_due = 0;
	switch_out(o, e, at_ns);
	switch_in(o, e, at_ns);
	c->program.is_there = false;
	c->has_switched = true;
}

static void take_waking(struct hv_offcpu *o, const struct hv_event *e, uint64_t at_ns)
{
	uint32_t pid = (uint32_t)number(o->wakings.pid, e), node;
	struct hv_offcpu_task *t = find_task(o, pid);
	struct hv_offcpu_due due = {.pid = e->pid, .is_waking = true, .time_ns = at_ns};
	char comm[16];

	text(o->wakings.comm, e, comm);
	if (!pid)
		return;
	if (!t || t->has_ended) {
		t = add_task(o, pid, e->cpu, comm, HV_OFFCPU_BLOCKED, exists_since(o, t, at_ns));
		if (t)
			t->node = child(o, blocked_chain(o, t, NULL), EARLIER);
	}
	if (!t || t->kind == HV_OFFCPU_WAITING)
		return;
	if (t->kind == HV_OFFCPU_RUNNING) {
		t->is_woken_before = true;
		return;
	}
	node = t->node;
	if (o->has_wakers)
		t->node = waker(o, e, e->flags & (HV_TRACE_HARDIRQ | HV_TRACE_SOFTIRQ), node);
	due.node = node;
	due.leaf = t->node;
	due.interval = end(o, t, at_ns, true);
	begin(o, t, HV_OFFCPU_WAITING, at_ns);
	if (o->has_wakers)
		add_due(&o->cpus[e->cpu], &due);
}

/* A new task, which may have the pid of one whose end was lost. */
static void take_new_task(struct hv_offcpu *o, const struct hv_event *e, uint64_t at_ns)
{
	uint32_t pid = (uint32_t)number(o->new_tasks.pid, e);
	struct hv_offcpu_task *t = find_task(o, pid);
	char comm[16];

	text(o->new_tasks.comm, e, comm);
	if (!pid)
		return;
	if (t && !t->has_ended) {
		end(o, t, at_ns, false);
		count_unsampled(o, t);
		t->has_ended = true;
		o->nr_ended++;
	}
	add_task(o, pid, e->cpu, comm, HV_OFFCPU_WAITING, at_ns);
}

static void take_program(struct hv_offcpu *o, const struct hv_event *e)
{
	struct hv_profile_pending *s = &o->cpus[e->cpu].program;

	s->is_there = true;
	s->pid = e->pid;
	s->nr_user = 0;
	memcpy(s->comm, e->comm, sizeof(s->comm));
	hv_profile_take_ustack(o->ustack, e, s);
}

static bool is(const struct hv_event_type *type, const struct hv_event *e)
{
	return type && type->id == e->id;
}

static void take(struct hv_offcpu *o, const struct hv_event *e)
{
	if (o->has_running && e->kind != HV_EVENT_STACK)
		hv_profile_see(&o->profile, e);
	if (e->kind == HV_EVENT_STACK)
		take_stack(o, e);
	else if (e->kind != HV_EVENT_GUESTS)
		return;
	else if (is(o->switches.type, e))
		take_switch(o, e, o->now_ns);
	else if (is(o->wakings.type, e))
		take_waking(o, e, o->now_ns);
	else if (is(o->new_tasks.type, e))
		take_new_task(o, e, o->now_ns);
	else if (is(o->program, e))
		take_program(o, e);
}

/* The name in a switch event is newer than the session's. */
static void name_task(const struct hv_offcpu *o, struct hv_event *e)
{
	const struct hv_offcpu_task *t = find_task(o, e->pid);

	if (t && *t->comm)
		memcpy(e->comm, t->comm, sizeof(e->comm));
}

static void take_events(struct hv_offcpu *o)
{
	struct hv_profile *p = &o->profile;
	struct hv_merged m;
	struct hv_event e;

	while (hv_page_merge_next(&p->merge, &m)) {
		uint64_t at_ns = m.event.time_ns > o->now_ns ? m.event.time_ns : o->now_ns;

		o->begin_ns = o->begin_ns ? o->begin_ns : at_ns;
		o->now_ns = at_ns;
		p->nr_lost += m.has_lost ? m.lost : 0;
		if (m.has_lost)
			lose(o, m.cpu, at_ns);
		o->cpus[m.cpu].last_ns = at_ns;
		if (!hv_page_decode_event(&p->decode, &m, &e) || e.cpu >= p->nr_cpus)
			continue;
		name_task(o, &e);
		take(o, &e);
	}
}

/* -- the format --------------------------------------------------------------------------------- */

static void find_type(const struct hv_offcpu *o, struct hv_offcpu_type *t, const char *name,
		      bool is_switch)
{
	const struct hv_catalogue *c = &o->profile.decode.catalogue;
	const struct hv_event_type *type = hv_catalogue_find(c, "sched", name);

	if (!type)
		return;
	t->pid = hv_event_type_field(c, type, is_switch ? "prev_pid" : "pid");
	t->comm = hv_event_type_field(c, type, is_switch ? "prev_comm" : "comm");
	t->next_pid = hv_event_type_field(c, type, "next_pid");
	t->next_comm = hv_event_type_field(c, type, "next_comm");
	t->state = hv_event_type_field(c, type, "prev_state");
	if (t->pid && t->comm && (!is_switch || (t->next_pid && t->next_comm && t->state)))
		t->type = type;
}

static struct hv_err *offcpu_open(const struct hv_export_config *config hv_unused,
				  const struct hv_export_head *head, struct hv_export **ret)
{
	struct hv_offcpu *o = hv_alloc(sizeof(*o));
	const struct hv_catalogue *c = &o->profile.decode.catalogue;

	hv_profile_init(&o->profile, head);
	o->profile.chains.unit = HV_CHAIN_NS;
	o->profile.weigh = weigh;
	o->profile.group = RUNNING;
	find_type(o, &o->switches, "sched_switch", true);
	find_type(o, &o->wakings, "sched_waking", false);
	find_type(o, &o->new_tasks, "sched_wakeup_new", false);
	o->program = hv_catalogue_find(c, HV_PROFILE_SYSTEM, HV_OFFCPU_EVENT);
	if (o->program)
		o->ustack = hv_event_type_field(c, o->program, HV_PROFILE_USTACK);
	o->cpus = hv_alloc((head->nr_cpus + 1) * sizeof(*o->cpus));
	o->recent = hv_alloc(HV_OFFCPU_RECENT_MAX * sizeof(*o->recent));
	add_times(o, HV_CHAINS_ROOT);
	*ret = &o->profile.base;
	return NULL;
}

static struct hv_err *offcpu_turn(struct hv_export *x)
{
	take_events(hv_offcpu_of(x));
	hv_page_merge_turn(&hv_offcpu_of(x)->profile.merge);
	return NULL;
}

static struct hv_err *offcpu_end(struct hv_export *x)
{
	struct hv_offcpu *o = hv_offcpu_of(x);

	hv_page_merge_end(&o->profile.merge);
	take_events(o);
	hv_profile_count_pending(&o->profile);
	for (size_t i = 0; i < o->nr_tasks; i++) {
		struct hv_offcpu_task *t = &o->tasks[i];

		if (t->has_ended)
			continue;
		if (t->kind == HV_OFFCPU_BLOCKED && o->has_wakers)
			t->node = child(o, t->node, UNWOKEN);
		end(o, t, o->now_ns, true);
		count_unsampled(o, t);
		t->has_ended = true;
	}
	while (o->first < o->next)
		count(o, interval(o, o->first++));
	return NULL;
}

static void offcpu_free(struct hv_export *x)
{
	struct hv_offcpu *o = hv_offcpu_of(x);

	hv_profile_deinit(&o->profile);
	hv_map_deinit(&o->by_pid);
	hv_map_deinit(&o->by_node);
	free(o->cpus);
	free(o->tasks);
	free(o->groups);
	free(o->recent);
	free(o);
}

const struct hv_export_format hv_offcpu_format = {
	.name = "off-cpu",
	.input = HV_EXPORT_PAGES,
	.open = offcpu_open,
	.add = hv_profile_add,
	.name_tasks = hv_profile_name_tasks,
	.turn = offcpu_turn,
	.end = offcpu_end,
	.free = offcpu_free,
};

/* -- the table ---------------------------------------------------------------------------------- */

static uint64_t wall_ns(const struct hv_offcpu_times *t)
{
	uint64_t sum = 0;

	for (unsigned kind = 0; kind < HV_OFFCPU_NR; kind++)
		sum += t->ns[kind];
	return sum;
}

struct hv_offcpu_times hv_offcpu_sum(const struct hv_offcpu *o)
{
	struct hv_offcpu_times sum = {0};

	for (size_t i = 0; i < o->nr_groups; i++)
		for (unsigned kind = 0; kind < HV_OFFCPU_NR; kind++)
			sum.ns[kind] += o->groups[i].ns[kind];
	return sum;
}

static int compare(const void *a, const void *b)
{
	const struct hv_offcpu_times *x = *(const struct hv_offcpu_times *const *)a;
	const struct hv_offcpu_times *y = *(const struct hv_offcpu_times *const *)b;

	if (wall_ns(x) != wall_ns(y))
		return wall_ns(x) < wall_ns(y) ? 1 : -1;
	return x->node < y->node ? -1 : 1;
}

static void add_name(const struct hv_offcpu *o, uint32_t node, struct hv_text *out)
{
	const struct hv_chains *c = &o->profile.chains;

	if (node == HV_CHAINS_ROOT) {
		hv_text_add(out, "[other tasks]");
		return;
	}
	if (c->nodes[node].parent != HV_CHAINS_ROOT) {
		add_name(o, c->nodes[node].parent, out);
		hv_text_add(out, ", ");
	}
	hv_text_add_utf8(out, c->frames[c->nodes[node].frame].name, SIZE_MAX);
}

void hv_offcpu_table(const struct hv_offcpu *o, size_t max, struct hv_text *out)
{
	HV_AUTO_FREE const struct hv_offcpu_times **list =
		hv_alloc((o->nr_groups + 1) * sizeof(struct hv_offcpu_times *));
	size_t nr = 0;

	for (size_t i = 0; i < o->nr_groups; i++)
		if (wall_ns(&o->groups[i]))
			list[nr++] = &o->groups[i];
	qsort(list, nr, sizeof(struct hv_offcpu_times *), compare);
	hv_text_add(out, "     running      waiting      blocked  not counted\n");
	for (size_t i = 0; i < nr && i < max; i++) {
		for (unsigned kind = 0; kind < HV_OFFCPU_NR; kind++)
			hv_text_printf(out, "%10.3f s ", (double)list[i]->ns[kind] / HV_NS_PER_S);
		hv_text_add(out, " ");
		add_name(o, list[i]->node, out);
		hv_text_add(out, "\n");
	}
}
