/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes vCPU registers from the monitor's `info registers` and the gdb stub's `g` packet (QEMU's
 * gdb-xml/riscv-64bit-cpu.xml), which lacks satp. Neither shows machine mode: addresses are
 * physical there, so they look like user addresses. The gdb stub has another register for that. */
#include "arch/riscv64/riscv64.h"

#include <stdio.h>

#include "arch/register_text.h"

#define NR_X 32u
#define X_SP 2

#define G_PC (NR_X * 8)

#define PRIV_MACHINE 3

#define SATP_MODE_SHIFT	 60
#define SATP_NUMBER_MASK ((1ULL << 44) - 1)
#define PAGE_SHIFT	 12

/* satp modes: 8 is Sv39, 9 Sv48, 10 Sv57, and 0 no translation. */
static unsigned levels_of_root(uint64_t satp)
{
	uint64_t mode = satp >> SATP_MODE_SHIFT;

	return mode >= 8 && mode <= 10 ? (unsigned)mode - 5 : 0;
}

static bool parse_general(const char *text, uint64_t *ret)
{
	static const char *const names[NR_X] = {"zero", "ra", "sp",  "gp",  "tp", "t0", "t1", "t2",
						"s0",	"s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
						"a6",	"a7", "s2",  "s3",  "s4", "s5", "s6", "s7",
						"s8",	"s9", "s10", "s11", "t3", "t4", "t5", "t6"};

	for (unsigned i = 0; i < NR_X; i++) {
		char word[16];

		snprintf(word, sizeof(word), "x%u/%s ", i, names[i]);
		if (!hv_register_in(text, word, &ret[i]))
			return false;
	}
	return true;
}

/* While a vCPU runs a nested guest (V=1), satp is the nested guest's, and the kernel's own tables
 * are not shown. */
bool riscv64_parse_registers(const char *text, struct hv_vcpu_regs *ret)
{
	struct hv_vcpu_regs regs = {.hidden = HV_HIDDEN_NO};
	uint64_t is_virtual;

	if (!hv_register_in(text, "pc ", &regs.ip.v) ||
	    !hv_register_in(text, "satp ", &regs.root) || !parse_general(text, regs.general))
		return false;
	if (hv_register_in(text, "V      =", &is_virtual) && is_virtual)
		regs.root = 0;
	regs.sp.v = regs.general[X_SP];
	regs.levels = levels_of_root(regs.root);
	*ret = regs;
	return true;
}

bool riscv64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret)
{
	struct hv_vcpu_regs regs = {.hidden = HV_HIDDEN_NO};

	if (!hv_span_u64(g, G_PC, &regs.ip.v))
		return false;
	for (unsigned i = 0; i < NR_X; i++)
		if (!hv_span_u64(g, i * sizeof(regs.general[0]), &regs.general[i]))
			return false;
	regs.sp.v = regs.general[X_SP];
	*ret = regs;
	return true;
}

/* VALUES are satp and priv. A vCPU without page tables was not started, so its firmware interrupted
 * no kernel. */
void riscv64_take_gdb_named(const uint64_t values[HV_GDB_NAMED_MAX], struct hv_vcpu_regs *regs)
{
	regs->root = values[0];
	regs->levels = levels_of_root(regs->root);
	if (values[1] == PRIV_MACHINE && regs->levels)
		regs->hidden = HV_HIDDEN_YES;
}

unsigned riscv64_roots(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2])
{
	if (!levels_of_root(regs->root))
		return 0;
	ret[0] = hv_gpa((regs->root & SATP_NUMBER_MASK) << PAGE_SHIFT);
	return 1;
}

/* stvec is the address of code, not of a table. */
bool riscv64_trap_target(struct hv_span table, struct hv_gva *ret)
{
	(void)table;
	(void)ret;
	return false;
}
