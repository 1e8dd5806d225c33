/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tasks/unwind.h"

#define STACK_LEN 0x4000 /* THREAD_SIZE of kernels without KASAN */

static bool word_at(void *ctx, uint32_t at, uint64_t *ret)
{
	const struct hv_stack_words *words = ctx;

	for (size_t i = 0; i < words->nr; i++) {
		if (words->list[i].at != at)
			continue;
		*ret = words->list[i].value;
		if (words->list[i].is_text)
			*ret = words->text_base.v + (HV_TEXT_BIT | *ret);
		return true;
	}
	return false;
}

static bool is_stub(const struct hv_unwind_stubs *stubs, const struct hv_unwind_frame *f)
{
	return stubs && !f->exact && hv_gva_in(f->ip, stubs->code);
}

static struct hv_unwind_rule rule_of(struct hv_orc *orc, const struct hv_arch *arch,
				     const struct hv_unwind_stubs *stubs,
				     const struct hv_unwind_frame *f)
{
	struct hv_unwind_rule rule;

	if (is_stub(stubs, f))
		return stubs->rule;
	if (hv_orc_find(orc, hv_gva(f->exact ? f->ip.v : f->ip.v - 1), &rule))
		return rule;
	return arch->frame_pointer_rule;
}

/* Returns whether a return address follows SP on this stack. */
static bool goes_on(const struct hv_stack_words *words, uint32_t sp)
{
	for (size_t i = 0; i < words->nr; i++)
		if (words->list[i].is_text && words->list[i].at - sp < STACK_LEN)
			return true;
	return false;
}

/* Entries that end a stack are also at the entries of thunks (UNWIND_HINT_EMPTY before 6.3), whose
 * return address ORC does not describe. An interrupt can arrive there, in the middle of a stack. */
static bool is_whole(enum hv_unwound unwound, const struct hv_stack_words *words,
		     const struct hv_unwind_frame *f)
{
	return unwound == HV_UNWOUND_END && !(f->exact && goes_on(words, f->sp));
}

size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_stubs *stubs, struct hv_gva *ret, size_t max,
		 bool *ret_early)
{
	struct hv_unwind_frame f = {.sp = words->sp, .bp = words->bp, .ip = words->ip};
	void *ctx = (void *)(uintptr_t)words;
	enum hv_unwound unwound = HV_UNWOUND_CALLER;
	size_t nr = 0;

	f.exact = words->ip.v != 0;
	if (!f.exact)
		unwound = arch->unwind(&arch->entry_rule, word_at, ctx, &f);
	for (size_t steps = 0; unwound == HV_UNWOUND_CALLER && steps < HV_CALLERS_MAX; steps++) {
		struct hv_unwind_rule rule;

		if (!is_stub(stubs, &f)) {
			if (nr == max)
				break;
			/* Init code called the first CPU's idle task. The kernel keeps names and
			 * ORC of init code (__kernel_text_address). */
			if (!hv_orc_is_text(orc, f.ip) && !hv_orc_is_init_text(orc, f.ip)) {
				*ret_early = true;
				return nr;
			}
			ret[nr++] = f.ip;
		}
		rule = rule_of(orc, arch, stubs, &f);
		unwound = arch->unwind(&rule, word_at, ctx, &f);
	}
	*ret_early = !is_whole(unwound, words, &f);
	return nr;
}

size_t hv_unwind_records(const struct hv_stack_words *words, struct hv_gva *ret, size_t max,
			 bool *ret_early)
{
	size_t nr = 0;

	*ret_early = true;
	while (nr < words->nr && nr < max && words->list[nr].is_text) {
		ret[nr] = hv_gva_add(words->text_base, HV_TEXT_BIT | words->list[nr].value);
		nr++;
	}
	if (nr < words->nr && !words->list[nr].is_text)
		*ret_early = false;
	return nr;
}
