/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/latency.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/prefix.h"

#define SECTION_TURNS  25
#define UNPLACED_NS    (2 * HV_NS_PER_S) /* longer than SECTION_TURNS turns take */
#define FRESH_NS       (60 * HV_NS_PER_S)
#define DRIFT_NS       (30 * HV_NS_PER_MS) /* offset drift that late reading can cause */
/* Possible error of an outage's times: from sampling (HOST_SLACK_NS), and from the estimated clock
 * offset (SLACK_NS). */
#define HOST_SLACK_NS  (10 * HV_NS_PER_MS)
#define EXACT_SLACK_NS HV_NS_PER_MS /* for the host's events: skew between vCPU clocks */
#define SLACK_NS       (50 * HV_NS_PER_MS)
#define ENTRY	       "asm_" /* prefix of the assembly functions where interrupts enter */
#define DRIFT_PART     50     /* allows drift of 1/50 of the elapsed time on top of DRIFT_NS */

struct hv_latency *hv_latency_of(struct hv_export *x)
{
	return (struct hv_latency *)x;
}

static void latency_free(struct hv_export *x)
{
	struct hv_latency *l = hv_latency_of(x);

	hv_finders_deinit(&l->finders);
	hv_due_stacks_deinit(&l->due_stacks);
	hv_moments_deinit(&l->moments);
	hv_page_merge_deinit(&l->merge);
	hv_page_decode_deinit(&l->decode);
	hv_stalls_deinit(&l->stalls);
	hv_vcpu_threads_deinit(&l->threads);
	hv_exit_names_free(l->exit_names);
	hv_outages_deinit(&l->host);
	hv_outages_deinit(&l->vmm);
	hv_shares_deinit(&l->shares);
	free(l->stacks);
	free(l->outages);
	free(l->sections);
	free(l);
}

static uint64_t function_of(const void *data, uint64_t address)
{
	const struct hv_latency *l = data;
	const struct hv_symbol *symbol = hv_page_decode_symbol(&l->decode, hv_gva(address - 1));

	return symbol ? symbol->addr.v : address;
}

static struct hv_err *latency_open(const struct hv_export_config *config hv_unused,
				   const struct hv_export_head *head, struct hv_export **ret)
{
	struct hv_latency *l = hv_alloc(sizeof(*l));

	hv_page_decode_init(&l->decode, head);
	hv_page_merge_init(&l->merge, head->nr_cpus, head->page_bytes);
	hv_moments_init(&l->moments, &l->decode);
	hv_finders_init(&l->finders, head->nr_cpus, 0, &l->stalls);
	l->finders.ticks.function_of = function_of;
	l->finders.ticks.data = l;
	hv_due_stacks_init(&l->due_stacks, head->nr_cpus);
	hv_limit_fields_init(&l->limit_fields, &l->decode.catalogue);
	hv_outages_init(&l->host, head->nr_cpus);
	hv_outages_init(&l->vmm, 1);
	hv_vcpu_threads_init(&l->threads, head->nr_cpus, &l->host, &l->stalls);
	l->exit_names = hv_exit_names_new(&l->decode.catalogue);
	l->stacks = hv_alloc((head->nr_cpus + 1) * sizeof(*l->stacks));
	l->outages = hv_alloc((head->nr_cpus + 1) * sizeof(*l->outages));
	l->sections = hv_alloc(HV_LATENCY_SECTIONS_MAX * sizeof(*l->sections));
	*ret = &l->base;
	return NULL;
}

void hv_latency_begin(struct hv_latency *l, uint64_t threshold_ns)
{
	l->threshold_ns = l->finders.threshold_ns = l->threads.exits.threshold_ns = threshold_ns;
}

void hv_latency_begin_on_hosts_clock(struct hv_latency *l)
{
	l->clock_is_hosts = true;
}

void hv_latency_begin_seeing_host(struct hv_latency *l)
{
	l->sees_host = true;
}

void hv_latency_begin_host_events(struct hv_latency *l)
{
	l->has_host_events = l->sees_host = true;
}

void hv_latency_forget(struct hv_latency *l)
{
	for (unsigned cpu = 0; cpu < l->finders.tasks.nr_cpus; cpu++) {
		hv_finders_lose(&l->finders, cpu);
		hv_due_stacks_lose(&l->due_stacks, cpu);
	}
	hv_stalls_clear(&l->stalls);
	l->forget_ns = l->read_ns;
}

void hv_latency_begin_stacks(struct hv_latency *l, enum hv_moment_kind kind)
{
	l->due_stacks.kinds |= UINT32_C(1) << kind;
}

void hv_latency_end_stacks(struct hv_latency *l)
{
	l->due_stacks.kinds = 0;
}

void hv_latency_begin_counted(struct hv_latency *l)
{
	l->clock_counts = true;
}

/* -- clocks ------------------------------------------------------------------------------------ */

static void note_least(int64_t *least_ns, int64_t apart_ns)
{
	if (apart_ns < *least_ns)
		*least_ns = apart_ns;
}

static int64_t least_of(const int64_t *list, unsigned nr)
{
	int64_t least = list[0];

	for (unsigned i = 1; i < nr; i++)
		note_least(&least, list[i]);
	return least;
}

/* The host's clock is adjusted continuously, so old offsets are not used. */
static int64_t offset_of(const struct hv_latency *l)
{
	if (l->clock_is_hosts)
		return 0;
	if (l->second_ns - l->clock_begin_ns < FRESH_NS || l->nr_seconds < HV_LATENCY_SECONDS)
		return l->least_ns;
	return least_of(l->last_ones_ns, HV_LATENCY_SECONDS);
}

/* Updates the estimated clock offset: an event of time EVENT_NS was read now. */
static void note_clock(struct hv_latency *l, uint64_t event_ns)
{
	uint64_t now = hv_now_ns();
	int64_t apart = (int64_t)(now - event_ns);
	unsigned second;

	if (!l->nr_seconds) {
		l->least_ns = apart;
		l->clock_begin_ns = now;
	}
	if (!l->nr_seconds || now - l->second_ns >= HV_NS_PER_S) {
		l->second_ns = now;
		l->last_ones_ns[l->nr_seconds % HV_LATENCY_SECONDS] = apart;
		if (l->nr_seconds < HV_LATENCY_SECONDS)
			l->first_ones_ns[l->nr_seconds] = apart;
		l->nr_seconds++;
	}
	second = l->nr_seconds - 1;
	note_least(&l->least_ns, apart);
	note_least(&l->last_ones_ns[second % HV_LATENCY_SECONDS], apart);
	if (second < HV_LATENCY_SECONDS)
		note_least(&l->first_ones_ns[second], apart);
	l->host.offset_ns = l->vmm.offset_ns = offset_of(l);
}

/* Returns whether the guest's clock advances with the host's. All events of some seconds may have
 * been read late, so the first half of the seconds is compared with the second half, up to
 * HV_LATENCY_SECONDS each. */
static bool clocks_agree(const struct hv_latency *l)
{
	unsigned nr =
		l->nr_seconds / 2 < HV_LATENCY_SECONDS ? l->nr_seconds / 2 : HV_LATENCY_SECONDS;
	unsigned begin = l->nr_seconds < HV_LATENCY_SECONDS ? nr : 0;
	int64_t first, last;
	uint64_t moved;

	if (l->clock_counts)
		return false;
	if (l->clock_is_hosts || !nr)
		return true;
	first = least_of(l->first_ones_ns, nr);
	last = least_of(l->last_ones_ns + begin, l->nr_seconds < HV_LATENCY_SECONDS
							 ? l->nr_seconds - begin
							 : HV_LATENCY_SECONDS);
	/* The guest chooses both numbers, so their difference may not fit int64_t. */
	moved = first > last ? (uint64_t)first - (uint64_t)last : (uint64_t)last - (uint64_t)first;
	return moved <= DRIFT_NS + (l->second_ns - l->clock_begin_ns) / DRIFT_PART;
}

bool hv_latency_clock_is_apart(const struct hv_latency *l)
{
	return !clocks_agree(l);
}

bool hv_latency_knows_clock(const struct hv_latency *l)
{
	return l->clock_is_hosts || l->clock_counts || l->nr_seconds >= HV_LATENCY_SECONDS;
}

enum hv_host_view hv_latency_view(const struct hv_latency *l)
{
	/* The clock may only seem to drift because all events were read late. */
	if (!clocks_agree(l))
		return l->clock_counts ? HV_HOST_APART : HV_HOST_UNSEEN;
	if (l->has_host_events && !l->threads.sees_any)
		return HV_HOST_UNSEEN;
	return l->sees_host && hv_latency_knows_clock(l) ? HV_HOST_SEEN : HV_HOST_UNSEEN;
}

/* -- sections ---------------------------------------------------------------------------------- */

/* Looks for the only time slice since the last query in which the section's task ran on its vCPU
 * for at least the section's length. Stores the slice, with the tasks that ran before, because the
 * vCPU's history is soon overwritten. */
static void find_slice(const struct hv_latency *l, struct hv_latency_section *section)
{
	struct hv_stall *s = &section->stall;

	if (section->slice.to_ns ||
	    !hv_sched_ran_once(&l->finders.tasks, s->cpu, s->task.pid, s->to_ns - s->from_ns,
			       section->after_ns, &section->slice))
		return;
	s->nr_before =
		hv_sched_before(&l->finders.tasks, s->cpu, section->slice.from_ns, s->before);
}

/* The section ended when STACK was recorded. Consumes STACK. */
static void place_by_stack(struct hv_stall *s, struct hv_latency_stack *stack)
{
	uint64_t passed_ns = s->to_ns - s->from_ns;

	s->to_ns = stack->time_ns;
	s->nr_before = stack->nr_before;
	memcpy(s->before, stack->before, sizeof(s->before));
	stack->time_ns = 0;
	if (!s->nr_before || s->before[0].task.pid != s->task.pid)
		return;
	if (s->before[0].ns > passed_ns)
		s->before[0].ns -= passed_ns;
	else
		memmove(s->before, s->before + 1, --s->nr_before * sizeof(s->before[0]));
}

static void place_by_slice(struct hv_stall *s, const struct hv_slice *slice)
{
	s->slack_ns = slice->to_ns - slice->from_ns - (s->to_ns - s->from_ns);
	s->to_ns = slice->to_ns;
}

/* Places a section by its stack or else by its time slice. If neither is known after SECTION_TURNS,
 * places it at the newest event. */
static void place_sections(struct hv_latency *l, bool is_last)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < l->nr_sections; i++) {
		struct hv_latency_section *section = &l->sections[i];
		struct hv_stall *s = &section->stall;
		struct hv_latency_stack *stack =
			s->cpu < l->finders.tasks.nr_cpus ? &l->stacks[s->cpu] : NULL;
		bool has_end = stack && stack->time_ns && stack->pid == s->task.pid;
		uint64_t passed_ns = s->to_ns - s->from_ns;

		find_slice(l, section);
		if (!has_end && !is_last && section->nr_turns++ < SECTION_TURNS) {
			l->sections[kept++] = *section;
			continue;
		}
		if (has_end) {
			place_by_stack(s, stack);
		} else if (section->slice.to_ns) {
			place_by_slice(s, &section->slice);
		} else {
			s->to_ns = l->newest_ns;
			s->slack_ns = UNPLACED_NS;
		}
		s->from_ns = s->to_ns > passed_ns ? s->to_ns - passed_ns : 0;
		hv_finders_add(&l->finders, s);
	}
	l->nr_sections = kept;
}

void hv_latency_add_section(struct hv_latency *l, const struct hv_stall *section)
{
	if (l->nr_sections == HV_LATENCY_SECTIONS_MAX)
		place_sections(l, true);
	l->sections[l->nr_sections++] =
		(struct hv_latency_section){.stall = *section, .after_ns = l->checked_ns};
}

void hv_latency_end_sections(struct hv_latency *l)
{
	l->checked_ns = l->newest_ns;
}

/* -- events ------------------------------------------------------------------------------------ */

static struct hv_err *latency_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct hv_latency *l = hv_latency_of(x);
	struct hv_raw_events r;
	struct hv_raw_event e;
	uint64_t last_ns = 0;

	if (hv_raw_events_begin(&r, page))
		while (hv_raw_events_next(&r, &e))
			last_ns = e.time_ns;
	if (last_ns)
		note_clock(l, last_ns);
	if (last_ns > l->read_ns)
		l->read_ns = last_ns;
	hv_page_merge_add(&l->merge, cpu, page);
	if (!x->wants_names)
		x->wants_names = hv_page_decode_lacks_names(&l->decode, page);
	return NULL;
}

static struct hv_err *latency_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	hv_page_decode_name_tasks(&hv_latency_of(x)->decode, names);
	return NULL;
}

static void see_limit(struct hv_latency *l, const struct hv_event *e, uint64_t key)
{
	struct hv_limit_group group;

	if (hv_limit_fields_read(&l->limit_fields, e, key, &group))
		hv_limits_set_group(l->finders.limits, &group);
}

static void see_moment(struct hv_latency *l, const struct hv_event *e, const struct hv_moment *m)
{
	uint64_t key = hv_exit_key(m->state, m->number);
	HV_AUTO_TEXT struct hv_text name = {0};

	if (m->kind == HV_MOMENT_THROTTLE)
		see_limit(l, e, m->number);
	if (!hv_moment_is_hosts(m->kind)) {
		hv_vcpu_threads_see_guest(&l->threads, m);
		hv_finders_see(&l->finders, m);
		hv_due_stacks_see(&l->due_stacks, m);
		return;
	}
	if (m->kind == HV_MOMENT_HOST_EXIT && !hv_exits_knows(&l->threads.exits, key)) {
		hv_exit_names_add(l->exit_names, e, m->number, &name);
		hv_exits_name(&l->threads.exits, key, name.data);
	}
	hv_vcpu_threads_see(&l->threads, m);
}

/* The frames of the interrupt end with the assembly entry function; the next one is the interrupted
 * function. Without an entry function, no frame is usable. */
static size_t behind_interrupt(const struct hv_latency *l, const struct hv_event *e)
{
	for (size_t i = 0; i < e->nr_callers; i++) {
		const struct hv_symbol *symbol =
			hv_page_decode_symbol(&l->decode, hv_gva(e->callers[i].v - 1));

		if (symbol && hv_starts_with(symbol->name, ENTRY))
			return i + 1;
	}
	return e->nr_callers;
}

/* Assigns the stack to its event, or to the end of a section. */
static void see_stack(struct hv_latency *l, const struct hv_event *e)
{
	const struct hv_moment *m = hv_due_stacks_take(&l->due_stacks, e->cpu, e->pid, e->time_ns);
	struct hv_stall_stack stack = {0};
	size_t begin;

	if (!m) {
		struct hv_latency_stack *end = &l->stacks[e->cpu];

		*end = (struct hv_latency_stack){.time_ns = e->time_ns, .pid = e->pid};
		end->nr_before =
			hv_sched_before(&l->finders.tasks, e->cpu, e->time_ns, end->before);
		return;
	}
	begin = m->kind == HV_MOMENT_TICK ? behind_interrupt(l, e) : 0;
	for (size_t i = begin; i < e->nr_callers && i - begin < HV_STALL_STACK; i++)
		stack.callers[i - begin] = e->callers[i].v;
	/* The interrupted address is no return address, but symbol lookups subtract 1. */
	if (m->kind == HV_MOMENT_TICK && stack.callers[0])
		stack.callers[0]++;
	hv_finders_stack(&l->finders, m, &stack);
}

static void see(struct hv_latency *l, const struct hv_merged *m)
{
	struct hv_moment moment;
	struct hv_event e;

	if (m->has_lost) {
		/* Pages do not show whose events were lost, and a host CPU's events can be of any
		 * vCPU. */
		for (unsigned cpu = 0; cpu < l->threads.nr; cpu++)
			hv_vcpu_threads_lose(&l->threads, cpu, m->event.time_ns);
		hv_finders_lose(&l->finders, m->cpu);
		hv_due_stacks_lose(&l->due_stacks, m->cpu);
		l->nr_lost += m->lost;
	}
	if (!hv_page_decode_event(&l->decode, m, &e))
		return;
	l->nr_events++;
	l->newest_ns = e.time_ns;
	if (e.time_ns <= l->forget_ns)
		return;
	if (e.kind == HV_EVENT_STACK && e.cpu < l->finders.tasks.nr_cpus)
		see_stack(l, &e);
	else if (hv_moments_decode(&l->moments, &e, &moment))
		see_moment(l, &e, &moment);
}

static void take_events(struct hv_latency *l)
{
	struct hv_merged m;

	while (hv_page_merge_next(&l->merge, &m))
		see(l, &m);
}

static struct hv_err *latency_turn(struct hv_export *x)
{
	struct hv_latency *l = hv_latency_of(x);

	take_events(l);
	place_sections(l, false);
	hv_page_merge_turn(&l->merge);
	return NULL;
}

static struct hv_err *latency_export_end(struct hv_export *x)
{
	struct hv_latency *l = hv_latency_of(x);

	hv_page_merge_end(&l->merge);
	take_events(l);
	place_sections(l, true);
	return NULL;
}

void hv_latency_add_host(struct hv_latency *l, unsigned cpu, const struct hv_outage *span)
{
	if (!l->has_host_events)
		hv_outages_add(&l->host, cpu, span);
}

void hv_latency_add_vmm(struct hv_latency *l, const struct hv_outage *span)
{
	hv_outages_add(&l->vmm, 0, span);
}

void hv_latency_end(struct hv_latency *l, uint64_t now_ns)
{
	uint64_t now = l->nr_seconds ? now_ns - (uint64_t)l->host.offset_ns : 0;

	/* If the guest's clock is independent, the newest event is the best estimate of now. */
	if (!clocks_agree(l) || now < l->newest_ns)
		now = l->newest_ns;
	hv_finders_end(&l->finders, now);
	hv_vcpu_threads_end(&l->threads, now);
	l->newest_ns = now;
}

static uint64_t slack_of(const struct hv_latency *l)
{
	if (l->has_host_events)
		return EXACT_SLACK_NS;
	return l->clock_is_hosts ? HOST_SLACK_NS : SLACK_NS;
}

/* -- verdict ----------------------------------------------------------------------------------- */

/* The scheduler and tracing functions at the top of every stack of a waiting task. They are of no
 * interest to the user. */
static bool is_schedulers(const char *name)
{
	static const char *const begins[] = {"__traceiter_", "__schedule", "schedule",
					     "io_schedule", "preempt_schedule"};

	for (size_t i = 0; i < HV_ARRAY_LEN(begins); i++)
		if (hv_starts_with(name, begins[i]))
			return true;
	return false;
}

static void copy_name(char *to, const char *from)
{
	memset(to, 0, HV_STALL_NAME_LEN);
	memcpy(to, from, strnlen(from, HV_STALL_NAME_LEN - 1));
}

/* A return address can be the first one after its function, if the call does not return: look up
 * the byte before. */
static void name_stack(const struct hv_latency *l, struct hv_stall *s)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < HV_STALL_STACK && s->stack.callers[i]; i++) {
		const struct hv_symbol *symbol =
			hv_page_decode_symbol(&l->decode, hv_gva(s->stack.callers[i] - 1));

		if (!symbol || nr > HV_STALL_CALLERS)
			return;
		if (!nr && is_schedulers(symbol->name))
			continue;
		copy_name(nr ? s->callers[nr - 1] : s->end, symbol->name);
		nr++;
	}
}

static void name_sample(const struct hv_latency *l, char *to, uint64_t address)
{
	const struct hv_symbol *symbol =
		address ? hv_page_decode_symbol(&l->decode, hv_gva(address - 1)) : NULL;

	if (symbol)
		copy_name(to, symbol->name);
}

/* Outages become stalls only in a verdict, and verdicts are computed repeatedly. Keeps the tasks
 * from the first verdict that contained the outage. */
static void find_before_outage(struct hv_latency *l, struct hv_stall *s)
{
	struct hv_latency_outage *kept =
		s->cpu < l->finders.tasks.nr_cpus ? &l->outages[s->cpu] : NULL;

	if (!kept)
		return;
	s->nr_before = hv_sched_before(&l->finders.tasks, s->cpu, s->from_ns, s->before);
	if (s->nr_before && (!kept->from_ns || s->from_ns + slack_of(l) < kept->from_ns ||
			     s->from_ns > kept->from_ns + slack_of(l))) {
		kept->from_ns = s->from_ns;
		kept->nr_before = s->nr_before;
		memcpy(kept->before, s->before, sizeof(kept->before));
	} else if (kept->from_ns && s->from_ns <= kept->from_ns + slack_of(l) &&
		   s->from_ns + slack_of(l) >= kept->from_ns) {
		s->nr_before = kept->nr_before;
		memcpy(s->before, kept->before, sizeof(s->before));
	}
}

void hv_latency_verdict(struct hv_latency *l, struct hv_verdict *ret)
{
	hv_verdict_find(
		&(struct hv_verdict_input){.stalls = &l->stalls,
					   .host = &l->host,
					   .vmm = &l->vmm,
					   .shares = &l->shares,
					   .view = hv_latency_view(l),
					   .exits = &l->threads.exits,
					   .threads = l->has_host_events ? &l->threads : NULL,
					   .takers = &l->threads.takers,
					   .slack_ns = slack_of(l),
					   .threshold_ns = l->threshold_ns},
		ret);
	for (size_t i = 0; i < ret->nr; i++) {
		if (ret->list[i].longest.kind == HV_STALL_HOST)
			find_before_outage(l, &ret->list[i].longest);
		/* The analysers do not see the host's events. */
		if (ret->list[i].longest.kind == HV_STALL_EXITS)
			hv_program_ticks_choose(&l->finders.programs, &ret->list[i].longest);
		name_stack(l, &ret->list[i].longest);
		name_sample(l, ret->list[i].longest.most_name, ret->list[i].longest.most);
		name_sample(l, ret->list[i].longest.most_caller_name,
			    ret->list[i].longest.most_caller);
		name_stack(l, &ret->list[i].victim);
	}
}

const char *hv_latency_symbol(const struct hv_latency *l, uint64_t addr)
{
	const struct hv_symbol *s = hv_page_decode_symbol(&l->decode, hv_gva(addr));

	return s && s->addr.v == addr ? s->name : NULL;
}

const struct hv_export_format hv_latency_format = {
	.name = "latency",
	.input = HV_EXPORT_PAGES,
	.open = latency_open,
	.add = latency_add,
	.name_tasks = latency_name_tasks,
	.turn = latency_turn,
	.end = latency_export_end,
	.free = latency_free,
};
