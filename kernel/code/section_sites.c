/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/section_sites.h"

#include <stdlib.h>
#include <string.h>

#include "arch/preempt_count.h"
#include "base/grow.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/code/text_search.h"
#include "kernel/core/fields.h"
#include "kernel/core/function_code.h"
#include "kernel/kernel.h"
#include "kernel/tasks/unwind.h"

/* -- preemption -------------------------------------------------------------------------------- */

/* The kernel never jumps into the middle of one of these instructions: its alternatives, static
 * calls and static keys replace other instructions, and alternatives are only applied while the
 * kernel or a module starts. It remains to prove that the bytes are an instruction, by decoding
 * their function. */

#define PREEMPT_SITES_MAX 200000

static const char *const counters[] = {HV_PREEMPT_COUNTS_BY_CALL, "__local_bh_disable_ip",
				       "preempt_count_sub"};
/* Index in `counters` of preempt_count_sub(), which decreases the count even if its instruction
 * adds: then it adds a negative amount. */
#define SUBTRACTS 2

static const char *const preempt_reasons[] = {
	[HV_PREEMPT_COVERED] = "covered",
	[HV_PREEMPT_OF_NMIS] = "of NMIs",
	[HV_PREEMPT_IN_ENTRY] = "in the entry code",
	[HV_PREEMPT_IN_TWO_PAGES] = "in two pages",
	[HV_PREEMPT_IN_NO_FUNCTION] = "in no function",
	[HV_PREEMPT_NO_INSN] = "inside other instructions",
	[HV_PREEMPT_NOT_UNDERSTOOD] = "after an unknown instruction",
	[HV_PREEMPT_JUMPED_INTO] = "jumped into",
	[HV_PREEMPT_FLAGS_USED] = "followed by a use of the CPU's flags",
};

const char *hv_preempt_cover_reason(enum hv_preempt_cover cover)
{
	return preempt_reasons[cover];
}

struct preempt_search {
	const struct hv_kernel *kernel;
	const struct hv_arch *arch;
	struct hv_orc *orc; /* owned; NULL: none */
	struct hv_gva_range entry;
	struct hv_preempt_sites *found;
	size_t cap;
};

static void preempt_search_deinit(struct preempt_search *s)
{
	hv_orc_free(s->orc);
}

static struct hv_preempt_site *add_preempt(struct preempt_search *s)
{
	struct hv_preempt_sites *found = s->found;

	found->list = hv_grow(found->list, found->nr, &s->cap, 4096, sizeof(*found->list));
	return &found->list[found->nr++];
}

/* Returns whether the first bytes, which a jump replaces, cross a page boundary. */
static bool crosses_pages(const struct hv_arch *arch, const struct hv_preempt_site *site)
{
	uint64_t page_bytes = arch->entry_span(1);
	size_t len = site->count.len_bytes;

	if (len > HV_DETOUR_PATCH_MAX)
		len = HV_DETOUR_PATCH_MAX;
	return site->at.v % page_bytes + len > page_bytes;
}

/* Checks that do not need the function. */
static enum hv_preempt_cover cover_of(const struct preempt_search *s,
				      const struct hv_preempt_site *site)
{
	if (site->count.amount & hv_nmi_mask(s->kernel->layout.context_bits))
		return HV_PREEMPT_OF_NMIS;
	if (hv_gva_in(site->at, s->entry))
		return HV_PREEMPT_IN_ENTRY;
	if (crosses_pages(s->arch, site))
		return HV_PREEMPT_IN_TWO_PAGES;
	return HV_PREEMPT_COVERED;
}

/* Returns whether AT is in the function counters[NR]. */
static bool is_in(const struct hv_kernel *k, struct hv_gva at, unsigned nr)
{
	struct hv_gva start;

	return hv_kernel_symbol(k, counters[nr], &start) &&
	       at.v - start.v < hv_kernel_symbol_size(k, start);
}

/* Determines the direction of an instruction with a register operand from its function. Returns
 * false if AT is in none of the counters. */
static bool take_counter(const struct hv_kernel *k, struct hv_gva at, struct hv_count_insn *count)
{
	count->subtracts |= is_in(k, at, SUBTRACTS);
	return hv_preempt_is_in_counter(k, at);
}

/* Advances *OFF to the next possible start of such an instruction. Returns false at the end. */
static bool find_begin(const struct hv_arch *arch, struct hv_span text, size_t *off)
{
	const uint8_t *from = text.data + *off;
	const uint8_t *found = memchr(from, arch->count_begins, text.len_bytes - *off);

	if (found)
		*off = (size_t)(found - text.data);
	return found;
}

/* Adds all byte sequences in TEXT that look like such an instruction. */
static struct hv_err *find_candidates(struct preempt_search *s, struct hv_span text,
				      struct hv_gva start)
{
	uint64_t percpu = s->kernel->layout.preempt_count_percpu;

	for (size_t off = 0; find_begin(s->arch, text, &off); off++) {
		struct hv_span code = {text.data + off, text.len_bytes - off};
		struct hv_count_insn count;
		struct hv_preempt_site *site;

		if (!s->arch->classify_count(code, hv_gva_add(start, off), percpu, &count))
			continue;
		if (!count.amount && !take_counter(s->kernel, hv_gva_add(start, off), &count))
			continue;
		if (s->found->nr == PREEMPT_SITES_MAX)
			return hv_err_new(EINVAL, "more than %u places count preemption",
					  PREEMPT_SITES_MAX);
		site = add_preempt(s);
		*site = (struct hv_preempt_site){.at = hv_gva_add(start, off), .count = count};
		memcpy(site->insn, code.data, count.len_bytes);
		site->cover = cover_of(s, site);
	}
	return NULL;
}

/* Decodes one function. */
struct walk {
	struct hv_preempt_site *sites; /* in this function */
	size_t nr;
	size_t next;		      /* the first one not reached yet */
	struct hv_preempt_site *last; /* the last one reached that adds */
	unsigned flags;		      /* CPU flags set by LAST and not since */
};

static void refuse_preempt(struct hv_preempt_site *site, enum hv_preempt_cover cover)
{
	if (site->cover == HV_PREEMPT_COVERED)
		site->cover = cover;
}

static void check_target(struct walk *w, struct hv_gva target)
{
	for (size_t i = 0; i < w->nr; i++)
		if (target.v - w->sites[i].at.v - 1 < w->sites[i].count.len_bytes - 1)
			refuse_preempt(&w->sites[i], HV_PREEMPT_JUMPED_INTO);
}

static void check_flags(struct walk *w, const struct hv_insn *insn)
{
	if (insn->flags_used & w->flags)
		refuse_preempt(w->last, HV_PREEMPT_FLAGS_USED);
	w->flags &= ~insn->flags_set;
}

static bool look_at_preempt(void *ctx, const struct hv_insn *insn)
{
	struct walk *w = ctx;

	check_flags(w, insn);
	if (insn->has_target)
		check_target(w, insn->target);
	while (w->next < w->nr && w->sites[w->next].at.v < insn->at.v)
		refuse_preempt(&w->sites[w->next++], HV_PREEMPT_NO_INSN);
	if (w->next < w->nr && w->sites[w->next].at.v == insn->at.v) {
		struct hv_preempt_site *site = &w->sites[w->next++];

		if (insn->len_bytes != site->count.len_bytes)
			refuse_preempt(site, HV_PREEMPT_NO_INSN);
		if (!site->count.subtracts) {
			w->last = site;
			w->flags = HV_FLAGS_ALL;
		}
	}
	return true;
}

/* A preempt-off section most often ends in the function in which it begins. Instructions that add
 * for NMIs do not matter, because those that subtract for them have no detour either. Bytes that
 * are not an instruction begin no section. */
static void note_missed_preempts(struct hv_preempt_site *sites, size_t nr)
{
	bool misses = false;

	for (size_t i = 0; i < nr; i++)
		misses |= !sites[i].count.subtracts && sites[i].cover != HV_PREEMPT_COVERED &&
			  sites[i].cover != HV_PREEMPT_OF_NMIS &&
			  sites[i].cover != HV_PREEMPT_NO_INSN;
	for (size_t i = 0; i < nr; i++)
		sites[i].misses_beginning = misses && sites[i].count.subtracts;
}

/* Decodes the function of the first of SITES. TEXT begins at START. Returns the number of SITES in
 * it. */
static size_t check_preempts(const struct preempt_search *s, struct hv_span text,
			     struct hv_gva start, struct hv_preempt_site *sites, size_t nr)
{
	struct walk w = {.sites = sites};
	struct hv_span code;
	struct hv_gva code_at;

	if (!hv_text_function(s->kernel, text, start, sites[0].at, &code, &code_at)) {
		refuse_preempt(&sites[0], HV_PREEMPT_IN_NO_FUNCTION);
		return 1;
	}
	while (w.nr < nr && (!w.nr || sites[w.nr].at.v - code_at.v < code.len_bytes))
		w.nr++;
	s->arch->walk_code(code, code_at, look_at_preempt, &w);
	while (w.next < w.nr)
		refuse_preempt(&sites[w.next++], HV_PREEMPT_NOT_UNDERSTOOD);
	note_missed_preempts(sites, w.nr);
	return w.nr;
}

static struct hv_err *search_preempts(void *ctx, struct hv_span text, struct hv_gva start)
{
	struct preempt_search *s = ctx;
	size_t first = s->found->nr;
	struct hv_err *err = find_candidates(s, text, start);

	for (size_t i = first; !err && i < s->found->nr;)
		i += check_preempts(s, text, start, &s->found->list[i], s->found->nr - i);
	for (size_t i = first; !err && i < s->found->nr; i++) {
		struct hv_preempt_site *site = &s->found->list[i];

		site->has_caller = hv_text_caller(s->arch, s->orc, site->at, &site->caller_off);
	}
	return err;
}

bool hv_preempt_is_counted(const struct hv_kernel *k)
{
	uint64_t percpu = k->layout.preempt_count_percpu;
	struct hv_count_insn insn;

	return hv_preempt_count_insn(&k->core, percpu, HV_PREEMPT_COUNTS, 0, &insn) ||
	       hv_preempt_count_insn(&k->core, percpu, HV_PREEMPT_COUNTS_BY_CALL, 0, &insn);
}

bool hv_preempt_is_in_counter(const struct hv_kernel *k, struct hv_gva at)
{
	for (unsigned nr = 0; nr < HV_ARRAY_LEN(counters); nr++)
		if (is_in(k, at, nr))
			return true;
	return false;
}

struct hv_err *hv_preempt_sites_read(const struct hv_kernel *k, struct hv_preempt_sites *ret)
{
	struct hv_preempt_sites found = {0};
	hv_cleanup(preempt_search_deinit) struct preempt_search s = {
		.kernel = k, .arch = k->core.as.arch, .found = &found};
	HV_AUTO_ERR struct hv_err *no_orc = NULL;
	struct hv_err *err;

	if (k->is_starting)
		return hv_err_new(EOPNOTSUPP, "the kernel is still starting");
	if (!s.arch->classify_count)
		return hv_err_new(EOPNOTSUPP, "not supported yet on %s", s.arch->name);
	no_orc = hv_orc_new(k, &s.orc);
	if (!hv_kernel_symbol(k, "__entry_text_start", &s.entry.start) ||
	    !hv_kernel_symbol(k, "__entry_text_end", &s.entry.end))
		s.entry = (struct hv_gva_range){0};
	if (!hv_preempt_is_counted(k))
		return hv_err_new(EOPNOTSUPP, "the kernel does not count where preemption is off"
					      " (CONFIG_PREEMPT_COUNT)");
	err = hv_text_search(k, search_preempts, &s);
	if (err) {
		hv_preempt_sites_deinit(&found);
		return err;
	}
	for (size_t i = 0; i < found.nr; i++)
		found.nr_of[found.list[i].cover]++;
	*ret = found;
	return NULL;
}

void hv_preempt_sites_deinit(struct hv_preempt_sites *s)
{
	free(s->list);
	*s = (struct hv_preempt_sites){0};
}

/* -- interrupts -------------------------------------------------------------------------------- */

/* The kernel never jumps into the middle of a site: the instruction and its nops form one
 * alternative, and alternatives are applied while the kernel or a module starts.
 * tracer/probe_sites/detours.h handles tasks that were interrupted in the middle.
 *
 * In the entry code, ORC shows where the interrupted registers are on top of the stack. Each kernel
 * entry has a direct call of C code at such an address and, on the way back after the call, a jump,
 * a branch or an unused alternative. */

#define IRQ_SITES_MAX 100000

static const char *const irq_reasons[] = {
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
	return irq_reasons[cover];
}

struct irq_search {
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

static void irq_search_deinit(struct irq_search *s)
{
	hv_orc_free(s->orc);
	free(s->targets);
}

static struct hv_irq_site *add_irq(struct irq_search *s, struct hv_gva at)
{
	struct hv_irq_sites *found = s->found;

	found->list = hv_grow(found->list, found->nr, &s->cap, 2048, sizeof(*found->list));
	found->list[found->nr] = (struct hv_irq_site){.at = at};
	return &found->list[found->nr++];
}

/* Returns the text from AT on. */
static struct hv_span code_from(const struct irq_search *s, struct hv_gva at)
{
	uint64_t off = at.v - s->text_at.v;

	if (off > s->text.len_bytes)
		off = s->text.len_bytes;
	return (struct hv_span){s->text.data + off, s->text.len_bytes - off};
}

static void refuse_irq(struct hv_irq_site *site, enum hv_irq_cover cover)
{
	if (hv_irq_is_covered(site))
		site->cover = cover;
}

/* Copies the instruction of LEN bytes to SITE. */
static void set_insn(const struct irq_search *s, struct hv_irq_site *site, size_t len)
{
	struct hv_span code = code_from(s, site->at);
	uint64_t page_bytes = s->arch->entry_span(1);
	size_t patched = len < HV_DETOUR_PATCH_MAX ? len : HV_DETOUR_PATCH_MAX;

	site->len_bytes = len;
	if (len > sizeof(site->insn) || !hv_span_has(code, 0, len))
		refuse_irq(site, HV_IRQ_NOT_UNDERSTOOD);
	else
		memcpy(site->insn, code.data, len);
	if (site->at.v % page_bytes + patched > page_bytes)
		refuse_irq(site, HV_IRQ_IN_TWO_PAGES);
}

/* -- instructions that switch ------------------------------------------------------------------ */

static void add_switch(struct irq_search *s, const struct hv_insn *insn)
{
	static const enum hv_detour_kind kinds[] = {[HV_IRQ_OFF] = HV_DETOUR_IRQS_OFF,
						    [HV_IRQ_ON] = HV_DETOUR_IRQS_ON,
						    [HV_IRQ_RESTORES] = HV_DETOUR_CALL_BEGINS};
	struct hv_irq_site *site = add_irq(s, insn->at);
	enum hv_irq_effect effect;
	size_t len = s->arch->classify_irqs(code_from(s, insn->at), &effect);

	site->kind = kinds[insn->irqs];
	set_insn(s, site, len ? len : insn->len_bytes);
	if (insn->irqs == HV_IRQ_RESTORES)
		refuse_irq(site, HV_IRQ_POPS);
	else if (len < s->arch->site_len_bytes)
		refuse_irq(site, HV_IRQ_NO_NOP);
	site->has_caller = hv_text_caller(s->arch, s->orc, site->at, &site->caller_off);
	s->last = s->found->nr - 1;
	s->flags = HV_FLAGS_ALL;
}

static void add_target(struct irq_search *s, struct hv_gva target)
{
	s->targets = hv_grow(s->targets, s->nr_targets, &s->targets_cap, 256, sizeof(*s->targets));
	s->targets[s->nr_targets++] = target;
}

/* -- the entry code ---------------------------------------------------------------------------- */

/* Returns whether the registers of the interrupted code are on top of the stack. */
static bool has_regs(struct irq_search *s, struct hv_gva at)
{
	struct hv_unwind_rule rule;

	return s->orc && hv_orc_find(s->orc, at, &rule) && rule.kind == HV_UNWIND_REGS &&
	       rule.sp_reg == s->arch->entry_rule.sp_reg && rule.sp_off == 0;
}

static bool is_return(const struct irq_search *s, struct hv_gva target)
{
	return target.v && (target.v == s->returns[0].v || target.v == s->returns[1].v);
}

static void add_return(struct irq_search *s, struct hv_gva at, const struct hv_way_back *way)
{
	struct hv_irq_site *site = add_irq(s, at);

	site->kind = HV_DETOUR_RETURNS;
	site->cover = HV_IRQ_RETARGETED;
	site->target = way->target;
	set_insn(s, site, way->len_bytes);
	if (!has_regs(s, at))
		refuse_irq(site, HV_IRQ_NOT_UNDERSTOOD);
}

/* Handles a call in the entry code. If the ways back after several calls join, only one of them has
 * the branch. */
static void look_at_call(struct irq_search *s, const struct hv_insn *insn)
{
	struct hv_gva behind = hv_gva_add(insn->at, insn->len_bytes);
	struct hv_way_back way = s->arch->classify_way_back(code_from(s, behind), behind);
	struct hv_irq_site *site;

	if (way.kind == HV_WAY_BACK_NONE || insn->target.v == s->nmi.v ||
	    hv_gva_in(insn->target, s->entry) || !hv_gva_in(insn->target, s->kernel->text) ||
	    !has_regs(s, insn->at))
		return;
	site = add_irq(s, insn->at);
	site->kind = HV_DETOUR_ARRIVES;
	site->cover = HV_IRQ_RETARGETED;
	site->target = insn->target;
	set_insn(s, site, insn->len_bytes);
	if (way.target.v && way.target.v == s->own_stacks.v)
		refuse_irq(site, HV_IRQ_OWN_STACK);
	else if (way.kind == HV_WAY_BACK_NOP || is_return(s, way.target))
		add_return(s, hv_gva_add(behind, way.off), &way);
}

/* Handles the jump with which a new task enters user mode for the first time. */
static void look_at_jump(struct irq_search *s, const struct hv_insn *insn)
{
	struct hv_way_back way = s->arch->classify_way_back(code_from(s, insn->at), insn->at);

	if (way.kind == HV_WAY_BACK_JUMP && is_return(s, way.target))
		add_return(s, insn->at, &way);
}

/* -- functions --------------------------------------------------------------------------------- */

static bool look_at_irq(void *ctx, const struct hv_insn *insn)
{
	struct irq_search *s = ctx;

	if (s->last != SIZE_MAX && insn->flags_used & s->flags)
		refuse_irq(&s->found->list[s->last], HV_IRQ_FLAGS_USED);
	s->flags &= ~insn->flags_set;
	if (insn->has_target)
		add_target(s, insn->target);
	if (insn->irqs != HV_IRQ_KEEPS)
		add_switch(s, insn);
	else if (insn->has_target && s->is_entry && insn->is_call)
		look_at_call(s, insn);
	else if (insn->has_target && s->is_new_task)
		look_at_jump(s, insn);
	return s->found->nr < IRQ_SITES_MAX;
}

static void check_targets(struct irq_search *s)
{
	for (size_t i = s->first; i < s->found->nr; i++)
		for (size_t t = 0; t < s->nr_targets; t++)
			if (s->targets[t].v - s->found->list[i].at.v - 1 <
			    s->found->list[i].len_bytes - 1)
				refuse_irq(&s->found->list[i], HV_IRQ_JUMPED_INTO);
}

/* An interrupts-off section most often ends in the function in which it begins. */
static void note_missed_irqs(struct irq_search *s)
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
static void add_unknown(struct irq_search *s, struct hv_gva at, struct hv_gva end)
{
	for (; at.v < end.v; at.v++) {
		enum hv_irq_effect effect;
		struct hv_irq_site *site;

		if (s->arch->classify_irqs(code_from(s, at), &effect) < s->arch->site_len_bytes)
			continue;
		site = add_irq(s, at);
		site->kind = effect == HV_IRQ_OFF ? HV_DETOUR_IRQS_OFF : HV_DETOUR_IRQS_ON;
		site->cover = HV_IRQ_NOT_UNDERSTOOD;
	}
}

static bool is_new_task(const struct irq_search *s, struct hv_gva at)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&s->kernel->core);
	struct hv_gva function;

	for (size_t i = 0; i < HV_ARRAY_LEN(arch->entry.new_task); i++)
		if (hv_kernel_symbol(s->kernel, arch->entry.new_task[i], &function) &&
		    function.v == at.v)
			return true;
	return false;
}

static void check_irqs(struct irq_search *s, struct hv_span code, struct hv_gva at)
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
	understood = s->arch->walk_code(code, at, look_at_irq, s);
	check_targets(s);
	add_unknown(s, hv_gva_add(at, understood), hv_gva_add(at, code.len_bytes));
	note_missed_irqs(s);
}

static struct hv_err *search_irqs(void *ctx, struct hv_span text, struct hv_gva start)
{
	struct irq_search *s = ctx;
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
		check_irqs(s, code, code_at);
		at = hv_gva_add(code_at, code.len_bytes ? code.len_bytes : 1);
	}
	if (s->found->nr >= IRQ_SITES_MAX)
		return hv_err_new(EINVAL, "more than %u places switch interrupts", IRQ_SITES_MAX);
	return NULL;
}

/* -- the kernel -------------------------------------------------------------------------------- */

bool hv_irqs_are_paravirt(const struct hv_kernel *k)
{
	uint32_t off;

	return hv_btf_member(k->core.btf, "paravirt_patch_template", "irq.irq_disable", &off, NULL);
}

static struct hv_err *find_entry(struct irq_search *s)
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
		return hv_err_new(EOPNOTSUPP, "interrupts enter this kernel through FRED, which "
					      "hvtrace does not support");
	return NULL;
}

static void count(const struct irq_search *s, struct hv_irq_sites *found)
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
	hv_cleanup(irq_search_deinit) struct irq_search s = {
		.kernel = k, .arch = k->core.as.arch, .found = &found};
	uint32_t off;
	const struct hv_field irqs = {"irq.irq_disable", 8, &off};
	struct hv_err *err;

	if (k->is_starting)
		return hv_err_new(EOPNOTSUPP, "the kernel is still starting");
	if (!s.arch->classify_irqs)
		return hv_err_new(EOPNOTSUPP, "not supported yet on %s", s.arch->name);
	err = hv_types_are_whole(&k->core)
		      ? NULL
		      : hv_fields_find(&k->core, "paravirt_patch_template", &irqs, 1);
	if (err) {
		err->code = EOPNOTSUPP;
		return err;
	}
	if (!hv_irqs_are_paravirt(k))
		return hv_err_new(EOPNOTSUPP,
				  "the kernel leaves no room for calls where it switches interrupts"
				  " (CONFIG_PARAVIRT_XXL)");
	err = hv_orc_new(k, &s.orc);
	if (!err)
		err = find_entry(&s);
	if (!err)
		err = hv_text_search(k, search_irqs, &s);
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
