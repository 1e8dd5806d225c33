/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel never jumps into the middle of a site: the instruction and its nops form one
 * alternative, and alternatives are applied while the kernel or a module starts.
 * tracer/places/detours.h handles tasks that were interrupted in the middle.
 *
 * In the entry code, ORC shows where the interrupted registers are on top of the stack. Each kernel
 * entry has a direct call of C code at such an address and, on the way back after the call, a jump,
 * a branch or an unused alternative. */
#include "kernel/code/irq_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/kernel.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/tasks/orc.h"
#include "kernel/code/text_search.h"

#define SITES_MAX 100000

static const char *const reasons[] = {
	[HV_IRQ_RELOCATED] = "relocated",
	[HV_IRQ_RETARGETED] = "retargeted",
	[HV_IRQ_NO_NOP] = "without its own nops",
	[HV_IRQ_POPS] = "restores the flags",
	[HV_IRQ_OWN_STACK] = "of an exception with its own stack",
	[HV_IRQ_IN_TWO_PAGES] = "in two pages",
	[HV_IRQ_NOT_UNDERSTOOD] = "after an unknown instruction",
	[HV_IRQ_JUMPED_INTO] = "jumped into",
	[HV_IRQ_FLAGS_USED] = "followed by a use of the CPU's flags",
};

const char *hv_irq_cover_reason(enum hv_irq_cover cover)
{
	return reasons[cover];
}

struct search {
	const struct hv_kernel *kernel;
	const struct hv_arch *arch;
	struct hv_orc *orc; /* owned; NULL: none */
	struct hv_gva_range entry;
	/* As in struct hv_kernel_arch; own_stacks and nmi are 0 if the kernel lacks them. */
	struct hv_gva returns[2];
	struct hv_gva own_stacks;
	struct hv_gva syscall;
	struct hv_gva nmi;
	struct hv_irq_sites *found;
	size_t cap;
	struct hv_span text; /* the text being searched */
	struct hv_gva text_at;
	/* State of the function being decoded: */
	bool is_entry;
	bool is_new_task;	/* of struct hv_kernel_arch */
	size_t first;		/* its first site */
	size_t last;		/* the last one that changes the flag; SIZE_MAX: none */
	unsigned flags;		/* CPU flags set by LAST and not since */
	struct hv_gva *targets; /* owned */
	size_t nr_targets;
	size_t targets_cap;
};

static void search_deinit(struct search *s)
{
	hv_orc_free(s->orc);
	free(s->targets);
}

static struct hv_irq_site *add(struct search *s, struct hv_gva at)
{
	struct hv_irq_sites *found = s->found;

	found->list = hv_grow(found->list, found->nr, &s->cap, 2048, sizeof(*found->list));
	found->list[found->nr] = (struct hv_irq_site){.at = at};
	return &found->list[found->nr++];
}

/* Returns the text from AT on. */
static struct hv_span code_from(const struct search *s, struct hv_gva at)
{
	uint64_t off = at.v - s->text_at.v;

	if (off > s->text.len_bytes)
		off = s->text.len_bytes;
	return (struct hv_span){s->text.data + off, s->text.len_bytes - off};
}

static void refuse(struct hv_irq_site *site, enum hv_irq_cover cover)
{
	if (hv_irq_is_covered(site))
		site->cover = cover;
}

/* Copies the instruction of LEN bytes to SITE. */
static void set_insn(const struct search *s, struct hv_irq_site *site, size_t len)
{
	struct hv_span code = code_from(s, site->at);
	uint64_t page_bytes = s->arch->entry_span(1);
	size_t patched = len < HV_DETOUR_PATCH_MAX ? len : HV_DETOUR_PATCH_MAX;

	site->len_bytes = len;
	if (len > sizeof(site->insn) || !hv_span_has(code, 0, len))
		refuse(site, HV_IRQ_NOT_UNDERSTOOD);
	else
		memcpy(site->insn, code.data, len);
	if (site->at.v % page_bytes + patched > page_bytes)
		refuse(site, HV_IRQ_IN_TWO_PAGES);
}

/* -- instructions that switch ------------------------------------------------------------------ */

static void add_switch(struct search *s, const struct hv_insn *insn)
{
	static const enum hv_detour_kind kinds[] = {[HV_IRQ_OFF] = HV_DETOUR_IRQS_OFF,
						    [HV_IRQ_ON] = HV_DETOUR_IRQS_ON,
						    [HV_IRQ_RESTORES] = HV_DETOUR_CALL_BEGINS};
	struct hv_irq_site *site = add(s, insn->at);
	enum hv_irq_effect effect;
	size_t len = s->arch->classify_irqs(code_from(s, insn->at), &effect);

	site->kind = kinds[insn->irqs];
	set_insn(s, site, len ? len : insn->len_bytes);
	if (insn->irqs == HV_IRQ_RESTORES)
		refuse(site, HV_IRQ_POPS);
	else if (len < s->arch->site_len_bytes)
		refuse(site, HV_IRQ_NO_NOP);
	site->has_caller = hv_text_caller(s->arch, s->orc, site->at, &site->caller_off);
	s->last = s->found->nr - 1;
	s->flags = HV_FLAGS_ALL;
}

static void add_target(struct search *s, struct hv_gva target)
{
	s->targets = hv_grow(s->targets, s->nr_targets, &s->targets_cap, 256, sizeof(*s->targets));
	s->targets[s->nr_targets++] = target;
}

/* -- the entry code ---------------------------------------------------------------------------- */

/* Returns whether the registers of the interrupted code are on top of the stack. */
static bool has_regs(struct search *s, struct hv_gva at)
{
	struct hv_unwind_rule rule;

	return s->orc && hv_orc_find(s->orc, at, &rule) && rule.kind == HV_UNWIND_REGS &&
	       rule.sp_reg == s->arch->entry_rule.sp_reg && rule.sp_off == 0;
}

static bool is_return(const struct search *s, struct hv_gva target)
{
	return target.v && (target.v == s->returns[0].v || target.v == s->returns[1].v);
}

static void add_return(struct search *s, struct hv_gva at, const struct hv_way_back *way)
{
	struct hv_irq_site *site = add(s, at);

	site->kind = HV_DETOUR_RETURNS;
	site->cover = HV_IRQ_RETARGETED;
	site->target = way->target;
	set_insn(s, site, way->len_bytes);
	if (!has_regs(s, at))
		refuse(site, HV_IRQ_NOT_UNDERSTOOD);
}

/* Handles a call in the entry code. If the ways back after several calls join, only one of them has
 * the branch. */
static void look_at_call(struct search *s, const struct hv_insn *insn)
{
	struct hv_gva behind = hv_gva_add(insn->at, insn->len_bytes);
	struct hv_way_back way = s->arch->classify_way_back(code_from(s, behind), behind);
	struct hv_irq_site *site;

	if (way.kind == HV_WAY_BACK_NONE || insn->target.v == s->nmi.v ||
	    hv_gva_in(insn->target, s->entry) || !hv_gva_in(insn->target, s->kernel->text) ||
	    !has_regs(s, insn->at))
		return;
	site = add(s, insn->at);
	site->kind = HV_DETOUR_ARRIVES;
	site->cover = HV_IRQ_RETARGETED;
	site->target = insn->target;
	set_insn(s, site, insn->len_bytes);
	if (way.target.v && way.target.v == s->own_stacks.v)
		refuse(site, HV_IRQ_OWN_STACK);
	else if (way.kind == HV_WAY_BACK_NOP || is_return(s, way.target))
		add_return(s, hv_gva_add(behind, way.off), &way);
}

/* Handles the jump with which a new task enters user mode for the first time. */
static void look_at_jump(struct search *s, const struct hv_insn *insn)
{
	struct hv_way_back way = s->arch->classify_way_back(code_from(s, insn->at), insn->at);

	if (way.kind == HV_WAY_BACK_JUMP && is_return(s, way.target))
		add_return(s, insn->at, &way);
}

/* -- functions --------------------------------------------------------------------------------- */

static bool look_at(void *ctx, const struct hv_insn *insn)
{
	struct search *s = ctx;

	if (s->last != SIZE_MAX && insn->flags_used & s->flags)
		refuse(&s->found->list[s->last], HV_IRQ_FLAGS_USED);
	s->flags &= ~insn->flags_set;
	if (insn->has_target)
		add_target(s, insn->target);
	if (insn->irqs != HV_IRQ_KEEPS)
		add_switch(s, insn);
	else if (insn->has_target && s->is_entry && insn->is_call)
		look_at_call(s, insn);
	else if (insn->has_target && s->is_new_task)
		look_at_jump(s, insn);
	return s->found->nr < SITES_MAX;
}

static void check_targets(struct search *s)
{
	for (size_t i = s->first; i < s->found->nr; i++)
		for (size_t t = 0; t < s->nr_targets; t++)
			if (s->targets[t].v - s->found->list[i].at.v - 1 <
			    s->found->list[i].len_bytes - 1)
				refuse(&s->found->list[i], HV_IRQ_JUMPED_INTO);
}

/* An interrupts-off section most often ends in the function in which it begins. */
static void note_missed_beginnings(struct search *s)
{
	const struct hv_irq_sites *found = s->found;
	bool misses = false;

	for (size_t i = s->first; i < found->nr; i++)
		misses |= found->list[i].kind == HV_DETOUR_IRQS_OFF &&
			  !hv_irq_is_covered(&found->list[i]);
	for (size_t i = s->first; i < found->nr; i++)
		found->list[i].misses_beginning =
			misses && found->list[i].kind == HV_DETOUR_IRQS_ON;
}

/* Adds byte sequences outside the decoded code that look like `cli` or `sti` with nops. */
static void add_unknown(struct search *s, struct hv_gva at, struct hv_gva end)
{
	for (; at.v < end.v; at.v++) {
		enum hv_irq_effect effect;
		struct hv_irq_site *site;

		if (s->arch->classify_irqs(code_from(s, at), &effect) < s->arch->site_len_bytes)
			continue;
		site = add(s, at);
		site->kind = effect == HV_IRQ_OFF ? HV_DETOUR_IRQS_OFF : HV_DETOUR_IRQS_ON;
		site->cover = HV_IRQ_NOT_UNDERSTOOD;
	}
}

static bool is_new_task(const struct search *s, struct hv_gva at)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&s->kernel->core);
	struct hv_gva function;

	for (size_t i = 0; i < HV_ARRAY_LEN(arch->entry.new_task); i++)
		if (hv_kernel_symbol(s->kernel, arch->entry.new_task[i], &function) &&
		    function.v == at.v)
			return true;
	return false;
}

static void check_function(struct search *s, struct hv_span code, struct hv_gva at)
{
	size_t understood;

	s->is_entry = hv_gva_in(at, s->entry);
	s->is_new_task = is_new_task(s, at);
	if (!s->is_entry && !s->is_new_task && !s->arch->may_switch_irqs(code))
		return;
	s->first = s->found->nr;
	s->last = SIZE_MAX;
	s->flags = 0;
	s->nr_targets = 0;
	understood = s->arch->walk_code(code, at, look_at, s);
	check_targets(s);
	add_unknown(s, hv_gva_add(at, understood), hv_gva_add(at, code.len_bytes));
	note_missed_beginnings(s);
}

static struct hv_err *search_text(void *ctx, struct hv_span text, struct hv_gva start)
{
	struct search *s = ctx;
	struct hv_gva at = start;

	s->text = text;
	s->text_at = start;
	while (at.v - start.v < text.len_bytes) {
		struct hv_gva code_at;
		struct hv_span code;

		if (!hv_text_function(s->kernel, text, start, at, &code, &code_at)) {
			at = hv_gva_add(at, 1);
			continue;
		}
		check_function(s, code, code_at);
		at = hv_gva_add(code_at, code.len_bytes ? code.len_bytes : 1);
	}
	if (s->found->nr >= SITES_MAX)
		return hv_err_new(EINVAL, "more than %u places switch interrupts", SITES_MAX);
	return NULL;
}

/* -- the kernel -------------------------------------------------------------------------------- */

bool hv_irqs_are_paravirt(const struct hv_kernel *k)
{
	uint32_t off;

	return hv_btf_member(k->core.btf, "paravirt_patch_template", "irq.irq_disable", &off, NULL);
}

static struct hv_err *find_entry(struct search *s)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&s->kernel->core);
	const struct hv_kernel_core *core = &s->kernel->core;
	struct hv_err *err = hv_core_need(core, arch->entry.bounds[0], &s->entry.start);

	if (!err)
		err = hv_core_need(core, arch->entry.bounds[1], &s->entry.end);
	if (!err)
		err = hv_core_need(core, arch->entry.syscall, &s->syscall);
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(s->returns); i++)
		err = hv_core_need(core, arch->entry.returns[i], &s->returns[i]);
	if (err)
		return err;
	hv_core_symbol(core, arch->entry.own_stacks, &s->own_stacks);
	hv_core_symbol(core, arch->entry.nmi, &s->nmi);
	if (arch->enters_elsewhere(core))
		return hv_err_new(EOPNOTSUPP, "interrupts enter this kernel in a way that is not"
					      " known (FRED)");
	return NULL;
}

static void count(const struct search *s, struct hv_irq_sites *found)
{
	bool has_syscall = false;

	for (size_t i = 0; i < found->nr; i++) {
		const struct hv_irq_site *site = &found->list[i];

		found->nr_of[site->cover]++;
		if (site->kind != HV_DETOUR_ARRIVES || site->cover == HV_IRQ_OWN_STACK)
			continue;
		found->nr_entries_left += !hv_irq_is_covered(site);
		has_syscall |= site->target.v == s->syscall.v;
	}
	found->nr_entries_left += !has_syscall;
}

struct hv_err *hv_irq_sites_read(const struct hv_kernel *k, struct hv_irq_sites *ret)
{
	struct hv_irq_sites found = {0};
	hv_cleanup(search_deinit) struct search s = {
		.kernel = k, .arch = k->core.as.arch, .found = &found};
	struct hv_err *err;

	if (k->is_starting)
		return hv_err_new(EOPNOTSUPP, "the kernel is still starting");
	if (!s.arch->classify_irqs)
		return hv_err_new(EOPNOTSUPP, "not supported yet on %s", s.arch->name);
	if (!hv_irqs_are_paravirt(k))
		return hv_err_new(EOPNOTSUPP, "the kernel has no room where it switches interrupts"
					      " (CONFIG_PARAVIRT_XXL)");
	err = hv_orc_new(k, &s.orc);
	if (!err)
		err = find_entry(&s);
	if (!err)
		err = hv_text_search(k, search_text, &s);
	if (err) {
		hv_irq_sites_deinit(&found);
		return err;
	}
	count(&s, &found);
	*ret = found;
	return NULL;
}

void hv_irq_sites_deinit(struct hv_irq_sites *s)
{
	free(s->list);
	*s = (struct hv_irq_sites){0};
}
