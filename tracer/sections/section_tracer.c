/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sections/section_tracer.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/clock/clock.h"
#include "kernel/code/section_sites.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "ringbuf/ring.h"
#include "tracer/events/decoder.h"
#include "tracer/guest/tracee.h"
#include "tracer/probe_sites/detours.h"

/* -- instructions to replace ------------------------------------------------------------------- */

/* Zero-initialised: empty. */
struct section_plan {
	struct hv_detour_want *wants; /* owned */
	size_t nr;
	size_t nr_covered;    /* without the calls around the idle loop */
	size_t nr_retargeted; /* calls and jumps among the covered ones; the others are relocated */
	size_t nr_left;	      /* not covered; LEFT has the first ones */
	struct hv_section_left left[HV_SECTION_LEFT_MAX];
	size_t nr_named;
};

enum section_trust {
	SECTION_ENOUGH, /* refuse if too little is covered */
	SECTION_FORCED,
};

#define COVERED_PERCENT_MIN 95

/* Functions that can contain a CPU's idle loop. */
static const char *const idle_loops[] = {"do_idle", "cpu_startup_entry", "play_idle_precise"};
#define IDLE_CALLS_MAX	8
#define IDLE_LOOP_BYTES 4096

/* Calls of the functions around a CPU's idle time. */
struct idle {
	struct hv_gva functions[2]; /* like hv_idle_functions */
	struct hv_detour_want calls[IDLE_CALLS_MAX];
	size_t nr;
	unsigned found; /* bit N: a call of functions[N] was found */
	const uint8_t *code;
	struct hv_gva code_at;
};

static bool look_for_idle(void *ctx, const struct hv_insn *insn)
{
	static const enum hv_detour_kind kinds[] = {HV_DETOUR_CALL_ENDS, HV_DETOUR_CALL_BEGINS};
	struct idle *idle = ctx;

	for (unsigned i = 0; i < 2; i++) {
		if (!insn->has_target || insn->target.v != idle->functions[i].v)
			continue;
		if (idle->nr == IDLE_CALLS_MAX)
			return false;
		idle->calls[idle->nr] = (struct hv_detour_want){.kind = kinds[i],
								.at = insn->at,
								.len_bytes = insn->len_bytes,
								.calls = insn->target};
		memcpy(idle->calls[idle->nr++].insn, idle->code + (insn->at.v - idle->code_at.v),
		       insn->len_bytes);
		idle->found |= 1u << i;
	}
	return true;
}

static struct hv_err *look_at_loop(const struct hv_kernel *k, const char *name, struct idle *idle)
{
	uint8_t code[IDLE_LOOP_BYTES];
	uint64_t len;
	struct hv_err *err;

	if (!hv_kernel_symbol(k, name, &idle->code_at))
		return NULL;
	len = hv_kernel_symbol_size(k, idle->code_at);
	if (len > sizeof(code))
		len = sizeof(code);
	err = hv_read(&k->core.as, idle->code_at, code, len);
	if (err)
		return err;
	idle->code = code;
	k->core.as.arch->walk_code((struct hv_span){code, len}, idle->code_at, look_for_idle, idle);
	idle->code = NULL;
	return NULL;
}

/* An idle CPU is inside a section: the kernel switches to the idle task with preemption off, and
 * the idle task leaves it off. Some processors wait for an interrupt with interrupts off. Without
 * these calls, a CPU's sleep would be the longest section.
 *
 * A jump to such a function, and a call that crosses a page, cannot be replaced. Idle sections
 * could then not be recognised, so the kernel is refused. */
static struct hv_err *find_idle(const struct hv_kernel *k, struct idle *ret)
{
	const struct hv_arch *arch = k->core.as.arch;

	for (unsigned i = 0; i < 2; i++) {
		struct hv_err *err =
			hv_core_need(&k->core, hv_idle_functions[i], &ret->functions[i]);

		if (err)
			return err;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(idle_loops); i++) {
		struct hv_err *err = look_at_loop(k, idle_loops[i], ret);

		if (err)
			return err;
	}
	for (size_t i = 0; i < ret->nr; i++) {
		struct hv_gva target;

		if (arch->classify_site(ret->calls[i].insn, ret->calls[i].at, &target) !=
			    HV_SITE_CALL ||
		    hv_site_crosses_pages(arch, ret->calls[i].at.v))
			ret->found = 0;
	}
	if (ret->found != 3)
		return hv_err_new(EOPNOTSUPP, "the start or end of this kernel's idle loop was not "
					      "found, or cannot be changed");
	return NULL;
}

struct found {
	struct hv_preempt_sites preempt;
	struct hv_irq_sites irqs;
	struct idle idle;
};

static void found_deinit(struct found *f)
{
	hv_preempt_sites_deinit(&f->preempt);
	hv_irq_sites_deinit(&f->irqs);
}

static void section_plan_deinit(struct section_plan *p)
{
	free(p->wants);
}

bool hv_sections_cover_enough(size_t nr_covered, size_t nr)
{
	return nr_covered * 100 >= nr * COVERED_PERCENT_MIN;
}

static struct hv_err *check_enough(enum section_trust trust, size_t nr_covered, size_t nr,
				   const char *what)
{
	if (trust == SECTION_FORCED || hv_sections_cover_enough(nr_covered, nr))
		return NULL;
	return hv_err_mark(hv_err_new(EOPNOTSUPP,
				      "only %zu of the %zu places where this kernel switches %s"
				      " can be covered, too few to trust",
				      nr_covered, nr, what),
			   HV_ERR_NEEDS_FORCE);
}

static void note_left(struct section_plan *p, struct hv_gva at, const char *reason)
{
	p->nr_left++;
	if (p->nr_named < HV_SECTION_LEFT_MAX)
		p->left[p->nr_named++] = (struct hv_section_left){at, reason};
}

static struct hv_err *find_preempt(const struct hv_kernel *k, struct found *f,
				   enum section_trust trust, struct section_plan *p)
{
	struct hv_err *err = hv_preempt_sites_read(k, &f->preempt);
	size_t nr_covered = f->preempt.nr_of[HV_PREEMPT_COVERED];

	if (err)
		return err;
	p->nr_covered += nr_covered;
	for (size_t i = 0; i < f->preempt.nr; i++)
		if (f->preempt.list[i].cover != HV_PREEMPT_COVERED)
			note_left(p, f->preempt.list[i].at,
				  hv_preempt_cover_reason(f->preempt.list[i].cover));
	return check_enough(trust, nr_covered, f->preempt.nr - f->preempt.nr_of[HV_PREEMPT_OF_NMIS],
			    "preemption");
}

/* Kernel entries must be covered: the section that begins there replaces one whose end was not
 * seen. */
static struct hv_err *find_irqs(const struct hv_kernel *k, struct found *f,
				enum section_trust trust, struct section_plan *p)
{
	struct hv_err *err = hv_irq_sites_read(k, &f->irqs);
	size_t nr_covered = hv_irq_nr_covered(&f->irqs);

	if (err)
		return err;
	p->nr_covered += nr_covered;
	p->nr_retargeted += f->irqs.nr_of[HV_IRQ_RETARGETED];
	for (size_t i = 0; i < f->irqs.nr; i++)
		if (!hv_irq_is_covered(&f->irqs.list[i]))
			note_left(p, f->irqs.list[i].at,
				  hv_irq_cover_reason(f->irqs.list[i].cover));
	if (f->irqs.nr_entries_left && trust != SECTION_FORCED)
		return hv_err_mark(hv_err_new(EOPNOTSUPP,
					      "%zu of this kernel's entry points cannot be covered",
					      f->irqs.nr_entries_left),
				   HV_ERR_NEEDS_FORCE);
	return check_enough(trust, nr_covered, f->irqs.nr, "interrupts");
}

static struct hv_detour_want want_of_preempt(const struct hv_preempt_site *site)
{
	struct hv_detour_want want = {
		.kind = site->count.subtracts ? HV_DETOUR_ENDS : HV_DETOUR_BEGINS,
		.at = site->at,
		.len_bytes = site->count.len_bytes,
		.count = site->count,
		.misses_beginning = site->misses_beginning,
		.has_caller = site->has_caller,
		.caller_off = site->caller_off,
	};

	memcpy(want.insn, site->insn, sizeof(want.insn));
	return want;
}

static struct hv_detour_want want_of_irqs(const struct hv_irq_site *site)
{
	struct hv_detour_want want = {
		.kind = site->kind,
		.at = site->at,
		.len_bytes = site->len_bytes,
		.calls = site->target,
		.misses_beginning = site->misses_beginning,
		.has_caller = site->has_caller,
		.caller_off = site->caller_off,
	};

	memcpy(want.insn, site->insn, sizeof(want.insn));
	return want;
}

static void make_wants(const struct found *f, struct section_plan *p)
{
	p->wants = hv_alloc((f->idle.nr + f->preempt.nr + f->irqs.nr + 1) * sizeof(*p->wants));
	for (size_t i = 0; i < f->idle.nr; i++)
		p->wants[p->nr++] = f->idle.calls[i];
	for (size_t i = 0; i < f->preempt.nr; i++)
		if (f->preempt.list[i].cover == HV_PREEMPT_COVERED)
			p->wants[p->nr++] = want_of_preempt(&f->preempt.list[i]);
	for (size_t i = 0; i < f->irqs.nr; i++)
		if (hv_irq_is_covered(&f->irqs.list[i]))
			p->wants[p->nr++] = want_of_irqs(&f->irqs.list[i]);
}

/* Finds the instructions of K to replace for sections of KIND. EOPNOTSUPP with the reason: its idle
 * loop was not found, or too few instructions or not all kernel entries can be covered.
 * Deinitialize RET on errors too. */
static struct hv_err *section_plan_make(const struct hv_kernel *k, enum hv_section_kind kind,
					enum section_trust trust, struct section_plan *ret)
{
	hv_cleanup(found_deinit) struct found f = {.idle.nr = 0};
	struct hv_err *err = find_idle(k, &f.idle);

	if (!err && kind != HV_SECTION_IRQ)
		err = find_preempt(k, &f, trust, ret);
	if (!err && kind != HV_SECTION_PREEMPT)
		err = find_irqs(k, &f, trust, ret);
	if (!err)
		make_wants(&f, ret);
	return err;
}

/* -- whether to replace again ------------------------------------------------------------------ */

void hv_section_modules_deinit(struct hv_section_modules *m)
{
	free(m->list);
	*m = (struct hv_section_modules){0};
}

static void count_replaced(struct hv_section_modules *m, const struct hv_tracee *t)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_DETOUR, &undo);

	for (size_t i = 0; i < nr; i++) {
		const struct hv_module *module = hv_module_at(&t->kernel->modules, undo[i].gva);

		if (module)
			m->list[module - t->kernel->modules.list].nr_replaced++;
	}
}

void hv_section_modules_note(struct hv_section_modules *m, const struct hv_tracee *t)
{
	const struct hv_modules *modules = &t->kernel->modules;

	hv_section_modules_deinit(m);
	m->list = hv_alloc((modules->nr + 1) * sizeof(*m->list));
	m->nr = modules->nr;
	for (size_t i = 0; i < modules->nr; i++)
		m->list[i] = (struct hv_section_module){.at = modules->list[i].at,
							.text = modules->list[i].text};
	count_replaced(m, t);
}

static int by_text(const void *a, const void *b)
{
	const struct hv_section_module *x = a, *y = b;

	return x->text.start.v < y->text.start.v ? -1 : x->text.start.v > y->text.start.v;
}

bool hv_section_modules_have_come(const struct hv_section_modules *m, const struct hv_tracee *t)
{
	hv_cleanup(hv_section_modules_deinit) struct hv_section_modules now = {0};

	hv_section_modules_note(&now, t);
	for (size_t i = 0; i < now.nr; i++) {
		const struct hv_section_module *was = NULL, *is = &now.list[i];

		if (m->nr)
			was = bsearch(is, m->list, m->nr, sizeof(*is), by_text);
		if (!was || was->at.v != is->at.v || was->text.end.v != is->text.end.v ||
		    is->nr_replaced < was->nr_replaced)
			return true;
	}
	return false;
}

/* -- records of a section ---------------------------------------------------------------------- */

/* Enough for a stack, a task record before it, and records of interrupts in between. */
#define STACK_RECORDS_MAX 1024

static struct hv_ring ring_of(const struct hv_section_ring *r)
{
	struct hv_ring ring;

	hv_ring_init(&ring, r->state, (const struct hv_record *)(r->state + 1), r->nr_slots);
	return ring;
}

static uint64_t position_of(const struct hv_section_ring *r, uint64_t head)
{
	return head / sizeof(struct hv_record) - r->nr_slots;
}

/* Returns false if there is no complete record, or if it was overwritten. */
static bool read_at(struct hv_ring *ring, uint64_t position, struct hv_record *ret)
{
	uint64_t lost;

	ring->position = position;
	return hv_ring_read(ring, 0, ret, &lost) == HV_RING_RECORD;
}

static uint64_t ns_of(const struct hv_section_ring *r, uint64_t tsc)
{
	return hv_clocks_event_ns(r->decoder->clocks, HV_TRACE_CLOCK_GUEST, r->cpu, tsc);
}

static void decode_record(const struct hv_section_ring *r, const struct hv_record *record,
			  struct hv_event *ret)
{
	hv_decoder_event(r->decoder, record, NULL, ret);
	ret->cpu = r->cpu;
	ret->time_ns = ns_of(r, hv_record_tsc(record));
	if (ret->kind == HV_EVENT_GRAPH_EXIT)
		ret->call_ns = ns_of(r, hv_record_call_tsc(record));
	hv_decoder_name_task(r->decoder, ret);
}

/* The task record of the section's task may be so old that the ring no longer contains it. */
static void name(const struct hv_section *section, struct hv_event *event)
{
	if (event->pid == section->to.pid)
		memcpy(event->comm, section->to.comm, sizeof(event->comm));
}

/* Excludes the two ends of the section, which are already known. */
static bool is_call(const struct hv_event *event)
{
	return event->kind == HV_EVENT_GRAPH_ENTRY || event->kind == HV_EVENT_GRAPH_EXIT ||
	       (event->kind == HV_EVENT_FUNCTION && !event->of_section);
}

void hv_section_log_calls(const struct hv_section_ring *r, const struct hv_sections *kept,
			  hv_section_wants wants, void *ctx, struct hv_section *ret)
{
	struct hv_ring ring = ring_of(r);
	uint64_t from = position_of(r, kept->from_head), to = position_of(r, kept->to_head);
	uint64_t max = r->nr_slots < HV_SECTION_CALLS_MAX ? r->nr_slots : HV_SECTION_CALLS_MAX;
	struct hv_record record;
	struct hv_event event;

	if (to - from > UINT64_MAX / 2) /* invalid positions */
		return;
	if (to - from > max) {
		ret->nr_lost = to - from - max;
		from = to - max;
	}
	ret->calls = hv_alloc((to - from + 1) * sizeof(*ret->calls));
	for (; from != to; from++) {
		if (!read_at(&ring, from, &record)) {
			ret->nr_lost++;
			continue;
		}
		if (hv_record_kind(&record) == HV_RECORD_TASK)
			hv_decoder_note_old_task(r->decoder, &record);
		if (!hv_record_is_event(&record))
			continue;
		decode_record(r, &record, &event);
		if (!is_call(&event) || (wants && !wants(ctx, &event)))
			continue;
		name(ret, &event);
		ret->calls[ret->nr_calls++] = event;
	}
}

static void find_callers(const struct hv_section_ring *r, const struct hv_parts *parts,
			 struct hv_event *event, struct hv_section *ret)
{
	struct hv_gva list[HV_CALLERS_MAX];

	hv_decoder_callers(r->decoder, parts, list, event);
	ret->nr_callers = event->nr_callers;
	ret->callers_end_early = event->callers_end_early;
	ret->callers = hv_alloc((event->nr_callers + 1) * sizeof(*list));
	memcpy(ret->callers, list, event->nr_callers * sizeof(*list));
}

void hv_section_log_stack(const struct hv_section_ring *r, const struct hv_sections *kept,
			  struct hv_section *ret)
{
	struct hv_ring ring = ring_of(r);
	uint64_t at = position_of(r, kept->to_head);
	struct hv_parts parts = {.nr = 0};
	struct hv_record record;
	struct hv_event event;

	for (uint64_t end = at + STACK_RECORDS_MAX; at != end; at++) {
		if (!read_at(&ring, at, &record))
			return;
		if (hv_record_kind(&record) == HV_RECORD_WORDS)
			hv_parts_add(&parts, &record, at, 0);
		if (hv_record_kind(&record) != HV_RECORD_STACK)
			continue;
		decode_record(r, &record, &event);
		if (event.of_section && hv_parts_are_of(&parts, &record, at, 0))
			find_callers(r, &parts, &event, ret);
		if (event.of_section)
			return;
	}
}

/* -- names of a section's addresses ------------------------------------------------------------ */

/* There is room for all addresses of a section. */
static void add(struct hv_section *s, const struct hv_kernel *k, struct hv_gva at)
{
	if (at.v && !hv_gva_in(at, k->text))
		s->names[s->nr_names++] = (struct hv_section_name){.at = at};
}

static void add_event(struct hv_section *s, const struct hv_kernel *k, const struct hv_event *e)
{
	add(s, k, e->ip);
	add(s, k, e->parent_ip);
}

static void remove_doubles(struct hv_section *s)
{
	size_t nr = 0;

	qsort(s->names, s->nr_names, sizeof(*s->names), hv_section_by_address);
	for (size_t i = 0; i < s->nr_names; i++)
		if (!nr || s->names[nr - 1].at.v != s->names[i].at.v)
			s->names[nr++] = s->names[i];
	s->nr_names = nr;
	s->names = hv_realloc_array(s->names, nr + 1, sizeof(*s->names));
}

static void look_up(struct hv_section_name *n, const struct hv_kernel *k)
{
	const char *name, *module;

	if (!hv_kernel_symbol_at(k, n->at, &name, &module, &n->off))
		return;
	n->name = hv_strdup(name);
	n->module = module ? hv_strdup(module) : NULL;
	n->len_bytes = hv_kernel_symbol_size(k, n->at);
}

void hv_section_keep_names(struct hv_section *s, const struct hv_kernel *k)
{
	s->names = hv_alloc((2 * (s->nr_calls + 2) + s->nr_callers) * sizeof(*s->names));
	add_event(s, k, &s->from);
	add_event(s, k, &s->to);
	for (size_t i = 0; i < s->nr_calls; i++)
		add_event(s, k, &s->calls[i]);
	for (size_t i = 0; i < s->nr_callers; i++)
		add(s, k, s->callers[i]);
	remove_doubles(s);
	for (size_t i = 0; i < s->nr_names; i++)
		look_up(&s->names[i], k);
}

/* -- the tracer -------------------------------------------------------------------------------- */

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
	enum section_trust trust;
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

static bool find_detoured(void *ctx, uint32_t low_bits, struct hv_gva *ret)
{
	const struct hv_section_tracer *s = ctx;

	return hv_detours_find(s->detours, low_bits, ret);
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
	decoder->decode.find_detoured = find_detoured;
	decoder->decode.detours = s;
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
	s->trust = SECTION_FORCED;
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
static struct hv_err *check_refused(const struct section_plan *p)
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

static struct hv_err *patch(struct hv_section_tracer *s, struct section_plan *p)
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

static void note_coverage(struct hv_section_tracer *s, const struct section_plan *p)
{
	s->coverage = (struct hv_section_coverage){.nr_covered = p->nr_covered,
						   .nr_retargeted = p->nr_retargeted,
						   .nr_left = p->nr_left};
	s->nr_left = p->nr_named;
	memcpy(s->left, p->left, p->nr_named * sizeof(*p->left));
}

static struct hv_err *change(struct hv_section_tracer *s, enum hv_section_kind kind)
{
	hv_cleanup(section_plan_deinit) struct section_plan p = {.nr = 0};
	struct hv_err *err = section_plan_make(s->tracee->kernel, kind, s->trust, &p);

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
	 * restored continue to call their trampolines. */
	err = hv_detours_put_back(s->tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr_put_back);
	if (err && err->code == EBUSY) {
		hv_err_free(err);
		err = NULL;
	}
	if (!err && !s->tracee->kernel->layout.has_task_line)
		err = hv_err_new(EOPNOTSUPP, "BTF: cannot find a task's priorities and uid");
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
	hv_detours_find(s->detours, end->detour, &ret->ip);
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
