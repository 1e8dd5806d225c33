/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sections/section_tracer.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/clock/clock.h"
#include "kernel/code/section_sites.h"
#include "patcher/patcher.h"
#include "tracer/events/decoder.h"
#include "tracer/guest/tracee.h"
#include "tracer/places/detours.h"
#include "tracer/sections/section_log.h"
#include "tracer/sections/section_plan.h"

#define TRIES_MAX 1000 /* attempts to read a section while the guest writes it */

/* Names of the tracers, for messages. */
static const char *const names[] = {
	[HV_SECTION_PREEMPT] = "preemptoff",
	[HV_SECTION_IRQ] = "irqsoff",
	[HV_SECTION_EITHER] = "preemptirqsoff",
};

static const uint32_t kind_flags[] = {
	[HV_SECTION_PREEMPT] = HV_SECTIONS_PREEMPT,
	[HV_SECTION_IRQ] = HV_SECTIONS_IRQS,
	[HV_SECTION_EITHER] = HV_SECTIONS_PREEMPT | HV_SECTIONS_IRQS,
};

struct hv_section_tracer {
	struct hv_tracee *tracee; /* borrowed, like the next two */
	const struct hv_clock *clock;
	struct hv_decoder *decoder;
	struct hv_detours *detours; /* owned */
	enum hv_section_trust trust;
	bool counts_preemption; /* must be determined before the instructions are replaced */
	struct hv_section_coverage coverage;
	struct hv_section_left left[HV_SECTION_LEFT_MAX]; /* the first uncovered ones */
	size_t nr_left;
	enum hv_section_kind kind; /* of the last start, like `modules` */
	struct hv_section_modules modules;
	uint32_t flags;	    /* HV_SECTIONS_*, without FIXED */
	uint64_t base_ns;   /* from hv_section_tracer_begin_at() */
	uint64_t thresh_ns; /* from hv_section_tracer_begin_at() */
	uint32_t *seqs;	    /* Owned, one per vCPU: sections up to this number do not count or were
			       already read. */
	struct hv_section *kept; /* holds a reference; NULL: none */
	uint64_t kept_tsc;	 /* end time of the kept section */
	struct hv_section_calls calls;
};

static bool find_place(void *ctx, uint32_t place, struct hv_gva *ret)
{
	const struct hv_section_tracer *s = ctx;

	return hv_detours_find(s->detours, place, ret);
}

struct hv_section_tracer *hv_section_tracer_new(struct hv_tracee *t, const struct hv_clock *clock,
						struct hv_decoder *decoder)
{
	struct hv_section_tracer *s = hv_alloc(sizeof(*s));

	*s = (struct hv_section_tracer){
		.tracee = t,
		.clock = clock,
		.decoder = decoder,
		.detours = hv_detours_new(t, HV_CHANGE_DETOUR),
		.counts_preemption = hv_preempt_is_counted(t->kernel),
		.seqs = hv_alloc(t->plan.nr_cpus * sizeof(*s->seqs)),
	};
	decoder->decode.find_place = find_place;
	decoder->decode.places = s;
	return s;
}

void hv_section_tracer_free(struct hv_section_tracer *s)
{
	if (!s)
		return;
	hv_detours_free(s->detours);
	hv_section_modules_deinit(&s->modules);
	hv_section_unref(s->kept);
	free(s->seqs);
	free(s);
}

void hv_section_tracer_force(struct hv_section_tracer *s)
{
	s->trust = HV_SECTION_FORCED;
}

bool hv_section_tracer_exists(const struct hv_section_tracer *s, enum hv_section_kind kind)
{
	const struct hv_kernel *k = s->tracee->kernel;

	return (kind == HV_SECTION_PREEMPT || hv_irqs_are_paravirt(k)) &&
	       (kind == HV_SECTION_IRQ || s->counts_preemption);
}

static struct hv_sections *sections_of(const struct hv_section_tracer *s, unsigned cpu)
{
	return &hv_tracee_state(s->tracee, cpu)->sections;
}

static uint32_t seq_of(const struct hv_section_tracer *s, unsigned cpu)
{
	return __atomic_load_n(&sections_of(s, cpu)->seq, __ATOMIC_ACQUIRE);
}

/* -- replaced instructions --------------------------------------------------------------------- */

/* If the calls around the idle loop or of the entry code are not replaced, a section may seem
 * longer than it is. */
static struct hv_err *check_refused(const struct hv_section_plan *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct hv_detour_want *want = &p->wants[i];

		if (want->is_refused &&
		    (want->kind == HV_DETOUR_ARRIVES || want->kind == HV_DETOUR_CALL_BEGINS ||
		     want->kind == HV_DETOUR_CALL_ENDS))
			return hv_err_new(EBUSY, "0x%llx cannot be changed now",
					  (unsigned long long)want->at.v);
	}
	return NULL;
}

static struct hv_err *patch(struct hv_section_tracer *s, struct hv_section_plan *p)
{
	struct hv_err *err;
	size_t nr_put_back;

	err = hv_detours_patch(s->detours, p->wants, p->nr, &s->coverage.nr_refused);
	if (err)
		return err;
	err = check_refused(p);
	if (err)
		hv_err_keep_first(&err, hv_detours_put_back(s->tracee, HV_CHANGE_DETOUR, NULL, NULL,
							    &nr_put_back));
	return err;
}

/* -- on and off -------------------------------------------------------------------------------- */

static void set_flags(struct hv_section_tracer *s, uint32_t flags)
{
	__atomic_store_n(&hv_region_control(&s->tracee->region)->sections, flags, __ATOMIC_SEQ_CST);
}

/* The stack is recorded if the kernel's stacks can be unwound. */
static void measure(struct hv_section_tracer *s)
{
	HV_AUTO_ERR struct hv_err *no_stack = hv_callers_prepare(s->decoder->callers);

	set_flags(s, s->flags | (s->thresh_ns ? HV_SECTIONS_FIXED : 0) |
			     (no_stack ? 0 : HV_SECTIONS_STACK) |
			     (s->calls.logs ? HV_SECTIONS_LOG : 0));
}

static bool is_on(const struct hv_section_tracer *s)
{
	return __atomic_load_n(&hv_region_control(&s->tracee->region)->sections, __ATOMIC_RELAXED) &
	       HV_SECTIONS_ON;
}

static void note_coverage(struct hv_section_tracer *s, const struct hv_section_plan *p)
{
	s->coverage = (struct hv_section_coverage){.nr_covered = p->nr_covered,
						   .nr_retargeted = p->nr_retargeted,
						   .nr_left = p->nr_left};
	s->nr_left = p->nr_named;
	memcpy(s->left, p->left, p->nr_named * sizeof(*p->left));
}

static struct hv_err *change(struct hv_section_tracer *s, enum hv_section_kind kind)
{
	hv_cleanup(hv_section_plan_deinit) struct hv_section_plan p = {.nr = 0};
	struct hv_err *err = hv_section_plan_make(s->tracee->kernel, kind, s->trust, &p);

	note_coverage(s, &p);
	return err ? err : patch(s, &p);
}

struct hv_err *hv_section_tracer_start(struct hv_section_tracer *s, enum hv_section_kind kind)
{
	size_t nr_put_back;
	struct hv_err *err;

	if (!hv_section_tracer_exists(s, kind))
		return hv_err_new(EOPNOTSUPP, "%s: not in this kernel", names[kind]);
	/* Restores instructions that an earlier stop had to leave. Those that still cannot be
	 * restored continue to call their stubs. */
	err = hv_detours_put_back(s->tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr_put_back);
	if (err && err->code == EBUSY) {
		hv_err_free(err);
		err = NULL;
	}
	if (!err && !s->tracee->kernel->layout.has_task_line)
		err = hv_err_new(EOPNOTSUPP, "BTF: not all of priorities and uid of a task");
	if (!err)
		err = change(s, kind);
	if (err)
		return hv_err_in(err, "%s", names[kind]);
	for (unsigned cpu = 0; cpu < s->tracee->plan.nr_cpus; cpu++) {
		sections_of(s, cpu)->open.tsc = 0;
		sections_of(s, cpu)->idle = 1;
	}
	hv_region_params(&s->tracee->region)->ticks_per_ns =
		hv_clock_ticks(s->clock, UINT64_C(1) << 32);
	s->kind = kind;
	hv_section_modules_note(&s->modules, s->tracee);
	s->flags = HV_SECTIONS_ON | kind_flags[kind];
	measure(s);
	return NULL;
}

struct hv_err *hv_section_tracer_renew(struct hv_section_tracer *s)
{
	struct hv_err *err;

	hv_patcher_forget_gone(s->tracee->patcher);
	if (!hv_section_modules_have_come(&s->modules, s->tracee))
		return NULL;
	err = hv_section_tracer_stop(s);
	if (err && err->code != EBUSY)
		return err;
	hv_err_free(err);
	return hv_section_tracer_start(s, s->kind);
}

struct hv_err *hv_section_tracer_stop(struct hv_section_tracer *s)
{
	size_t nr_put_back;

	hv_section_tracer_look(s);
	set_flags(s, 0);
	return hv_detours_put_back(s->tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr_put_back);
}

/* -- results ----------------------------------------------------------------------------------- */

void hv_section_tracer_begin_at(struct hv_section_tracer *s, uint64_t ns, uint64_t thresh_ns)
{
	uint64_t thresh_ticks = hv_clock_ticks(s->clock, thresh_ns);
	uint64_t ticks =
		thresh_ns ? thresh_ticks - (thresh_ticks != 0) : hv_clock_ticks(s->clock, ns);

	hv_section_unref(s->kept);
	s->kept = NULL;
	s->base_ns = ns;
	s->thresh_ns = thresh_ns;
	for (unsigned cpu = 0; cpu < s->tracee->plan.nr_cpus; cpu++) {
		__atomic_store_n(&sections_of(s, cpu)->longest, ticks, __ATOMIC_SEQ_CST);
		s->seqs[cpu] = (seq_of(s, cpu) + 1) & ~1u;
	}
	if (is_on(s))
		measure(s);
}

void hv_section_tracer_log(struct hv_section_tracer *s, const struct hv_section_calls *calls)
{
	hv_section_tracer_look(s);
	s->calls = *calls;
	if (is_on(s))
		measure(s);
}

/* Copies the section that the guest has saved on CPU since the last check. Returns false if nothing
 * was saved, or if the guest does not stop writing. */
static bool copy(struct hv_section_tracer *s, unsigned cpu, struct hv_sections *ret)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		uint32_t seq = seq_of(s, cpu);

		if (seq == s->seqs[cpu])
			return false;
		if (seq & 1)
			continue;
		memcpy(ret, sections_of(s, cpu), sizeof(*ret));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (seq_of(s, cpu) != seq)
			continue;
		s->seqs[cpu] = seq;
		return ret->to.tsc >= ret->from.tsc;
	}
	return false;
}

/* Builds a call record with the same values, because the decoder can decode those. */
static void decode_end(const struct hv_section_tracer *s, unsigned cpu,
		       const struct hv_section_end *end, struct hv_event *ret)
{
	const struct hv_record record = {
		{0, 0,
		 (uint64_t)end->pid << HV_CALL_PID_SHIFT | (uint64_t)(end->thread_flags & 0xff)
								   << 8,
		 (uint64_t)(end->cpu_flags & 0xffff) << 32 | end->preempt_count}};
	uint64_t text_base = hv_reach_of(&s->tracee->kernel->core).text_base.v;

	hv_decode_event(&s->decoder->decode, &record, NULL, ret);
	ret->cpu = cpu;
	ret->time_ns = hv_clock_ns(s->clock, cpu, end->tsc);
	ret->ip = hv_gva(0);
	hv_detours_find(s->detours, end->place, &ret->ip);
	ret->parent_ip = hv_gva(end->caller ? text_base + end->caller : 0);
	if (hv_gva_in(ret->parent_ip, s->tracee->range))
		ret->parent_ip = hv_gva(0); /* caller hidden by a graph */
	if (ret->parent_ip.v && hv_preempt_is_in_counter(s->tracee->kernel, ret->ip)) {
		ret->ip = ret->parent_ip;
		ret->parent_ip = hv_gva(0);
	}
}

#define PRIO_OF_NICE_0 120

/* The stolen time is untrusted. */
static void decode(const struct hv_section_tracer *s, unsigned cpu, const struct hv_sections *from,
		   struct hv_section *ret)
{
	uint64_t ns = hv_clock_span_ns(s->clock, from->to.tsc - from->from.tsc);
	uint64_t stolen_ns = from->to.steal_ns - from->from.steal_ns;
	char comm[sizeof(from->comm) + 1] = {0};

	*ret = (struct hv_section){
		.nr_refs = 1,
		.cpu = cpu,
		.stolen_ns = stolen_ns < ns ? stolen_ns : ns,
		.uid = from->uid,
		.nice = (int32_t)(from->static_prio - PRIO_OF_NICE_0),
		.policy = from->policy,
		.rt_priority = from->rt_priority,
	};
	ret->ns = ns - ret->stolen_ns;
	decode_end(s, cpu, &from->from, &ret->from);
	decode_end(s, cpu, &from->to, &ret->to);
	memcpy(comm, from->comm, sizeof(from->comm));
	hv_event_set_comm(&ret->to, comm);
	hv_event_set_comm(&ret->from, from->from.pid == from->to.pid ? comm : NULL);
}

/* Takes the section COPIED from vCPU CPU, unless the kept one is worse. */
static void take(struct hv_section_tracer *s, unsigned cpu, const struct hv_sections *copied)
{
	const struct hv_section_ring ring = {s->decoder, hv_tracee_state(s->tracee, cpu),
					     s->tracee->plan.nr_slots, cpu};
	struct hv_section *now = hv_alloc(sizeof(*now));

	decode(s, cpu, copied, now);
	if (s->kept && (s->thresh_ns ? copied->to.tsc <= s->kept_tsc : now->ns <= s->kept->ns)) {
		hv_section_unref(now);
		return;
	}
	if (s->calls.logs)
		hv_section_log_calls(&ring, copied, s->calls.wants, s->calls.ctx, now);
	hv_section_log_stack(&ring, copied, now);
	hv_section_keep_names(now, s->tracee->kernel);
	hv_section_unref(s->kept);
	s->kept = now;
	s->kept_tsc = copied->to.tsc;
}

void hv_section_tracer_look(struct hv_section_tracer *s)
{
	struct hv_sections copied;

	for (unsigned cpu = 0; cpu < s->tracee->plan.nr_cpus; cpu++)
		if (copy(s, cpu, &copied))
			take(s, cpu, &copied);
}

struct hv_section *hv_section_tracer_kept(struct hv_section_tracer *s)
{
	hv_section_tracer_look(s);
	return s->kept ? hv_section_ref(s->kept) : NULL;
}

uint64_t hv_section_tracer_longest_ns(struct hv_section_tracer *s)
{
	hv_section_tracer_look(s);
	return s->kept ? s->kept->ns : s->base_ns;
}

void hv_section_tracer_coverage(const struct hv_section_tracer *s, struct hv_section_coverage *ret)
{
	*ret = s->coverage;
	for (unsigned cpu = 0; cpu < s->tracee->plan.nr_cpus; cpu++) {
		const struct hv_sections *sections = sections_of(s, cpu);

		ret->nr_no_begin += __atomic_load_n(&sections->nr_no_begin, __ATOMIC_RELAXED);
		ret->nr_no_end += __atomic_load_n(&sections->nr_no_end, __ATOMIC_RELAXED);
		ret->nr_stolen += __atomic_load_n(&sections->nr_stolen, __ATOMIC_RELAXED);
	}
}

size_t hv_section_tracer_left(const struct hv_section_tracer *s, size_t max,
			      struct hv_section_left *ret)
{
	size_t nr = s->nr_left < max ? s->nr_left : max;

	memcpy(ret, s->left, nr * sizeof(*ret));
	return nr;
}
