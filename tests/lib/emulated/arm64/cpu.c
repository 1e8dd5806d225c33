/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/emulated/cpu.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <unicorn/unicorn.h>

#define EL1H	    5
#define MASKED_I    0x80
#define PERCPU_BASE UINT64_C(0x123456780000) /* TPIDR_EL1: per-CPU offset */

#define MRS_TPIDR_EL2 0xd53cd040u
#define RT_MASK	      0x1fu

static bool is_hypervisor(const struct emu_world *w)
{
	return w->values.alternatives >> HV_ALT_HYPERVISOR & 1;
}

static uint32_t insn_at(const struct emu_world *w, uint64_t pc)
{
	uint32_t insn;

	memcpy(&insn, w->host + (pc - EMU_GVA), sizeof(insn));
	return insn;
}

static const int general[EMU_NR_REGS] = {
	UC_ARM64_REG_X0,  UC_ARM64_REG_X1,  UC_ARM64_REG_X2,  UC_ARM64_REG_X3,	UC_ARM64_REG_X4,
	UC_ARM64_REG_X5,  UC_ARM64_REG_X6,  UC_ARM64_REG_X7,  UC_ARM64_REG_X8,	UC_ARM64_REG_X9,
	UC_ARM64_REG_X10, UC_ARM64_REG_X11, UC_ARM64_REG_X12, UC_ARM64_REG_X13, UC_ARM64_REG_X14,
	UC_ARM64_REG_X15, UC_ARM64_REG_X16, UC_ARM64_REG_X17, UC_ARM64_REG_X18, UC_ARM64_REG_X19,
	UC_ARM64_REG_X20, UC_ARM64_REG_X21, UC_ARM64_REG_X22, UC_ARM64_REG_X23, UC_ARM64_REG_X24,
	UC_ARM64_REG_X25, UC_ARM64_REG_X26, UC_ARM64_REG_X27, UC_ARM64_REG_X28, UC_ARM64_REG_X29,
	UC_ARM64_REG_X30, UC_ARM64_REG_SP};

void *emu_cpu_open(void)
{
	uc_engine *cpu;
	uc_err err = uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &cpu);

	assert(err == UC_ERR_OK);
	err = uc_ctl_set_cpu_model(cpu, UC_CPU_ARM64_MAX);
	assert(err == UC_ERR_OK);
	(void)err;
	return cpu;
}

/* The CPU strips pointer signatures only while signing is enabled: SCTLR_EL1.EnIA. */
void emu_cpu_prepare(struct emu_world *w)
{
	/* mrs x0, sctlr_el1; orr x0, x0, #1 << 31; msr sctlr_el1, x0 */
	static const uint32_t insns[] = {0xd5381000, 0xb2610000, 0xd5181000};
	const struct emu_regs regs = {.pc = emu_gva(EMU_TEXT_OFF), .flags = EL1H};
	bool done;

	memcpy(w->host + EMU_TEXT_OFF, insns, sizeof(insns));
	emu_set(w, &regs);
	done = emu_step(w, HV_ARRAY_LEN(insns));
	assert(done);
	(void)done;
}

void emu_cpu_set_up(struct emu_world *w)
{
	emu_tasks(w)->irq_stack = emu_key(2);
}

void emu_cpu_add_values(struct hv_trampoline_values *ret)
{
	ret->hole[HV_HOLE_irq_stack] =
		emu_gva(EMU_TASKS_OFF) + offsetof(struct emu_tasks, irq_stack) - PERCPU_BASE;
}

int emu_cpu_reg(unsigned x)
{
	return general[x];
}

int emu_cpu_pc(void)
{
	return UC_ARM64_REG_PC;
}

uint64_t emu_cpu_get_flags(struct emu_world *w)
{
	return emu_cpu_get_reg(w, UC_ARM64_REG_PSTATE);
}

void emu_cpu_set_flags(struct emu_world *w, uint64_t flags)
{
	emu_cpu_set_reg(w, UC_ARM64_REG_PSTATE, flags);
}

uint64_t emu_cpu_get_current(struct emu_world *w)
{
	return emu_cpu_get_reg(w, UC_ARM64_REG_SP_EL0);
}

void emu_cpu_set_current(struct emu_world *w, uint64_t task_gva)
{
	emu_cpu_set_reg(w, UC_ARM64_REG_SP_EL0, task_gva);
}

/* The trampolines must not read this register, so it is 0. */
void emu_cpu_enter(struct emu_world *w, struct emu_regs *regs)
{
	emu_cpu_set_reg(w, UC_ARM64_REG_TPIDR_EL1, is_hypervisor(w) ? 0 : PERCPU_BASE);
	regs->flags = EL1H | (w->irqs == EMU_IRQS_OFF ? MASKED_I : 0);
}

/* libunicorn's CPU has no EL2. The trampolines of a VHE kernel run in EL1 here, and
 * emu_cpu_execute() emulates their read of TPIDR_EL2. */
bool emu_cpu_lacks(const struct emu_world *w, uint64_t pc)
{
	return is_hypervisor(w) && (insn_at(w, pc) & ~RT_MASK) == MRS_TPIDR_EL2;
}

void emu_cpu_execute(struct emu_world *w)
{
	uint64_t pc = emu_cpu_get_reg(w, emu_cpu_pc());

	emu_cpu_set_reg(w, emu_cpu_reg(insn_at(w, pc) & RT_MASK), PERCPU_BASE);
	emu_cpu_set_reg(w, emu_cpu_pc(), pc + sizeof(uint32_t));
}

void emu_cpu_make_function(const struct emu_world *w, uint64_t off, uint64_t to)
{
	/* mov x9, x30; bl; mov x0, x1; ret */
	static const uint32_t insns[] = {0xaa1e03e9, 0, 0xaa0103e0, 0xd65f03c0};
	uint64_t site = off + EMU_SITE;
	bool reaches;

	memcpy(w->host + off, insns, sizeof(insns));
	reaches = EMU_ARCH.encode_call(hv_gva(emu_gva(site)), hv_gva(emu_gva(EMU_CODE_OFF + to)),
				       w->host + site);
	assert(reaches);
	(void)reaches;
}

void emu_make_tail_call(const struct emu_world *w)
{
	uint64_t at = EMU_TRACED_OFF + 3 * sizeof(uint32_t);
	bool reaches = EMU_ARCH.encode_jump(hv_gva(emu_gva(at)),
					    hv_gva(emu_gva(EMU_TRACED_OTHER_OFF)), w->host + at);

	assert(reaches);
	(void)reaches;
}
