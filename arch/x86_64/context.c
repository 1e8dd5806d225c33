/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt, preemption and scheduling state from the words a stub recorded. As
 * tracing_gen_ctx_irq_test() (kernel/trace/trace.c) has it, with include/linux/preempt.h's layout
 * of the count and arch/x86/include/asm/preempt.h's inverted top bit (since c2daa3bed53a, v3.13).
 */
#include "arch/x86_64/x86_64.h"

#define FLAGS_IF		0x200
#define PREEMPT_MASK		0x000000ff
#define SOFTIRQ_SERVING		0x00000100
#define SOFTIRQ_DISABLED_MASK	0x0000fe00 /* softirq_count() >> (SOFTIRQ_SHIFT + 1) */
#define HARDIRQ_MASK		0x000f0000
#define NMI_MASK		0x00f00000
#define PREEMPT_NO_NEED_RESCHED 0x80000000
#define BITS_31			UINT64_C(0x7fffffff)

/* The stub combines both addresses as they are with one xor (make_call_word in stub_macros.inc).
 * The upper bits of both are ones, so those of the caller come out inverted. */
struct hv_call_addresses x86_64_decode_call(uint64_t word)
{
	return (struct hv_call_addresses){
		.site_end = (uint32_t)(word & BITS_31),
		.caller = (uint32_t)(~(word >> HV_CALLER_SHIFT) & BITS_31),
	};
}

struct hv_context x86_64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					uint16_t thread_flags, struct hv_resched_masks masks)
{
	return (struct hv_context){
		.irqs_off = !(cpu_flags & FLAGS_IF),
		.need_resched = thread_flags & masks.need,
		.need_resched_lazy = thread_flags & masks.lazy,
		.preempt_resched = !(preempt_count & PREEMPT_NO_NEED_RESCHED),
		.nmi = preempt_count & NMI_MASK,
		.hardirq = preempt_count & HARDIRQ_MASK,
		.softirq = preempt_count & SOFTIRQ_SERVING,
		.bh_off = preempt_count & SOFTIRQ_DISABLED_MASK,
		.preempt_depth = preempt_count & PREEMPT_MASK,
	};
}
