/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/function_code.h"

#include <string.h>

#define FUNCTION_BYTES 4096u

struct hv_span hv_function_code(const struct hv_kernel_core *core, struct hv_gva start,
				size_t max_bytes)
{
	const struct hv_symbols *s = &core->symbols;
	const struct hv_symbol *symbol = hv_symbols_at(s, start), *end = s->by_addr + s->nr;
	struct hv_span code = hv_image_part(&core->image, start, max_bytes);

	while (symbol && symbol < end && symbol->addr.v <= start.v)
		symbol++;
	if (symbol && symbol < end && symbol->addr.v - start.v < code.len_bytes)
		code.len_bytes = symbol->addr.v - start.v;
	return code;
}

bool hv_function_find_reference(const struct hv_kernel_core *core, const char *function,
				bool (*is_it)(const struct hv_kernel_core *core, struct hv_gva at,
					      const void *ctx),
				const void *ctx, struct hv_gva *ret)
{
	const struct hv_arch *arch = core->as.arch;
	struct hv_gva start, may_be[HV_REFERENCES_MAX];
	struct hv_span code;

	if (!arch->references_at || !hv_core_symbol(core, function, &start))
		return false;
	code = hv_function_code(core, start, FUNCTION_BYTES);
	for (size_t off = 0; off < code.len_bytes; off++) {
		struct hv_span rest = {code.data + off, code.len_bytes - off};
		unsigned nr = arch->references_at(rest, hv_gva_add(start, off), may_be);

		for (unsigned i = 0; i < nr; i++) {
			if (!is_it(core, may_be[i], ctx))
				continue;
			*ret = may_be[i];
			return true;
		}
	}
	return false;
}

/* Returns whether the string CTX is at AT. The kernel's text contains no strings. */
static bool is_string(const struct hv_kernel_core *core, struct hv_gva at, const void *ctx)
{
	const char *text = ctx;
	size_t len = strlen(text) + 1;
	struct hv_span found = hv_image_part(&core->image, at, len);

	return !hv_gva_in(at, core->image.text) && hv_span_has(found, 0, len) &&
	       memcmp(found.data, text, len) == 0;
}

bool hv_function_refers_to(const struct hv_kernel_core *core, const char *function,
			   const char *text)
{
	struct hv_gva at;

	return hv_function_find_reference(core, function, is_string, text, &at);
}

static bool is_address(const struct hv_kernel_core *core hv_unused, struct hv_gva at,
		       const void *ctx)
{
	return at.v == ((const struct hv_gva *)ctx)->v;
}

bool hv_function_uses(const struct hv_kernel_core *core, const char *function, struct hv_gva at)
{
	struct hv_gva found;

	return hv_function_find_reference(core, function, is_address, &at, &found);
}

#define COUNTER_BYTES 256u

#define HARDIRQ_OFFSET	     0x10000u
#define HARDIRQ_DISABLE_BITS 8

bool hv_preempt_count_insn(const struct hv_kernel_core *core, uint64_t percpu, const char *function,
			   uint32_t least, struct hv_count_insn *ret)
{
	const struct hv_arch *arch = core->as.arch;
	struct hv_gva start;
	struct hv_span code;

	if (!arch->classify_count || !hv_core_symbol(core, function, &start))
		return false;
	code = hv_function_code(core, start, COUNTER_BYTES);
	for (size_t off = 0; off < code.len_bytes; off++) {
		struct hv_span rest = {code.data + off, code.len_bytes - off};

		if (arch->classify_count(rest, hv_gva_add(start, off), percpu, ret) &&
		    ret->amount >= least)
			return true;
	}
	return false;
}

/* If no instruction shows it, the kernel has HARDIRQ_DISABLE_BITS if it has the per-CPU variable
 * that saves the interrupt state at the first nested disable (include/linux/interrupt_rc.h). */
uint8_t hv_preempt_count_shift(const struct hv_kernel_core *core, uint64_t percpu)
{
	struct hv_count_insn begins;
	struct hv_gva state;

	if (hv_preempt_count_insn(core, percpu, "irq_enter_rcu", HARDIRQ_OFFSET, &begins))
		return begins.amount == HARDIRQ_OFFSET << HARDIRQ_DISABLE_BITS
			       ? HARDIRQ_DISABLE_BITS
			       : 0;
	return hv_core_symbol(core, "local_interrupt_disable_state", &state) ? HARDIRQ_DISABLE_BITS
									     : 0;
}

bool hv_preempt_count_is_wide(const struct hv_kernel_core *core, uint64_t percpu)
{
	struct hv_count_insn insn;

	return (hv_preempt_count_insn(core, percpu, HV_PREEMPT_COUNTS, 0, &insn) ||
		hv_preempt_count_insn(core, percpu, HV_PREEMPT_COUNTS_BY_CALL, 0, &insn)) &&
	       insn.is_wide;
}
