/* SPDX-License-Identifier: GPL-2.0-or-later */
/* riscv64 definitions for the emulated trampoline world (tests/lib/emulated/world.h): addresses,
 * registers, a task, and the stack layout. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

#define EMU_ARCH hv_arch_riscv64
#define EMU_NAME "riscv64"

/* The emulated CPU has no page tables, so the block is in the lower half of the address space. lui
 * yields the same values there. */
#define EMU_GVA	      UINT64_C(0x5fff8000)
#define EMU_TEXT_BASE (EMU_GVA - UINT64_C(0x90000000))

/* A function is a site, then `mv a0, a1; ret`. The home buckets of the two functions' counts are
 * far enough apart that a lookup for the second one does not reach the last bucket of the first. */
#define EMU_SITE	 0    /* from its start to the address in a record */
#define EMU_TRACED_OTHER 0x20 /* from one function to the next */

/* Register numbers in struct emu_regs. */
enum { EMU_RA = 1, EMU_SP = 2, EMU_TP = 4, EMU_FP = 8, EMU_A0 = 10, EMU_A1 = 11 };

/* Returns true if a trampoline may change register X before the function's own code runs: t0 to
 * t6. */
static inline bool emu_is_free(unsigned x)
{
	return (x >= 5 && x <= 7) || x >= 28;
}

/* Returns true if the return handler keeps register X. Of the argument registers it keeps only the
 * return values. */
static inline bool emu_handler_keeps(unsigned x)
{
	bool is_argument = x >= EMU_A0 && x < EMU_A0 + 8;

	return x == EMU_A1 || (x != EMU_RA && !emu_is_free(x) && !is_argument);
}

/* As in a kernel, most fields are beyond the reach of a load's immediate offset. */
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
#define EMU_COUNT_WORD	  0x102 /* EMU_PREEMPT_COUNT as a record stores it */

struct emu_tasks {
	struct emu_task cat; /* current, and matches the pid filter */
	struct emu_task dd;  /* its pid is beyond the bitmap of the pid filter */
};

/* The frame record that every function stores below its frame pointer. */
struct emu_record {
	uint64_t next; /* frame pointer */
	uint64_t caller;
};
#define EMU_RECORD_OFF (-16) /* from a frame pointer to the record */

/* The kernel's exception entry: its offset from the start of the text, its length, and the size of
 * the registers that it saves on a stack. */
#define EMU_ENTRY      0xe00
#define EMU_ENTRY_LEN  0x80
#define EMU_REGS_BYTES 0x120

/* Distance from the start of a chain of frame records to the end of the kernel stack. */
#define EMU_CHAIN_BYTES (EMU_REGS_BYTES + 0x300)
/* Distance from the caller's frame pointer down to the stack pointer. */
#define EMU_BELOW_FP	0x20
/* Distance from a frame pointer to the function's entry in a return stack. */
#define EMU_RETP_MIN	0
#define EMU_RETP_MAX	0x10
/* riscv64 return addresses carry no signature. */
#define EMU_SIGNATURE	0
