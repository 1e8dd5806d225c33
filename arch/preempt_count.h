/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's preempt count as hv_context_of_count() takes it: include/linux/preempt.h, with the
 * counts of hard interrupts and NMIs count_shift bits higher (struct hv_context_bits). On all
 * architectures, the top bit is set while no reschedule is requested. Whether interrupts are
 * disabled is not in the count but in the CPU's flags. Pure. */
#pragma once

#include "arch/arch.h"

#define HV_PREEMPT_MASK		   0x000000ff
#define HV_SOFTIRQ_SERVING	   0x00000100
#define HV_SOFTIRQ_DISABLED_MASK   0x0000fe00 /* softirq_count() >> (SOFTIRQ_SHIFT + 1) */
#define HV_SOFTIRQ_MASK		   0x0000ff00
#define HV_PREEMPT_NO_NEED_RESCHED 0x80000000

static inline uint32_t hv_hardirq_mask(struct hv_context_bits bits)
{
	return 0x000f0000u << bits.count_shift;
}

/* Excludes the top bit, which is not part of the NMI count. */
static inline uint32_t hv_nmi_mask(struct hv_context_bits bits)
{
	return 0x00f00000u << bits.count_shift & ~HV_PREEMPT_NO_NEED_RESCHED;
}

/* Soft interrupts (served or disabled), hard interrupts and NMIs. */
static inline uint32_t hv_irq_mask(struct hv_context_bits bits)
{
	return HV_SOFTIRQ_MASK | hv_hardirq_mask(bits) | hv_nmi_mask(bits);
}

/* The bits that distinguish task, softirq, hardirq and NMI context. */
static inline uint32_t hv_context_mask(struct hv_context_bits bits)
{
	return HV_SOFTIRQ_SERVING | hv_hardirq_mask(bits) | hv_nmi_mask(bits);
}

/* Decodes COUNT and the thread's flags like tracing_gen_ctx_irq_test() (kernel/trace/trace.c).
 * Inline, because it is needed for each event. */
static inline struct hv_context hv_context_of_count(uint32_t count, uint16_t thread_flags,
						    struct hv_context_bits bits)
{
	unsigned flags = 0;

	flags |= thread_flags & bits.need ? HV_CONTEXT_NEED_RESCHED : 0;
	flags |= thread_flags & bits.lazy ? HV_CONTEXT_NEED_RESCHED_LAZY : 0;
	flags |= count & HV_PREEMPT_NO_NEED_RESCHED ? 0 : HV_CONTEXT_PREEMPT_RESCHED;
	flags |= count & hv_nmi_mask(bits) ? HV_CONTEXT_NMI : 0;
	flags |= count & hv_hardirq_mask(bits) ? HV_CONTEXT_HARDIRQ : 0;
	flags |= count & HV_SOFTIRQ_SERVING ? HV_CONTEXT_SOFTIRQ : 0;
	flags |= count & HV_SOFTIRQ_DISABLED_MASK ? HV_CONTEXT_BH_OFF : 0;
	return (struct hv_context){(uint8_t)flags, count & HV_PREEMPT_MASK};
}
