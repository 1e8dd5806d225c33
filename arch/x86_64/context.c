/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupt, preemption and scheduling state of a record, and the flags of a thread that it
 * depends on. */
#include "arch/x86_64/x86_64.h"

#include "arch/preempt_count.h"

/* -- words of a record ------------------------------------------------------------------------- */

/* Decodes the interrupt, preemption and scheduling state from the words that a trampoline recorded.
 * The top bit of the count is inverted (arch/x86/include/asm/preempt.h, since c2daa3bed53a,
 * v3.13). */

#define FLAGS_IF 0x200
#define BITS_31	 UINT64_C(0x7fffffff)

/* The trampoline combines both complete addresses with one xor (make_call_word in
 * trampoline_macros.inc). The upper bits of both are ones, so those of the caller come out
 * inverted. */
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

/* -- flags of a thread ------------------------------------------------------------------------- */

/* Finds the thread flag that requests a reschedule. It was bit 3 for a long time, and is bit 4 in
 * the generic numbering of 7.x. In all kernels examined (5.10, 6.1, 6.12, 7.2), resched_curr() sets
 * it with `or $imm8, %reg` before its cmpxchg. */

#define OR_IMM8	 0x83 /* with a ModRM byte of 0xc8..0xcf: a register */
#define LOCK	 0xf0
#define NO_LOCK	 0x3e /* %ds prefix, replaces LOCK on a single CPU (alternatives_smp_unlock) */
#define OR_MEM8	 0x80 /* with a ModRM byte of /1 */
#define RM_SIB	 4
#define RM_BP	 5 /* without a displacement byte it means %rip */
#define CODE_MAX 160

uint16_t x86_64_find_need_resched(struct hv_span code)
{
	for (size_t i = 0; i < CODE_MAX && hv_span_has(code, i, 3); i++) {
		const uint8_t *at = code.data + i;

		if (at[0] == OR_IMM8 && (at[1] & 0xf8) == 0xc8 && (at[2] == 0x08 || at[2] == 0x10))
			return at[2];
	}
	return 0;
}

/* PREEMPT_RT's lazy flag is bit 19 in 6.1: resched_curr_lazy() sets it with `lock or $imm8,
 * off(%reg)` of its byte. */
uint32_t x86_64_find_lazy_resched(struct hv_span code, uint32_t flags_off)
{
	for (size_t i = 0; i < CODE_MAX && hv_span_has(code, i, 5); i++) {
		const uint8_t *at = code.data + i;
		bool is_near = (at[2] & 0xc0) == 0x40; /* one-byte displacement */
		uint32_t off = is_near ? at[3] : 0;
		uint8_t bit = is_near ? at[4] : at[3];

		if ((at[0] != LOCK && at[0] != NO_LOCK) || at[1] != OR_MEM8 ||
		    (at[2] & 0x38) != 0x08 || (at[2] & 0x07) == RM_SIB ||
		    (!is_near && (at[2] & 0x07) == RM_BP) || (at[2] & 0xc0) > 0x40)
			continue;
		if (bit && !(bit & (bit - 1)) && off >= flags_off && off < flags_off + 4)
			return (uint32_t)bit << 8 * (off - flags_off);
	}
	return 0;
}
