/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the world of a stub (tests/lib/emulated/world.h) must know of arm64: addresses, registers, a
 * task, and what is on a stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

#define EMU_ARCH hv_arch_arm64
#define EMU_NAME "arm64"

/* The block is where a kernel image may be, with text on both sides of a multiple of 2 GiB. */
#define EMU_GVA	      UINT64_C(0xffffb5217fff8000)
#define EMU_TEXT_BASE UINT64_C(0xffffb520f0000000)

/* A function is `mov x9, x30; bl stub; mov x0, x1; ret`. */
#define EMU_SITE	 4    /* from its start to the address that a record has */
#define EMU_TRACED_OTHER 0x40 /* from one function to the other */

/* Numbers of registers (struct emu_regs) */
enum { EMU_A0 = 0, EMU_A1 = 1, EMU_FP = 29, EMU_RA = 30, EMU_SP = 31 };

/* Whether a stub may change register X before the function's own code runs. */
static inline bool emu_is_free(unsigned x)
{
	return x >= 9 && x <= 17;
}

/* Whether the handler of returns keeps register X. */
static inline bool emu_handler_keeps(unsigned x)
{
	return x != EMU_A0 && (x < 8 || x > 17);
}

struct emu_task {
	uint64_t flags;
	uint64_t preempt_count; /* the upper half: 0 when a reschedule is needed */
	uint32_t cpu_number;
	uint32_t lazy_count;
	uint32_t softirqs;
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	uint16_t unused;
	char comm[16];
	uint64_t stack;
};

#define EMU_PREEMPT_COUNT UINT64_C(0x100000102) /* of the task cat */
#define EMU_COUNT_WORD	  0x80000102		/* the same in a record */

struct emu_tasks {
	struct emu_task cat; /* current, and in the pid filter */
	struct emu_task dd;  /* its pid is beyond the pid filter's bitmap */
	uint64_t irq_stack;  /* the start of the CPUs' interrupt stack */
};

/* What every function keeps on its stack, at the frame pointer. */
struct emu_record {
	uint64_t next;
	uint64_t caller;
};
#define EMU_RECORD_OFF 0 /* from a frame pointer to the record */

/* Where a chain of records begins on a kernel stack, from the stack's end. */
#define EMU_CHAIN_BYTES 0x200
/* How far the stack pointer is below the frame pointer of who calls. */
#define EMU_BELOW_FP	0
/* From a frame pointer to the slot that a return stack has for that function. */
#define EMU_SLOT_MIN	0x10
#define EMU_SLOT_MAX	0x20
/* What may be in the upper bits of a return address besides the address. */
#define EMU_SIGNATURE	UINT64_C(0x005a000000000000)
