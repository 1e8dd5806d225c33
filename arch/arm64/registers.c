/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vCPU registers: as the monitor's `info registers` prints them, and as the gdb stub's `g` packet
 * packs them (QEMU's gdb-xml/aarch64-core.xml). Neither has the root of the page tables, which the
 * stub tells besides, or the exception vectors. */
#include "arch/arm64/arm64.h"

#include <stdio.h>

#include "arch/register_text.h"

#define NR_X 31u
#define NR_R 15u /* general registers of AArch32; the next one is pc */
#define R_SP 13

/* offsets in the g packet: x0 to x30, sp, pc of 8 bytes each, cpsr of 4 */
#define G_SP   (NR_X * 8)
#define G_PC   (G_SP + 8)
#define G_CPSR (G_PC + 8)

#define PSTATE_NRW 0x10u /* AArch32 */
#define PSTATE_EL  0x0cu
#define EL3	   0x0cu

/* Secure firmware runs in EL3. Linux runs in EL1, or in EL2 when it is a host. */
static enum hv_in_firmware firmware_by(uint64_t pstate)
{
	return !(pstate & PSTATE_NRW) && (pstate & PSTATE_EL) == EL3 ? HV_FIRMWARE_YES
								     : HV_FIRMWARE_NO;
}

/* Registers 0 to NR - 1, which are NAME and two digits. */
static bool parse_general(const char *text, char name, unsigned nr, uint64_t *ret)
{
	for (unsigned i = 0; i < nr; i++) {
		char word[8];

		snprintf(word, sizeof(word), "%c%02u=", name, i);
		if (!hv_register_in(text, word, &ret[i]))
			return false;
	}
	return true;
}

/* Of a vCPU that executes a task of 32 bits (CONFIG_COMPAT). */
static bool parse_aarch32(const char *text, struct hv_vcpu_regs *ret)
{
	struct hv_vcpu_regs regs = {0};

	if (!hv_register_in(text, "R15=", &regs.ip.v) ||
	    !parse_general(text, 'R', NR_R, regs.general))
		return false;
	regs.sp.v = regs.general[R_SP];
	regs.firmware = HV_FIRMWARE_NO;
	*ret = regs;
	return true;
}

bool arm64_parse_registers(const char *text, struct hv_vcpu_regs *ret)
{
	struct hv_vcpu_regs regs = {0};
	uint64_t pstate;

	if (parse_aarch32(text, ret))
		return true;

	if (!hv_register_in(text, "PC=", &regs.ip.v) || !hv_register_in(text, "SP=", &regs.sp.v) ||
	    !hv_register_in(text, "PSTATE=", &pstate) ||
	    !parse_general(text, 'X', NR_X, regs.general))
		return false;
	regs.general[NR_X] = regs.sp.v;
	regs.firmware = firmware_by(pstate);
	*ret = regs;
	return true;
}

bool arm64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret)
{
	struct hv_vcpu_regs regs = {0};
	uint32_t cpsr;

	if (!hv_span_u64(g, G_SP, &regs.sp.v) || !hv_span_u64(g, G_PC, &regs.ip.v) ||
	    !hv_span_u32(g, G_CPSR, &cpsr))
		return false;
	for (unsigned i = 0; i < NR_X; i++)
		if (!hv_span_u64(g, i * sizeof(regs.general[0]), &regs.general[i]))
			return false;
	regs.general[NR_X] = regs.sp.v;
	regs.firmware = firmware_by(cpsr);
	*ret = regs;
	return true;
}

/* The vectors are code, not addresses. */
bool arm64_trap_target(struct hv_span table, struct hv_gva *ret)
{
	(void)table;
	(void)ret;
	return false;
}
