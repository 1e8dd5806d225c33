/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes vCPU registers from the monitor's `info registers`, from the gdb stub's `g` packet
 * (QEMU's gdb-xml/i386-64bit.xml), and from KVM. */
#include "arch/x86_64/x86_64.h"

#include "arch/register_text.h"

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
