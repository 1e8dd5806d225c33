/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the interrupt, preemption and scheduling state from the words of a record. The kernel's
 * count does not contain need-resched (include/asm-generic/preempt.h), so the top bit, which means
 * that no reschedule is requested, is added here. */
#include "arch/riscv64/riscv64.h"

#include "arch/preempt_count.h"

#define SSTATUS_SIE 0x2 /* interrupts are on */

struct hv_context riscv64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					 uint16_t thread_flags, struct hv_context_bits bits)
{
	uint32_t count = preempt_count | HV_PREEMPT_NO_NEED_RESCHED;
	struct hv_context context = hv_context_of_count(count, thread_flags, bits);

	context.flags |= cpu_flags & SSTATUS_SIE ? 0 : HV_CONTEXT_IRQS_OFF;
	return context;
}

/* See make_call_word in trampoline_macros.inc. */
struct hv_call_addresses riscv64_decode_call(uint64_t word)
{
	uint32_t mask = (1u << HV_CALLER_SHIFT) - 1;

	return (struct hv_call_addresses){
		.site_end = (uint32_t)word & mask,
		.caller = (uint32_t)(word >> HV_CALLER_SHIFT) & mask,
	};
}
