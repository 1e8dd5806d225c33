/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sections/section_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/code/section_sites.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "tracer/guest/tracee.h"
#include "tracer/places/detours.h"

/* -- the instructions to replace --------------------------------------------------------------- */

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
		return hv_err_new(EOPNOTSUPP, "where this kernel's idle loop begins and ends was"
					      " not found, or cannot be changed");
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

void hv_section_plan_deinit(struct hv_section_plan *p)
{
	free(p->wants);
}

bool hv_sections_cover_enough(size_t nr_covered, size_t nr)
{
	return nr_covered * 100 >= nr * COVERED_PERCENT_MIN;
}

static struct hv_err *check_enough(enum hv_section_trust trust, size_t nr_covered, size_t nr,
				   const char *what)
{
	if (trust == HV_SECTION_FORCED || hv_sections_cover_enough(nr_covered, nr))
		return NULL;
	return hv_err_mark(hv_err_new(EOPNOTSUPP,
				      "only %zu of the %zu places where this kernel switches %s"
				      " can be covered, too few to trust",
				      nr_covered, nr, what),
			   HV_ERR_NEEDS_FORCE);
}

static void note_left(struct hv_section_plan *p, struct hv_gva at, const char *reason)
{
	p->nr_left++;
	if (p->nr_named < HV_SECTION_LEFT_MAX)
		p->left[p->nr_named++] = (struct hv_section_left){at, reason};
}

static struct hv_err *find_preempt(const struct hv_kernel *k, struct found *f,
				   enum hv_section_trust trust, struct hv_section_plan *p)
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
				enum hv_section_trust trust, struct hv_section_plan *p)
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
	if (f->irqs.nr_entries_left && trust != HV_SECTION_FORCED)
		return hv_err_mark(hv_err_new(EOPNOTSUPP,
					      "%zu of the ways into this kernel cannot be covered",
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

static void make_wants(const struct found *f, struct hv_section_plan *p)
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

struct hv_err *hv_section_plan_make(const struct hv_kernel *k, enum hv_section_kind kind,
				    enum hv_section_trust trust, struct hv_section_plan *ret)
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
