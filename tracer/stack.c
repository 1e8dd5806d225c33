/* Who called whom: whether a session can tell, and the telling. */
#include "tracer/session_state.h"

struct hv_err *hv_session_can_unwind(struct hv_session *s)
{
	struct hv_err *err;

	if (s->orc)
		return NULL;
	err = hv_kernel_need_irq_stack(s->kernel);
	if (err)
		return err;
	if (!s->kernel->layout.has_task_stack)
		return hv_err_new(EOPNOTSUPP, "btf: no member stack in struct task_struct");
	return hv_orc_new(s->kernel, &s->orc);
}

size_t hv_session_unwind(struct hv_session *s, const struct hv_parts *words, struct hv_gva *ret,
			 size_t max)
{
	struct hv_stack_words decoded;
	const struct hv_stub_image *image = &s->kernel->core.as.arch->stubs;
	const struct hv_unwind_stubs yields = {
		{s->decode.yields,
		 hv_gva_add(s->decode.yields, HV_NR_YIELDS * image->yield_len_bytes)},
		image->yield_rule,
	};
	size_t nr, known = 0;

	if (!s->orc)
		return 0;
	hv_decode_words(&s->decode, words->list, words->nr, &decoded);
	nr = hv_unwind(s->orc, s->kernel->core.as.arch, &decoded, &yields, ret, max);
	/* The stub tells whom the handler of a graph returns to, if it can be told. */
	while (known < nr && !hv_gva_in(ret[known], s->range))
		known++;
	return known;
}
