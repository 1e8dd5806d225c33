/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the interrupt, preemption and scheduling state from the words that a stub recorded. The
 * top bit of the count is inverted (arch/x86/include/asm/preempt.h, since c2daa3bed53a, v3.13). */
#include "arch/x86_64/x86_64.h"

#include "arch/preempt_count.h"

#define FLAGS_IF 0x200
#define BITS_31	 UINT64_C(0x7fffffff)

/* The stub combines both complete addresses with one xor (make_call_word in stub_macros.inc). The
 * upper bits of both are ones, so those of the caller come out inverted. */
struct hv_call_addresses x86_64_decode_call(uint64_t word)
{
	return (struct hv_call_addresses){
		.site_end = (uint32_t)(word & BITS_31),
		.caller = (uint32_t)(~(word >> HV_CALLER_SHIFT) & BITS_31),
	};
}

struct hv_context x86_64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					uint16_t thread_flags, struct hv_context_bits bits)
{
	struct hv_context context = hv_context_of_count(preempt_count, thread_flags, bits);

	context.flags |= cpu_flags & FLAGS_IF ? 0 : HV_CONTEXT_IRQS_OFF;
	return context;
}
