/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the world of a stub (tests/lib/emulated/world.h) must know of riscv64: addresses, registers,
 * a task, and what is on a stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

#define EMU_ARCH hv_arch_riscv64
#define EMU_NAME "riscv64"

/* The emulated CPU has no page tables, so the block is not in the upper half of the addresses. What
 * lui makes is the same there. */
#define EMU_GVA	      UINT64_C(0x5fff8000)
#define EMU_TEXT_BASE (EMU_GVA - UINT64_C(0x90000000))

/* A function is a site, then `mv a0, a1; ret`. The first places of the counts of both are such that
 * the second one does not look at the last place of the first. */
#define EMU_SITE	 0    /* from its start to the address that a record has */
#define EMU_TRACED_OTHER 0x20 /* from one function to the other */

/* Numbers of registers (struct emu_regs) */
enum { EMU_RA = 1, EMU_SP = 2, EMU_TP = 4, EMU_FP = 8, EMU_A0 = 10, EMU_A1 = 11 };

/* Whether a stub may change register X before the function's own code runs: t0 to t6. */
static inline bool emu_is_free(unsigned x)
{
	return (x >= 5 && x <= 7) || x >= 28;
}

/* Whether the handler of returns keeps register X. Of the arguments it keeps what a function
 * returns. */
static inline bool emu_handler_keeps(unsigned x)
{
	bool is_argument = x >= EMU_A0 && x < EMU_A0 + 8;

	return x == EMU_A1 || (x != EMU_RA && !emu_is_free(x) && !is_argument);
}

/* As in a kernel, most fields are further away than a load reaches. */
struct emu_task {
	uint64_t flags;
	uint32_t preempt_count;
	uint32_t cpu_number;
	uint32_t lazy_count;
	uint32_t softirqs;
	uint8_t unused[0x900 - 24];
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	uint8_t more_unused[0x1000];
	char comm[16] __attribute__((aligned(8)));
	uint64_t stack;
};

#define EMU_PREEMPT_COUNT 0x102 /* of the task cat */
#define EMU_COUNT_WORD	  0x102 /* the same in a record */

struct emu_tasks {
	struct emu_task cat; /* current, and in the pid filter */
	struct emu_task dd;  /* its pid is beyond the pid filter's bitmap */
};

/* What every function keeps on its stack, below the frame pointer. */
struct emu_record {
	uint64_t next; /* frame pointer */
	uint64_t caller;
};
#define EMU_RECORD_OFF (-16) /* from a frame pointer to the record */

/* Of the kernel: where exceptions are handled, from the start of the text, and how long their
 * registers are on a stack. */
#define EMU_ENTRY      0xe00
#define EMU_ENTRY_LEN  0x80
#define EMU_REGS_BYTES 0x120

/* Where a chain of records begins on a kernel stack, from the stack's end. */
#define EMU_CHAIN_BYTES (EMU_REGS_BYTES + 0x300)
/* How far the stack pointer is below the frame pointer of who calls. */
#define EMU_BELOW_FP	0x20
/* From a frame pointer to the slot that a return stack has for that function. */
#define EMU_SLOT_MIN	0
#define EMU_SLOT_MAX	0x10
/* What may be in the upper bits of a return address besides the address. */
#define EMU_SIGNATURE	0
