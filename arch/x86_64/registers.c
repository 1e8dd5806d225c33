/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the registers of a vCPU, from each interface that shows them, and finds registers in the
 * guest's records. */
#include "arch/x86_64/x86_64.h"

#include <string.h>

#include "arch/register_text.h"
#include "ringbuf/abi_bits.h"

/* -- registers of a vCPU ----------------------------------------------------------------------- */

/* Decodes vCPU registers from the monitor's `info registers`, from the gdb stub's `g` packet
 * (QEMU's gdb-xml/i386-64bit.xml), and from KVM. */

#define CR0_PG	 (1ULL << 31)
#define CR4_LA57 (1ULL << 12)
#define EFER_LMA (1ULL << 10)
#define EFER_NXE (1ULL << 11)

#define NR_GENERAL 16u

/* offsets in the g packet: 16 general registers of 8 bytes, rip, then 7 registers of 4 bytes */
#define G_RSP  (7 * 8)
#define G_RIP  (16 * 8)
#define G_CS   (G_RIP + 8 + 4)
#define G_CR0  (G_RIP + 8 + 7 * 4 + 3 * 8)
#define G_CR3  (G_CR0 + 16)
#define G_CR4  (G_CR0 + 24)
#define G_EFER (G_CR0 + 40)

/* offsets in struct kvm_regs and struct kvm_sregs (arch/x86/include/uapi/asm/kvm.h): 8 segments of
 * 24 bytes, gdt and idt of 16, then control registers */
#define KVM_RSP	 (6 * 8)
#define KVM_RIP	 (16 * 8)
#define KVM_IDT	 (8 * 24 + 16)
#define KVM_CR0	 (KVM_IDT + 16)
#define KVM_CR3	 (KVM_CR0 + 16)
#define KVM_CR4	 (KVM_CR0 + 24)
#define KVM_EFER (KVM_CR0 + 40)

/* The gdb stub and KVM start with these 16 words. */
static bool general(struct hv_span regs, uint64_t *ret)
{
	for (unsigned i = 0; i < NR_GENERAL; i++)
		if (!hv_span_u64(regs, i * sizeof(*ret), &ret[i]))
			return false;
	return true;
}

/* Parses the monitor's format in 64-bit mode. */
static void parse_general(const char *text, uint64_t *ret)
{
	static const char *const names[NR_GENERAL] = {
		"RAX=", "RBX=", "RCX=", "RDX=", "RSI=", "RDI=", "RBP=", "RSP=",
		"R8 =", "R9 =", "R10=", "R11=", "R12=", "R13=", "R14=", "R15="};

	for (unsigned i = 0; i < NR_GENERAL; i++)
		(void)hv_register_in(text, names[i], &ret[i]);
}

static unsigned levels(uint64_t cr0, uint64_t cr4, uint64_t efer)
{
	if (!(cr0 & CR0_PG) || !(efer & EFER_LMA))
		return 0;
	return cr4 & CR4_LA57 ? 5 : 4;
}

bool x86_64_parse_registers(const char *text, struct hv_vcpu_regs *ret)
{
	uint64_t cr0, cr3, cr4, efer, idt, rip, rsp, smm;

	/* Outside 64-bit mode the monitor prints EIP and ESP. */
	if (!hv_register_in(text, "CR0=", &cr0) || !hv_register_in(text, "CR3=", &cr3) ||
	    !hv_register_in(text, "CR4=", &cr4) || !hv_register_in(text, "IDT=", &idt))
		return false;
	if (!hv_register_in(text, "EFER=", &efer))
		efer = 0;
	if (!hv_register_in(text, "RIP=", &rip) && !hv_register_in(text, "EIP=", &rip))
		return false;
	if (!hv_register_in(text, "RSP=", &rsp) && !hv_register_in(text, "ESP=", &rsp))
		return false;
	*ret = (struct hv_vcpu_regs){
		.ip = {rip},
		.sp = {rsp},
		.root = cr3,
		.levels = levels(cr0, cr4, efer),
		.executes_all = !(efer & EFER_NXE),
		.trap_table = {idt},
		.hidden = hv_register_in(text, "SMM=", &smm) && smm ? HV_HIDDEN_YES : HV_HIDDEN_NO,
	};
	parse_general(text, ret->general);
	return true;
}

/* The kernel executes nothing in the lower half of the address space except its first and last
 * instructions. Tasks have another privilege level. */
static enum hv_hidden hidden_by(uint64_t rip, uint32_t cs)
{
	return rip >> 63 || (cs & 3) ? HV_HIDDEN_NO : HV_HIDDEN_MAYBE;
}

bool x86_64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret)
{
	uint64_t cr0, cr3, cr4, efer, rip, rsp;
	uint32_t cs;

	if (!hv_span_u64(g, G_RSP, &rsp) || !hv_span_u64(g, G_RIP, &rip) ||
	    !hv_span_u32(g, G_CS, &cs) || !hv_span_u64(g, G_CR0, &cr0) ||
	    !hv_span_u64(g, G_CR3, &cr3) || !hv_span_u64(g, G_CR4, &cr4) ||
	    !hv_span_u64(g, G_EFER, &efer))
		return false;
	*ret = (struct hv_vcpu_regs){
		.ip = {rip},
		.sp = {rsp},
		.root = cr3,
		.levels = levels(cr0, cr4, efer),
		.executes_all = !(efer & EFER_NXE),
		.hidden = hidden_by(rip, cs),
	};
	return general(g, ret->general);
}

bool x86_64_decode_kvm_registers(struct hv_span regs, struct hv_span sregs,
				 struct hv_vcpu_regs *ret)
{
	uint64_t cr0, cr3, cr4, efer, idt, rip, rsp;

	if (!hv_span_u64(regs, KVM_RSP, &rsp) || !hv_span_u64(regs, KVM_RIP, &rip) ||
	    !hv_span_u64(sregs, KVM_IDT, &idt) || !hv_span_u64(sregs, KVM_CR0, &cr0) ||
	    !hv_span_u64(sregs, KVM_CR3, &cr3) || !hv_span_u64(sregs, KVM_CR4, &cr4) ||
	    !hv_span_u64(sregs, KVM_EFER, &efer))
		return false;
	*ret = (struct hv_vcpu_regs){
		.ip = {rip},
		.sp = {rsp},
		.root = cr3,
		.levels = levels(cr0, cr4, efer),
		.executes_all = !(efer & EFER_NXE),
		.trap_table = {idt},
	};
	return general(regs, ret->general);
}

/* -- registers of a record --------------------------------------------------------------------- */

/* Registers in the record of a call with registers (event.S, .Lact_regs), by the names used in
 * kernel probes (regs_query_register_offset() in arch/x86/kernel/ptrace.c).
 *
 * Most probes do not need %rax, %r10, %r11 and the flags: functions do not expect values there, and
 * most trampolines change them first. If a probe needs them, the call is recorded like a probe
 * inside a function (entry_regs.S, probe_site.S). */

/* Values that a kernel probe finds at a function's entry: the address after a one-byte breakpoint,
 * and __KERNEL_CS, __KERNEL_DS. */
#define BREAKPOINT_LEN 1
#define KERNEL_CS      0x10
#define KERNEL_DS      0x18
/* regs->orig_ax of a kprobe. At a function's entry save_mcount_regs of ftrace_64.S clears it.
 * Exceptions without an error code push -1, and optimized_callback() sets that, too. At a return it
 * is set by arch_rethook_trampoline_callback(), before 5.18 by trampoline_handler(). */
#define ENTRY_ORIG_AX  0
#define ORIG_AX	       -1
#define RETURN_ORIG_AX -1

static const struct {
	const char *name;
	struct hv_arch_register is;
} registers[] = {
	{"ip", {HV_REGS_SITE, BREAKPOINT_LEN}},
	{"sp", {HV_REGS_STACK, 0}},
	{"bx", {3, 0}},
	{"cx", {4, 0}},
	{"dx", {5, 0}},
	{"si", {6, 0}},
	{"di", {7, 0}},
	{"bp", {8, 0}},
	{"r8", {9, 0}},
	{"r9", {10, 0}},
	{"r12", {11, 0}},
	{"r13", {12, 0}},
	{"r14", {13, 0}},
	{"r15", {14, 0}},
	{"cs", {HV_ARCH_NO_WORD, KERNEL_CS}},
	{"ss", {HV_ARCH_NO_WORD, KERNEL_DS}},
	{"orig_ax", {HV_ARCH_NO_WORD, ENTRY_ORIG_AX}},
};

/* Registers at a return: the return value, and the registers that a function must preserve. */
static const struct {
	const char *name;
	struct hv_arch_register is;
} return_registers[] = {
	{"ax", {HV_REGS_RETVAL, 0}},
	{"sp", {HV_REGS_STACK, 0}},
	{"bx", {3, 0}},
	{"dx", {5, 0}},
	{"bp", {8, 0}},
	{"r12", {11, 0}},
	{"r13", {12, 0}},
	{"r14", {13, 0}},
	{"r15", {14, 0}},
	{"cs", {HV_ARCH_NO_WORD, KERNEL_CS}},
	{"ss", {HV_ARCH_NO_WORD, KERNEL_DS}},
	{"orig_ax", {HV_ARCH_NO_WORD, RETURN_ORIG_AX}},
};

/* Registers inside a function that its entry lacks, or that have another value there. */
static const struct {
	const char *name;
	struct hv_arch_register is;
} more_registers[] = {
	{"ax", {15, 0}},
	{"r10", {16, 0}},
	{"r11", {17, 0}},
	{"flags", {18, 0}},
	{"orig_ax", {HV_ARCH_NO_WORD, ORIG_AX}},
};

static const char *const no_meaning[] = {"ax", "r10", "r11", "flags"};

bool x86_64_find_register(const char *name, struct hv_arch_register *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(registers); i++) {
		if (strcmp(registers[i].name, name) != 0)
			continue;
		*ret = registers[i].is;
		return true;
	}
	return false;
}

bool x86_64_find_return_register(const char *name, struct hv_arch_register *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(return_registers); i++) {
		if (strcmp(return_registers[i].name, name) != 0)
			continue;
		*ret = return_registers[i].is;
		return true;
	}
	return false;
}

bool x86_64_find_any_register(const char *name, struct hv_arch_register *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(more_registers); i++) {
		if (strcmp(more_registers[i].name, name) != 0)
			continue;
		*ret = more_registers[i].is;
		return true;
	}
	return x86_64_find_register(name, ret);
}

bool x86_64_has_register(const char *name)
{
	struct hv_arch_register found;

	for (size_t i = 0; i < HV_ARRAY_LEN(no_meaning); i++)
		if (strcmp(no_meaning[i], name) == 0)
			return true;
	return x86_64_find_register(name, &found);
}

/* -- registers of a program ------------------------------------------------------------------- */

/* struct pt_regs (arch/x86/include/asm/ptrace.h). FRED stores more in the upper bits of cs and ss. */
#define USER_CS	   136
#define USER_SS	   160
#define USER_CS_64 0x33
#define USER_CS_32 0x23
#define USER_DS	   0x2b

bool x86_64_are_user_regs(struct hv_span regs)
{
	uint16_t cs, ss;

	if (!hv_span_copy(regs, USER_CS, &cs, sizeof(cs)) ||
	    !hv_span_copy(regs, USER_SS, &ss, sizeof(ss)))
		return false;
	return (cs == USER_CS_64 || cs == USER_CS_32) && ss == USER_DS;
}
