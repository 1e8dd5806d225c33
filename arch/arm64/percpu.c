/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the register with a CPU's per-CPU offset. A kernel that boots in EL2 replaces the
 * instructions that read tpidr_el1 with ones that read tpidr_el2 (arch/arm64/include/asm/percpu.h,
 * assembler.h). */
#include "arch/arm64/arm64.h"

#define REGISTER      0x1fu
#define MRS_TPIDR_EL1 0xd538d080u
#define MRS_TPIDR_EL2 0xd53cd040u

/* All such instructions of a kernel read the same register. */
bool arm64_classify_percpu(struct hv_span code, bool *ret_is_hypervisor)
{
	bool el1 = false, el2 = false;
	uint32_t insn;

	for (uint64_t off = 0; hv_span_u32(code, off, &insn); off += ARM64_INSN_LEN) {
		el1 |= (insn & ~REGISTER) == MRS_TPIDR_EL1;
		el2 |= (insn & ~REGISTER) == MRS_TPIDR_EL2;
	}
	*ret_is_hypervisor = el2;
	return el1 != el2;
}
