/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of a frame (the caller's frame pointer and the return address) is below the frame
 * pointer. If the return address is in exception code, the frame pointer belongs to the exception
 * handler and points to the struct pt_regs of the interrupted code. The struct pt_regs of a task's
 * last kernel entry is at the end of its stack. Source: arch/riscv/kernel/stacktrace.c, entry.S. */
#include "kernel/tasks/frame_chain.h"

#include "kernel/kernel.h"
#include "kernel/arch/kernel_arch.h"

#define FRAMES_MAX 256
#define ALIGNMENT  16u /* of the stack pointer and of the registers at the stack's end */
#define WORD	   8u

struct chain {
	struct hv_span copy;
	struct hv_gva start;
	struct hv_gva_range exceptions; /* the exception code */
	uint64_t last;			/* address of the registers at the stack's end */
	uint32_t fp_off;		/* offset in struct pt_regs, like code_offs */
	uint32_t code_offs[HV_REGS_CODE];
};

static bool find_chain(const struct hv_kernel *k, struct hv_span copy, struct hv_gva start,
		       struct chain *ret)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);
	uint32_t len;

	*ret = (struct chain){.copy = copy, .start = start};
	if (!hv_kernel_symbol(k, arch->hides_return[0], &ret->exceptions.start) ||
	    !hv_kernel_symbol(k, arch->hides_return[1], &ret->exceptions.end) ||
	    !hv_btf_size(k->core.btf, "pt_regs", &len) ||
	    !hv_btf_member(k->core.btf, "pt_regs", arch->frame_chain.regs_fp, &ret->fp_off, NULL))
		return false;
	for (unsigned i = 0; i < HV_REGS_CODE; i++)
		if (!hv_btf_member(k->core.btf, "pt_regs", arch->frame_chain.regs_code[i],
				   &ret->code_offs[i], NULL))
			return false;
	ret->last = start.v + copy.len_bytes - (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return true;
}

static bool word_at(const struct chain *c, uint64_t at, uint64_t *ret)
{
	return hv_span_u64(c->copy, at - c->start.v, ret);
}

/* Checks the interrupted code whose registers are at REGS. */
static enum hv_sleeper look_at_exception(const struct chain *c, const struct hv_scan_for *wanted,
					 uint64_t regs, uint64_t *ret_fp)
{
	uint64_t word;

	for (unsigned i = 0; i < HV_REGS_CODE; i++) {
		if (!word_at(c, regs + c->code_offs[i], &word))
			return HV_SLEEPER_UNKNOWN;
		if (hv_scan_wants(wanted, hv_gva(word)))
			return HV_SLEEPER_INSIDE;
	}
	return word_at(c, regs + c->fp_off, ret_fp) ? HV_SLEEPER_ELSEWHERE : HV_SLEEPER_UNKNOWN;
}

enum hv_sleeper hv_frame_chain_look(const struct hv_kernel *k, const struct hv_scan_for *wanted,
				    struct hv_span copy, struct hv_gva start, uint64_t fp)
{
	struct chain c;

	if (!find_chain(k, copy, start, &c))
		return HV_SLEEPER_UNKNOWN;
	if (start.v == c.last) /* the task has not run yet */
		return HV_SLEEPER_ELSEWHERE;
	for (unsigned i = 0; i < FRAMES_MAX && fp != c.last; i++) {
		enum hv_sleeper found = HV_SLEEPER_ELSEWHERE;
		struct hv_gva caller;
		uint64_t next, to;

		if (fp % WORD || !word_at(&c, fp - 2 * WORD, &next) || !word_at(&c, fp - WORD, &to))
			return HV_SLEEPER_UNKNOWN;
		caller = hv_gva(to);
		if (hv_scan_wants(wanted, caller) &&
		    hv_sleeper_is_call(wanted, hv_gva(fp - WORD), &caller))
			return HV_SLEEPER_INSIDE;
		if (hv_gva_in(caller, c.exceptions))
			found = look_at_exception(&c, wanted, fp, &next);
		if (found != HV_SLEEPER_ELSEWHERE)
			return found;
		if (next <= fp)
			return HV_SLEEPER_UNKNOWN;
		fp = next;
	}
	return fp == c.last ? HV_SLEEPER_ELSEWHERE : HV_SLEEPER_UNKNOWN;
}
