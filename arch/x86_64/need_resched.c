/* Which thread flag asks for a reschedule: bit 3 for long, bit 4 with the generic numbering of 7.x.
 * resched_curr() takes it with `or $imm8, %reg` on the way to its cmpxchg, in every kernel looked
 * at (5.10, 6.1, 6.12, 7.2). */
#include "arch/x86_64/x86_64.h"

#define OR_IMM8	 0x83 /* with a ModRM byte of 0xc8..0xcf: a register */
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
