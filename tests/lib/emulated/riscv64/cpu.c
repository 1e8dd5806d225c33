/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/emulated/cpu.h"

#include <assert.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "arch/riscv64/riscv64.h"

#define SSTATUS_SIE 2
#define FIRST_TIME  1000
#define INSN_LEN    4
/* rdtime without its register */
#define RDTIME	    0xc0102073u
#define RDTIME_MASK 0xfffff07fu
#define RD_SHIFT    7
#define RD_MASK	    0x1f

void *emu_cpu_open(void)
{
	uc_engine *cpu;
	uc_err err = uc_open(UC_ARCH_RISCV, UC_MODE_RISCV64, &cpu);

	assert(err == UC_ERR_OK);
	(void)err;
	return cpu;
}

void emu_cpu_prepare(struct emu_world *w)
{
	(void)w;
}

void emu_cpu_set_up(struct emu_world *w)
{
	w->time = FIRST_TIME;
}

void emu_cpu_add_values(struct hv_trampoline_values *ret)
{
	ret->hole[HV_HOLE_entry_code] = emu_gva(EMU_TEXT_OFF + EMU_ENTRY);
	ret->hole[HV_HOLE_entry_code_len] = EMU_ENTRY_LEN;
	ret->hole[HV_HOLE_regs_bytes] = EMU_REGS_BYTES;
}

int emu_cpu_reg(unsigned x)
{
	return UC_RISCV_REG_X0 + (int)x;
}

int emu_cpu_pc(void)
{
	return UC_RISCV_REG_PC;
}

uint64_t emu_cpu_get_flags(struct emu_world *w)
{
	(void)w;
	return 0;
}

void emu_cpu_set_flags(struct emu_world *w, uint64_t flags)
{
	(void)w;
	(void)flags;
}

uint64_t emu_cpu_get_current(struct emu_world *w)
{
	return emu_cpu_get_reg(w, emu_cpu_reg(EMU_TP));
}

void emu_cpu_set_current(struct emu_world *w, uint64_t task_gva)
{
	emu_cpu_set_reg(w, emu_cpu_reg(EMU_TP), task_gva);
}

void emu_cpu_enter(struct emu_world *w, struct emu_regs *regs)
{
	regs->x[0] = 0;
	regs->x[EMU_TP] = emu_cpu_get_current(w);
	emu_cpu_set_reg(w, UC_RISCV_REG_SSTATUS, w->irqs == EMU_IRQS_ON ? SSTATUS_SIE : 0);
}

static uint32_t insn_at(const struct emu_world *w, uint64_t pc)
{
	uint64_t off = pc - EMU_GVA;
	uint32_t insn = 0;

	if (off <= EMU_LEN - sizeof(insn))
		memcpy(&insn, w->host + off, sizeof(insn));
	return insn;
}

/* The emulated CPU has no clock. */
bool emu_cpu_lacks(const struct emu_world *w, uint64_t pc)
{
	return (insn_at(w, pc) & RDTIME_MASK) == RDTIME;
}

void emu_cpu_execute(struct emu_world *w)
{
	uint64_t pc = emu_cpu_get_reg(w, emu_cpu_pc());
	unsigned rd = insn_at(w, pc) >> RD_SHIFT & RD_MASK;

	emu_cpu_set_reg(w, emu_cpu_reg(rd), w->time++);
	emu_cpu_set_reg(w, emu_cpu_pc(), pc + INSN_LEN);
}

void emu_cpu_make_function(const struct emu_world *w, uint64_t off, uint64_t to)
{
	static const uint32_t insns[] = {0x00058513, 0x00008067}; /* mv a0, a1; ret */
	bool reaches = EMU_ARCH.encode_call(hv_gva(emu_gva(off)),
					    hv_gva(emu_gva(EMU_CODE_OFF + to)), w->host + off);

	assert(reaches);
	(void)reaches;
	memcpy(w->host + off + RISCV64_SITE_LEN, insns, sizeof(insns));
}

void emu_make_tail_call(const struct emu_world *w)
{
	uint64_t at = EMU_TRACED_OFF + RISCV64_SITE_LEN + INSN_LEN;
	bool reaches = riscv64_encode_jump_site(
		hv_gva(emu_gva(at)), hv_gva(emu_gva(EMU_TRACED_OTHER_OFF)), INSN_LEN, w->host + at);

	assert(reaches);
	(void)reaches;
}
