/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the interrupt, preemption and scheduling state from the words of a record. arm64's
 * need_resched word is the upper half of its 64-bit count (arch/arm64/include/asm/preempt.h, since
 * 396244692232, v5.0). It is 0 if a reschedule is requested. PREEMPT_COUNT in a record has its
 * lowest bit as the top bit, like x86-64. */
#include "arch/arm64/arm64.h"

#include "arch/preempt_count.h"

#define PSTATE_I 0x80 /* masked */

struct hv_context arm64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
				       uint16_t thread_flags, struct hv_context_bits bits)
{
	struct hv_context context = hv_context_of_count(preempt_count, thread_flags, bits);

	context.flags |= cpu_flags & PSTATE_I ? HV_CONTEXT_IRQS_OFF : 0;
	return context;
}

/* See make_call_word in trampoline_macros.inc. */
struct hv_call_addresses arm64_decode_call(uint64_t word)
{
	uint32_t mask = (1u << HV_CALLER_SHIFT) - 1;

	return (struct hv_call_addresses){
		.site_end = (uint32_t)word & mask,
		.caller = (uint32_t)(word >> HV_CALLER_SHIFT) & mask,
	};
}
