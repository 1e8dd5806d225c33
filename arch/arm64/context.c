/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt, preemption and scheduling state from the words of a record. As
 * tracing_gen_ctx_irq_test() (kernel/trace/trace.c) has it, with include/linux/preempt.h's layout
 * of the count. The word that arm64 has for need_resched is the upper half of its 64-bit count
 * (arch/arm64/include/asm/preempt.h, since 396244692232, v5.0), 0 when a reschedule is wanted; in
 * PREEMPT_COUNT of a record its lowest bit is the top one, as x86-64 has it. */
#include "arch/arm64/arm64.h"

#define PSTATE_I		0x80 /* masked */
#define PREEMPT_MASK		0x000000ff
#define SOFTIRQ_SERVING		0x00000100
#define SOFTIRQ_DISABLED_MASK	0x0000fe00
#define HARDIRQ_MASK		0x000f0000
#define NMI_MASK		0x00f00000
#define PREEMPT_NO_NEED_RESCHED 0x80000000

struct hv_context arm64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
				       uint16_t thread_flags, struct hv_resched_masks masks)
{
	return (struct hv_context){
		.irqs_off = cpu_flags & PSTATE_I,
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
