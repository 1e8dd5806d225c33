#include "kernel/unwind.h"

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

size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_stubs *stubs, struct hv_gva *ret, size_t max)
{
	struct hv_unwind_frame f = {.sp = words->sp, .bp = words->bp};
	void *ctx = (void *)(uintptr_t)words;
	size_t nr = 0;

	if (!arch->unwind(&arch->entry_rule, word_at, ctx, &f))
		return 0;
	for (size_t steps = 0; steps < HV_CALLERS_MAX && nr < max; steps++) {
		bool in_stub = is_stub(stubs, &f);
		struct hv_unwind_rule rule;

		/* A word that is no text has 31 bits only: it was user code, or nothing. */
		if (!in_stub && (f.ip.v < HV_TEXT_BIT || !hv_orc_is_text(orc, f.ip)))
			break;
		if (!in_stub)
			ret[nr++] = f.ip;
		if (in_stub)
			rule = stubs->rule;
		else if (!hv_orc_find(orc, hv_gva(f.exact ? f.ip.v : f.ip.v - 1), &rule))
			rule = arch->frame_pointer_rule;
		if (!arch->unwind(&rule, word_at, ctx, &f))
			break;
	}
	return nr;
}
