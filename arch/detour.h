/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of the guest that are replaced by a jump to code of ours, and that code. A *detour*
 * is a block of HV_DETOUR_LEN bytes in the region. It executes the instruction that it stands for,
 * tells a stub where preemption is switched off or on, and jumps to what follows the instruction.
 * Pure: bytes in, bytes out.
 *
 *   site of the guest                 detour N, for an instruction that switches preemption off
 *     jmp detour N      --------->      the instruction, with an absolute address
 *     nop                               test the count: is this the first one that counts?
 *     next: ...         <---------      jmp next
 *                                       (if it is) call the stub, then jmp next
 *
 * A detour that switches preemption on tests before it executes the instruction, so that the
 * instruction is the last one that changes the CPU's flags, which the guest's next one may look at.
 * One that switches interrupts off looks first whether they were on; one that switches them on
 * looks whether they are off, tells the stub, and executes the instruction then. So a stub runs
 * with interrupts off.
 *
 * Instructions inside a function, which a jump has replaced together, may have several probes.
 * Their detour has a call of the stub before each instruction that has one, and as many blocks as
 * it needs. Leaves to others: which instructions (kernel/preempt_sites.h), where detours are
 * (tracer/). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define HV_DETOUR_LEN	     64
/* One of instructions that have several probes has more than one block. */
#define HV_DETOUR_BLOCKS_MAX 3
#define HV_DETOUR_LEN_MAX    (HV_DETOUR_BLOCKS_MAX * HV_DETOUR_LEN)
/* The probes of instructions that a jump replaces: of five bytes each may be an instruction. */
#define HV_DETOUR_PROBES_MAX 5
/* Of an instruction that a detour can stand for, and of what is written over its first bytes. */
#define HV_DETOUR_INSN_MAX   12
#define HV_DETOUR_PATCH_MAX  8

/* What an instruction does to the CPU's interrupts, the maskable ones. */
enum hv_irq_effect {
	HV_IRQ_KEEPS,
	HV_IRQ_OFF,
	HV_IRQ_ON,
	HV_IRQ_RESTORES, /* switches them off or on, by a word of the stack */
};

/* An instruction, as far as it matters for patching. */
struct hv_insn {
	struct hv_gva at;
	size_t len_bytes;
	/* Of the status flags, one bit each, the architecture's own: those on which it depends, and
	 * those that are not as before it. A call, a return and a jump leave none as before:
	 * nothing behind them depends on a flag from before. */
	unsigned flags_used;
	unsigned flags_set;
	enum hv_irq_effect irqs;
	bool is_call;
	bool is_jump;
	bool has_target; /* a direct jump or call, to: */
	struct hv_gva target;
};

#define HV_FLAGS_ALL 0x1fu

/* Returns false to end the walk. */
typedef bool (*hv_insn_fn)(void *ctx, const struct hv_insn *insn);

/* An instruction that adds a constant or a register to a per-CPU counter of 32 or 64 bits, or
 * subtracts it. */
struct hv_count_insn {
	size_t len_bytes;
	uint32_t amount; /* not 0, but that of a register is not known and 0 */
	bool subtracts;	 /* as far as the instruction tells: a register may be below 0 */
	bool is_wide;	 /* 64 bits */
};

enum hv_detour_kind {
	HV_DETOUR_BEGINS, /* an instruction that adds to the preempt count */
	HV_DETOUR_ENDS,	  /* one that subtracts */
	/* A call of the guest whose target was replaced: tells the stub, then the function is
	 * called that the guest calls there. */
	HV_DETOUR_CALL_BEGINS,
	HV_DETOUR_CALL_ENDS,
	HV_DETOUR_IRQS_OFF, /* an instruction that switches interrupts off */
	HV_DETOUR_IRQS_ON,
	/* Such a call in the code by which the kernel is entered, with interrupts off. Above the
	 * return address are the registers of what was interrupted. */
	HV_DETOUR_ARRIVES,
	/* An instruction on the way back, of classify_way_back(), where the registers are on top of
	 * the stack. */
	HV_DETOUR_RETURNS,
	/* Whole instructions inside a function, which probes are at: tells the stub before each of
	 * these, and executes them. Registers and flags are as they were. */
	HV_DETOUR_PLACE,
};

/* A probe at one of the instructions that a jump has replaced. */
struct hv_detour_probe {
	unsigned off;  /* of the instruction, from the first one on */
	unsigned slot; /* number of the slot that says what is recorded */
};

/* An instruction of the code that leaves the kernel. */
struct hv_way_back {
	enum {
		HV_WAY_BACK_NONE, /* another one */
		HV_WAY_BACK_NOP,
		HV_WAY_BACK_JUMP,
		HV_WAY_BACK_BRANCH, /* a conditional jump, or one behind a test of what a call
				     * returned */
	} kind;
	size_t off; /* of the instruction, from where it was looked for */
	size_t len_bytes;
	struct hv_gva target;
};

struct hv_detour {
	enum hv_detour_kind kind;
	struct hv_gva at;     /* of the detour itself */
	struct hv_gva next;   /* where it goes on */
	struct hv_gva stub;   /* is called when a section begins or ends */
	struct hv_gva target; /* of HV_WAY_BACK_BRANCH: where it may go on */
	/* Not of calls: */
	const uint8_t *insn; /* as the guest has it */
	bool has_caller;     /* the address that the function returns to is in the word */
	uint32_t caller_off; /* so many bytes above the stack pointer */
	/* Of HV_DETOUR_PLACE: */
	struct hv_gva place;				     /* where INSN is in the guest */
	size_t len_bytes;				     /* of INSN */
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX]; /* ascending */
	unsigned nr_probes;
	/* Of instructions that count: */
	struct hv_count_insn count;
	uint64_t percpu; /* of the counter: an offset from the per-CPU base */
	uint32_t flag;	 /* a bit of the counter that is not part of the count */
};
