/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel never jumps into the middle of one of these instructions: its alternatives, static
 * calls and static keys replace other instructions, and alternatives are only applied while the
 * kernel or a module starts. It remains to prove that the bytes are an instruction, by decoding
 * their function. */
#include "kernel/code/preempt_sites.h"

#include <stdlib.h>
#include <string.h>

#include "arch/preempt_count.h"
#include "base/grow.h"
#include "kernel/code/text_search.h"
#include "kernel/kernel.h"
#include "kernel/tasks/orc.h"
#include "kernel/core/function_code.h"

#define SITES_MAX 200000

static const char *const counters[] = {HV_PREEMPT_COUNTS_BY_CALL, "__local_bh_disable_ip",
				       "preempt_count_sub"};
/* The last counter. It subtracts, even if its instruction adds a negative amount. */
#define SUBTRACTS 2

static const char *const reasons[] = {
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
	return reasons[cover];
}

struct search {
	const struct hv_kernel *kernel;
	const struct hv_arch *arch;
	struct hv_orc *orc; /* owned; NULL: none */
	struct hv_gva_range entry;
	struct hv_preempt_sites *found;
	size_t cap;
};

static void search_deinit(struct search *s)
{
	hv_orc_free(s->orc);
}

static struct hv_preempt_site *add(struct search *s)
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
static enum hv_preempt_cover cover_of(const struct search *s, const struct hv_preempt_site *site)
{
	if (site->count.amount & hv_nmi_mask(s->kernel->layout.context_bits))
		return HV_PREEMPT_OF_NMIS;
	if (hv_gva_in(site->at, s->entry))
		return HV_PREEMPT_IN_ENTRY;
	if (crosses_pages(s->arch, site))
		return HV_PREEMPT_IN_TWO_PAGES;
	return HV_PREEMPT_COVERED;
}

/* Returns whether AT is in counter NR. */
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
static struct hv_err *find_candidates(struct search *s, struct hv_span text, struct hv_gva start)
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
		if (s->found->nr == SITES_MAX)
			return hv_err_new(EINVAL, "more than %u places count preemption",
					  SITES_MAX);
		site = add(s);
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

static void refuse(struct hv_preempt_site *site, enum hv_preempt_cover cover)
{
	if (site->cover == HV_PREEMPT_COVERED)
		site->cover = cover;
}

static void check_target(struct walk *w, struct hv_gva target)
{
	for (size_t i = 0; i < w->nr; i++)
		if (target.v - w->sites[i].at.v - 1 < w->sites[i].count.len_bytes - 1)
			refuse(&w->sites[i], HV_PREEMPT_JUMPED_INTO);
}

static void check_flags(struct walk *w, const struct hv_insn *insn)
{
	if (insn->flags_used & w->flags)
		refuse(w->last, HV_PREEMPT_FLAGS_USED);
	w->flags &= ~insn->flags_set;
}

static bool look_at(void *ctx, const struct hv_insn *insn)
{
	struct walk *w = ctx;

	check_flags(w, insn);
	if (insn->has_target)
		check_target(w, insn->target);
	while (w->next < w->nr && w->sites[w->next].at.v < insn->at.v)
		refuse(&w->sites[w->next++], HV_PREEMPT_NO_INSN);
	if (w->next < w->nr && w->sites[w->next].at.v == insn->at.v) {
		struct hv_preempt_site *site = &w->sites[w->next++];

		if (insn->len_bytes != site->count.len_bytes)
			refuse(site, HV_PREEMPT_NO_INSN);
		if (!site->count.subtracts) {
			w->last = site;
			w->flags = HV_FLAGS_ALL;
		}
	}
	return true;
}

/* A preempt-off section most often ends in the function in which it begins. NMIs begin and end
 * theirs without a detour, and bytes that are not an instruction begin no section. */
static void note_missed_beginnings(struct hv_preempt_site *sites, size_t nr)
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
static size_t check_function(const struct search *s, struct hv_span text, struct hv_gva start,
			     struct hv_preempt_site *sites, size_t nr)
{
	struct walk w = {.sites = sites};
	struct hv_span code;
	struct hv_gva code_at;

	if (!hv_text_function(s->kernel, text, start, sites[0].at, &code, &code_at)) {
		refuse(&sites[0], HV_PREEMPT_IN_NO_FUNCTION);
		return 1;
	}
	while (w.nr < nr && (!w.nr || sites[w.nr].at.v - code_at.v < code.len_bytes))
		w.nr++;
	s->arch->walk_code(code, code_at, look_at, &w);
	while (w.next < w.nr)
		refuse(&sites[w.next++], HV_PREEMPT_NOT_UNDERSTOOD);
	note_missed_beginnings(sites, w.nr);
	return w.nr;
}

static struct hv_err *search_text(void *ctx, struct hv_span text, struct hv_gva start)
{
	struct search *s = ctx;
	size_t first = s->found->nr;
	struct hv_err *err = find_candidates(s, text, start);

	for (size_t i = first; !err && i < s->found->nr;)
		i += check_function(s, text, start, &s->found->list[i], s->found->nr - i);
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
	hv_cleanup(search_deinit) struct search s = {
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
	err = hv_text_search(k, search_text, &s);
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
