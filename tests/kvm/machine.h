/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with one vCPU and no kernel, on the KVM API: long mode, ring 0, interrupts on or off as
 * the registers specify. It runs until it halts, writes to a port, or has executed one instruction.
 * It is small enough for KVM backends that emulate every instruction.
 *
 *   guest-physical addresses, 4 KiB pages, mapped in the guest at MACHINE_GVA + address
 *   0x01000 GDT     0x02000-0x05fff page tables
 *   0x06000 traps: vector V without a handler writes to port V
 *   0x07000 IDT     0x08000 the test's text      0x09000-0x0afff stack
 *   0x10000 the test's data
 *
 * x86-64 hosts only. The tests provide the code. */
#pragma once

#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define MACHINE_GVA	   UINT64_C(0xffffffff80000000)
#define MACHINE_LEN	   0x40000
#define MACHINE_TEXT_OFF   0x08000
#define MACHINE_STACK_OFF  0x09000
#define MACHINE_STACK_END  0x0b000
#define MACHINE_FREE_OFF   0x10000
#define MACHINE_NR_VECTORS 64
#define MACHINE_NMI	   2 /* vector */

struct machine {
	int kvm_fd;
	int vm_fd;
	int vcpu_fd;
	struct kvm_run *run; /* owned mapping */
	size_t run_len_bytes;
	uint8_t *memory; /* owned mapping, MACHINE_LEN bytes */
	int stepping;
};

/* Returns NULL if this host's KVM cannot run a machine, with the reason in *ret_lack. */
struct machine *machine_new(const char **ret_lack);
void machine_free(struct machine *m);

static inline struct hv_gva machine_gva(uint64_t off)
{
	return hv_gva(MACHINE_GVA + off);
}

/* Sets the guest's access to some pages. Call it before the machine runs. */
void machine_protect(struct machine *m, uint64_t off, uint64_t len_bytes, enum hv_access access);
/* Sets the handler of VECTOR. It runs on the interrupted stack. */
void machine_set_handler(struct machine *m, unsigned vector, struct hv_gva handler);

/* Sets the registers. After a halt the machine continues from there. */
void machine_set_regs(struct machine *m, const struct kvm_regs *regs, struct hv_gva gs_base);
void machine_get_regs(struct machine *m, struct kvm_regs *ret);
void machine_get_rest(struct machine *m, struct kvm_sregs *ret, struct kvm_fpu *ret_fpu);

enum machine_stop {
	MACHINE_HALT,
	MACHINE_PORT, /* the guest wrote to *ret_port */
	MACHINE_STEP, /* one instruction was executed */
	MACHINE_LOST, /* a triple fault, or KVM cannot run an instruction */
};

enum machine_stop machine_run(struct machine *m, unsigned *ret_port);
enum machine_stop machine_step(struct machine *m, unsigned *ret_port);

/* Injects an interrupt before the next instruction. Interrupts must be on in the guest. */
void machine_interrupt(struct machine *m, unsigned vector);
void machine_nmi(struct machine *m);
