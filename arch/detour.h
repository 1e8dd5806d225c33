/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours: code in the region that executes instructions of the guest which a jump has replaced.
 *
 * A detour is a block of HV_DETOUR_LEN bytes. It executes the replaced instruction, calls a
 * trampoline if preemption is disabled or enabled there, and jumps to the next instruction. Pure:
 * bytes in, bytes out.
 *
 *   code of the guest                 detour N, for an instruction that disables preemption
 *     jmp detour N      --------->      the instruction, with an absolute address
 *     nop                               test the count: is it the first one?
 *     next: ...         <---------      jmp next
 *                                       (if it is) call the trampoline, then jmp next
 *
 * A detour that enables preemption tests before it executes the instruction, so that the
 * instruction sets the CPU's flags last: the guest's next instruction may use them. A detour that
 * disables interrupts first checks whether they were on. One that enables interrupts checks whether
 * they are off, calls the trampoline, and then executes the instruction. So trampolines run with
 * interrupts off.
 *
 * If one jump has replaced several instructions inside a function, each can have a probe. The
 * detour calls the trampoline before each probed instruction, and has as many blocks as it needs.
 *
 * In a kernel without ftrace a jump replaces the first instructions of a traced function. Its detour
 * records the call and executes them (HV_DETOUR_ENTRY).
 *
 * kernel/code/section_sites.h chooses the instructions; tracer/ places the detours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define HV_DETOUR_LEN	     64
/* A detour with several probes can need more than one block. */
#define HV_DETOUR_BLOCKS_MAX 3
#define HV_DETOUR_LEN_MAX    (HV_DETOUR_BLOCKS_MAX * HV_DETOUR_LEN)
/* The maximum number of probes in a detour: a jump replaces five bytes, which can be five
 * instructions. */
#define HV_DETOUR_PROBES_MAX 5
/* The maximum lengths of the replaced instruction, and of the bytes written over it. */
#define HV_DETOUR_INSN_MAX   12
#define HV_DETOUR_PATCH_MAX  8

/* How an instruction changes the interrupt flag. */
enum hv_irq_effect {
	HV_IRQ_KEEPS,
	HV_IRQ_OFF,
	HV_IRQ_ON,
	HV_IRQ_RESTORES, /* sets it from a word on the stack */
};

/* The properties of an instruction that matter for patching. */
struct hv_insn {
	struct hv_gva at;
	size_t len_bytes;
	/* Architecture-specific bits, one per status flag: the flags that the instruction depends
	 * on, and the flags that it changes. Calls, returns and jumps count as changing all flags,
	 * because the code after them does not depend on earlier flags. */
	unsigned flags_used;
	unsigned flags_set;
	enum hv_irq_effect irqs;
	bool is_call;
	bool is_jump;
	bool has_target; /* a direct jump or call */
	struct hv_gva target;
};

#define HV_FLAGS_ALL 0x1fu

/* The direct jumps and calls of a function, and how it ends. */
typedef void (*hv_target_fn)(void *ctx, struct hv_gva target, bool is_call);
struct hv_function_scan {
	size_t len_bytes;     /* number of decoded bytes; an unknown instruction follows */
	bool is_indirect;     /* a jump leads to an address in a register or in memory */
	bool continues_after; /* execution can run past the last byte, ignoring nops there */
	bool is_idle;	      /* it consists of nops */
};

/* The length of the distance in a jump or call. */
enum hv_jump_length { HV_JUMP_SHORT, HV_JUMP_LONG };

/* Whether a nop at a function's start can only be ftrace's. */
enum hv_entry_nop {
	HV_ENTRY_NOP_UNKNOWN, /* it may be a static key's */
	HV_ENTRY_NOP_FTRACE,
};

/* The instructions at a function's entry that a jump can replace. */
struct hv_entry_insns {
	size_t off;	  /* of the first one from the function's start */
	size_t len_bytes; /* total, at most HV_DETOUR_INSN_MAX */
	unsigned nr;
	bool uses_memory; /* one of them reads or writes memory other than the stack's top */
};

/* Returns false to end the walk. */
typedef bool (*hv_insn_fn)(void *ctx, const struct hv_insn *insn);

/* An instruction that adds a constant or register to a per-CPU counter of 32 or 64 bits, or
 * subtracts it. */
struct hv_count_insn {
	size_t len_bytes;
	uint32_t amount; /* 0 only if a register has the amount */
	bool subtracts;	 /* according to the opcode: a register can be negative */
	bool is_wide;	 /* 64 bits */
};

enum hv_detour_kind {
	HV_DETOUR_BEGINS, /* adds to the preempt count */
	HV_DETOUR_ENDS,	  /* subtracts from it */
	/* A redirected call in the guest: calls the trampoline, then the function that the guest
	 * calls there. */
	HV_DETOUR_CALL_BEGINS,
	HV_DETOUR_CALL_ENDS,
	HV_DETOUR_IRQS_OFF, /* disables interrupts */
	HV_DETOUR_IRQS_ON,
	/* A redirected call in the kernel's entry code, with interrupts off. The interrupted
	 * registers are above the return address. */
	HV_DETOUR_ARRIVES,
	/* An instruction on the way out of the kernel, from classify_way_back(). The registers to
	 * restore are on top of the stack. */
	HV_DETOUR_RETURNS,
	/* Complete instructions inside a function, with probes: calls the trampoline before each
	 * probed instruction, and executes all. Registers and flags are preserved. */
	HV_DETOUR_PROBE_SITE,
	/* The first instructions of a function: calls the trampoline once, and then executes all.
	 * The stack is as the caller left it. Registers and flags are preserved: a kernel without
	 * ftrace is compiled with -fipa-ra, so a caller may rely on any register that the function
	 * itself does not change. */
	HV_DETOUR_ENTRY,
};

/* A probe on an instruction that a jump has replaced. */
struct hv_detour_probe {
	unsigned off;	/* of the instruction from the first replaced one */
	unsigned group; /* index of the action group that describes the record */
};

/* An instruction on the way out of the kernel. */
struct hv_way_back {
	enum {
		HV_WAY_BACK_NONE, /* any other */
		HV_WAY_BACK_NOP,
		HV_WAY_BACK_JUMP,
		HV_WAY_BACK_BRANCH, /* a conditional jump, perhaps after a test of a register */
	} kind;
	size_t off; /* of the instruction from the start of the search */
	size_t len_bytes;
	struct hv_gva target;
};

struct hv_detour {
	enum hv_detour_kind kind;
	struct hv_gva at;	  /* address of the detour */
	struct hv_gva next;	  /* where execution continues */
	struct hv_gva trampoline; /* called at the start or end of a section */
	struct hv_gva target;	  /* HV_WAY_BACK_BRANCH: the branch's target */
	/* Not for calls: */
	const uint8_t *insn; /* original bytes in the guest */
	bool has_caller;     /* CALLER_OFF has the return address of the function */
	uint32_t caller_off; /* offset from the stack pointer, in bytes */
	/* HV_DETOUR_PROBE_SITE, HV_DETOUR_ENTRY: */
	struct hv_gva probe_site; /* address of INSN in the guest */
	size_t len_bytes;	  /* of INSN */
	/* HV_DETOUR_PROBE_SITE: */
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX]; /* ascending by OFF */
	unsigned nr_probes;
	/* Instructions that count: */
	struct hv_count_insn count;
	uint64_t percpu; /* the counter's offset from the per-CPU base */
	uint32_t flag;	 /* a bit of the counter that is not part of the count */
};
