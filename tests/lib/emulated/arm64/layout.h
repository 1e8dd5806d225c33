/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64 definitions for the emulated trampoline world (tests/lib/emulated/world.h): addresses,
 * registers, a task, and the stack layout. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

#define EMU_ARCH hv_arch_arm64
#define EMU_NAME "arm64"

/* A kernel image can be at this address. There is text on both sides of a multiple of 2 GiB. */
#define EMU_GVA	      UINT64_C(0xffffb5217fff8000)
#define EMU_TEXT_BASE UINT64_C(0xffffb520f0000000)

/* A function is `mov x9, x30; bl trampoline; mov x0, x1; ret`. */
#define EMU_SITE	 4    /* from its start to the address in a record */
#define EMU_TRACED_OTHER 0x40 /* from one function to the next */

/* Register numbers in struct emu_regs. */
enum { EMU_A0 = 0, EMU_A1 = 1, EMU_FP = 29, EMU_RA = 30, EMU_SP = 31 };

/* Returns true if a trampoline may change register X before the function's own code runs. */
static inline bool emu_is_free(unsigned x)
{
	return x >= 9 && x <= 17;
}

/* Returns true if the return handler keeps register X. */
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
#define EMU_COUNT_WORD	  0x80000102		/* EMU_PREEMPT_COUNT as a record stores it */

struct emu_tasks {
	struct emu_task cat; /* current, and matches the pid filter */
	struct emu_task dd;  /* its pid is beyond the bitmap of the pid filter */
	uint64_t irq_stack;  /* the start of the CPUs' interrupt stack */
};

/* The frame record that every function stores at its frame pointer. */
struct emu_record {
	uint64_t next;
	uint64_t caller;
};
#define EMU_RECORD_OFF 0 /* from a frame pointer to the record */

/* Distance from the start of a chain of frame records to the end of the kernel stack. */
#define EMU_CHAIN_BYTES 0x200
/* Distance from the caller's frame pointer down to the stack pointer. */
#define EMU_BELOW_FP	0
/* Distance from a frame pointer to the function's entry in a return stack. */
#define EMU_RETP_MIN	0x10
#define EMU_RETP_MAX	0x20
/* Pointer signature in the upper bits of a return address. */
#define EMU_SIGNATURE	UINT64_C(0x005a000000000000)
