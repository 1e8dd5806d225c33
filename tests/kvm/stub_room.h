/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with a world of a stub in it (tests/lib/stub_world.h), a caller of the traced function,
 * and a trap handler that calls another one. Runs a call, and reports what is not as it must be:
 * registers, flags, stack, every byte of memory, the records.
 * Leaves to others: which calls are made, where they are interrupted. */
#pragma once

#include "tests/kvm/machine.h"
#include "tests/lib/stub_world.h"

#define ROOM_NR_SLOTS 64
#define ROOM_VECTOR   0x20 /* of the interrupt; an NMI has the same handler */
/* The ports to which the handler writes before and after its call. */
#define ROOM_PORT_IN  0x50
#define ROOM_PORT_OUT 0x51

#define ROOM_END_GVA (MACHINE_GVA + MACHINE_TEXT_OFF + 6) /* after the caller's HLT */

#define ROOM_STATUS_FLAGS	0x8d5 /* OF SF ZF AF PF CF: free at a function's entry */
#define ROOM_FLAG_TF		0x100
#define ROOM_FLAG_IF		0x200
#define ROOM_STACK_BYTES	48 /* what a stub may use, its return address included */
#define ROOM_GRAPH_STACK_BYTES	96
#define ROOM_PROBED_STACK_BYTES (40 * 8)	      /* of one that records registers */
#define ROOM_ARGS_STACK_BYTES	(46 * 8)	      /* and arguments */
#define ROOM_STACK_STACK_BYTES	(24 * 8 + 72)	      /* of one that records a stack */
#define ROOM_HANDLER_BYTES	(40 + 8 * 8 + 8 + 16) /* its frame, pushes, call, alignment */

/* The kernel stack of the caller, as return stacks identify it; and the place of the caller. */
#define ROOM_STACK_OFF (MACHINE_STACK_OFF / ROOM_STACK_LEN * ROOM_STACK_LEN)
#define ROOM_STACK_LEN 0x4000
#define ROOM_SLOT_OFF  (MACHINE_STACK_END - 0x800 - 8)

struct room {
	struct machine *machine; /* owned */
	struct world world;
	struct hv_stub_values values; /* the world's */
	struct kvm_regs before;	      /* of the run */
	struct kvm_sregs before_system;
	struct kvm_fpu before_fpu;
	uint64_t before_tsc;
	uint8_t expected[MACHINE_LEN]; /* memory as it must be after the run, without the records */
	bool graph;
	bool stepped;		   /* records may have the trap flag */
	unsigned stub_stack_bytes; /* what a stub may use */
	unsigned nr_stacks;	   /* stacks that were recorded in the last run */
	uint64_t stack_used_max;   /* below the stack pointer of the caller */
};

/* A call of a traced function, as its record must describe it. */
struct room_call {
	uint64_t site_off; /* in the world */
	struct hv_gva caller;
	const struct world_task *task;
	uint32_t preempt_count;
	uint16_t flags; /* without status flags */
};

/* NULL: *ret_lack says what the host lacks. */
struct room *room_new(const char **ret_lack);
void room_free(struct room *r);

/* Sets up everything as the case C needs it. */
void room_set_up(struct room *r, const struct world_case *c);
/* Puts the machine at the caller, with a different value in every register. FLAGS: RFLAGS.
 * Remembers the state for room_check. */
void room_begin(struct room *r, uint64_t flags);
/* Returns what must be recorded of the caller's call. */
struct room_call room_outer(const struct room *r);

/* Checks after HLT that all is as it must be, with each of the CALLS recorded once (NULL: not
 * recorded) and *ret_tasks task records. If not, prints what is wrong. */
bool room_check(struct room *r, const struct room_call *outer, const struct room_call *inner,
		unsigned *ret_tasks);

/* The parts of this check, for other records. */
bool room_registers_are_right(struct room *r);
/* Checks memory, without the used part of the stack. EXPECTED has the records already. */
bool room_memory_is_right(struct room *r);
uint64_t room_tsc(struct room *r);
/* Returns what the state of a vCPU, and the ring behind it, must be after the run. */
struct hv_state *room_expected_state(struct room *r, unsigned cpu);
/* Takes the key off RECORD. False: it was not written for POSITION. */
bool room_take_key(const struct room *r, struct hv_record *record, uint64_t position);
