/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes vCPU registers from the monitor's `info registers`, from the gdb stub's `g` packet
 * (QEMU's gdb-xml/aarch64-core.xml), and from KVM, which returns them one by one. The monitor and
 * the packet have neither the exception vectors, nor the page-table roots and their owner; the gdb
 * stub has the latter as named registers. */
#include "arch/arm64/arm64.h"

#include <stdio.h>

#include "arch/register_text.h"

#define NR_X 31u
#define NR_R 15u /* general registers of AArch32, before pc */
#define R_SP 13

/* offsets in the g packet: x0 to x30, sp, pc of 8 bytes each, cpsr of 4 */
#define G_SP   (NR_X * 8)
#define G_PC   (G_SP + 8)
#define G_CPSR (G_PC + 8)

#define PSTATE_NRW 0x10u /* AArch32 */
#define PSTATE_EL  0x0cu
#define EL2	   0x08u
#define EL3	   0x0cu

/* HCR_EL2. All three are 0 while Linux executes in EL1 with EL2 below it. */
#define HCR_VM	(1ULL << 0)  /* EL1 and EL0 execute a guest of EL2 */
#define HCR_TGE (1ULL << 27) /* EL0 belongs to EL2, and EL1 is unused */
#define HCR_E2H (1ULL << 34) /* EL2 has page tables like a kernel in EL1 (VHE) */

/* EL3 executes secure firmware. Linux runs in EL1, or in EL2 as a host. */
static void take_pstate(uint64_t pstate, struct hv_vcpu_regs *ret)
{
	uint64_t level = pstate & PSTATE_NRW ? 0 : pstate & PSTATE_EL;

	ret->hidden = level == EL3 ? HV_HIDDEN_YES : HV_HIDDEN_NO;
	ret->is_hypervisor = level == EL2;
}

enum { TTBR1_EL1, TTBR1_EL2, HCR_EL2 }; /* named registers of the gdb stub */

/* Returns whether a vCPU outside EL3 executes the kernel or its tasks. In EL2 without a kernel's
 * page tables it executes the small part that a kernel in EL1 leaves there, or was not started. In
 * EL1 and EL0, distinguishes the kernel from its nested guests. (With E2H, only Linux's hVHE has a
 * kernel in EL1, and it cannot be distinguished from its guests.) */
static bool is_kernels(const uint64_t *values, bool in_el2)
{
	uint64_t hcr = values[HCR_EL2];

	if (in_el2)
		return hcr & HCR_E2H && values[TTBR1_EL2];
	return hcr & HCR_E2H ? hcr & HCR_TGE : !(hcr & HCR_VM);
}

/* A vCPU without any root was not started. But a vCPU in EL2 at an address in the kernel's half
 * must have page tables, even if they are unknown. */
static bool was_started(const uint64_t *values, const struct hv_vcpu_regs *regs)
{
	return regs->root || values[TTBR1_EL1] || (regs->is_hypervisor && regs->ip.v >> 63);
}

/* The last two values are 0 if there is no EL2. A kernel in EL2 with E2H reads its own root as
 * TTBR1_EL1, but the gdb stub shows the guest's value under that name. */
void arm64_take_gdb_named(const uint64_t values[HV_GDB_NAMED_MAX], struct hv_vcpu_regs *regs)
{
	regs->root = values[values[HCR_EL2] & HCR_E2H ? TTBR1_EL2 : TTBR1_EL1];
	if (!is_kernels(values, regs->is_hypervisor) && was_started(values, regs))
		regs->hidden = HV_HIDDEN_YES;
}

/* Parses registers 0 to NR - 1, whose names are NAME and two digits. */
static bool parse_general(const char *text, char name, unsigned nr, uint64_t *ret)
{
	for (unsigned i = 0; i < nr; i++) {
		char word[16];

		snprintf(word, sizeof(word), "%c%02u=", name, i);
		if (!hv_register_in(text, word, &ret[i]))
			return false;
	}
	return true;
}

/* Parses the registers of a vCPU that executes a 32-bit task (CONFIG_COMPAT). */
static bool parse_aarch32(const char *text, struct hv_vcpu_regs *ret)
{
	struct hv_vcpu_regs regs = {0};

	if (!hv_register_in(text, "R15=", &regs.ip.v) ||
	    !parse_general(text, 'R', NR_R, regs.general))
		return false;
	regs.sp.v = regs.general[R_SP];
	regs.hidden = HV_HIDDEN_NO;
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
	take_pstate(pstate, &regs);
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
	take_pstate(cpsr, &regs);
	*ret = regs;
	return true;
}

/* KVM's register ids (arch/arm64/include/uapi/asm/kvm.h): an 8-byte member of struct kvm_regs, by
 * its offset in 4-byte words, or a system register, by the fields of the instruction that reads
 * it. */
#define KVM_CORE(word)	     (0x6030000000100000ULL | 2 * (word))
#define KVM_SYSTEM_TTBR1_EL1 (0x6030000000130000ULL | 3 << 14 | 2 << 7 | 1)
#define KVM_CORE_4(word)     KVM_CORE(word), KVM_CORE(word + 1), KVM_CORE(word + 2), KVM_CORE(word + 3)
#define KVM_CORE_16(word)                                                                          \
	KVM_CORE_4(word), KVM_CORE_4(word + 4), KVM_CORE_4(word + 8), KVM_CORE_4(word + 12)

/* In the order of struct kvm_regs: x0 to x30, sp_el0, pc, pstate, sp_el1; then the root. */
enum { KVM_SP_EL0 = NR_X, KVM_PC, KVM_PSTATE, KVM_SP_EL1, KVM_TTBR1, KVM_NR };
const uint64_t arm64_kvm_ids[] = {KVM_CORE_16(0),
				  KVM_CORE_16(16),
				  KVM_CORE(KVM_PC),
				  KVM_CORE(KVM_PSTATE),
				  KVM_CORE(KVM_SP_EL1),
				  KVM_SYSTEM_TTBR1_EL1,
				  0};
_Static_assert(HV_ARRAY_LEN(arm64_kvm_ids) == KVM_NR + 1, "and a 0");

#define PSTATE_SP 0x01u /* the exception level's own stack pointer is used */

static uint64_t kvm_sp(const uint64_t *values)
{
	uint64_t pstate = values[KVM_PSTATE];

	if (pstate & PSTATE_NRW)
		return values[R_SP];
	return pstate & PSTATE_EL && pstate & PSTATE_SP ? values[KVM_SP_EL1] : values[KVM_SP_EL0];
}

/* Injection supports no guests with EL2 (vmm/inject/el2_arm64.h). */
bool arm64_decode_kvm_registers(struct hv_span values, struct hv_span unused hv_unused,
				struct hv_vcpu_regs *ret)
{
	uint64_t value[KVM_NR], named[HV_GDB_NAMED_MAX] = {0};
	struct hv_vcpu_regs regs = {0};

	for (unsigned i = 0; i < KVM_NR; i++)
		if (!hv_span_u64(values, i * sizeof(value[0]), &value[i]))
			return false;
	memcpy(regs.general, value, NR_X * sizeof(value[0]));
	regs.ip.v = value[KVM_PC];
	regs.sp.v = regs.general[NR_X] = kvm_sp(value);
	take_pstate(value[KVM_PSTATE], &regs);
	named[TTBR1_EL1] = value[KVM_TTBR1];
	arm64_take_gdb_named(named, &regs);
	*ret = regs;
	return true;
}

/* The vectors contain code, not addresses. */
bool arm64_trap_target(struct hv_span table, struct hv_gva *ret)
{
	(void)table;
	(void)ret;
	return false;
}
