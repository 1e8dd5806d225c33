/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with a trampoline world in it (tests/lib/trampoline_world.h), a caller of the traced
 * function, and a trap handler that calls a second traced function. Runs a call and reports the first
 * unexpected value in registers, flags, stack, memory (every byte) and records. The tests choose
 * the calls and where to interrupt them. */
#pragma once

#include "tests/kvm/machine.h"
#include "tests/lib/trampoline_world.h"

#define ROOM_NR_SLOTS 64
#define ROOM_VECTOR   0x20 /* of the interrupt; the NMI has the same handler */
/* The handler writes to these ports before and after its call. */
#define ROOM_PORT_IN  0x50
#define ROOM_PORT_OUT 0x51

#define ROOM_END_GVA (MACHINE_GVA + MACHINE_TEXT_OFF + 6) /* after the caller's HLT */

#define ROOM_STATUS_FLAGS	0x8d5 /* OF SF ZF AF PF CF: free at a function's entry */
#define ROOM_FLAG_TF		0x100
#define ROOM_FLAG_IF		0x200
#define ROOM_STACK_BYTES	48 /* for a trampoline, including its return address */
#define ROOM_GRAPH_STACK_BYTES	96
#define ROOM_PROBED_STACK_BYTES (40 * 8)      /* for a trampoline that records registers */
#define ROOM_ARGS_STACK_BYTES	(46 * 8)      /* for a trampoline that also records arguments */
#define ROOM_STACK_STACK_BYTES	(24 * 8 + 72) /* for a trampoline that records a stack */
#define ROOM_HANDLER_BYTES	(40 + 8 * 8 + 8 + 16) /* its frame, pushes, call, alignment */

/* The caller's kernel stack, as return stacks identify it, and retp of the call. */
#define ROOM_STACK_OFF (MACHINE_STACK_OFF / ROOM_STACK_LEN * ROOM_STACK_LEN)
#define ROOM_STACK_LEN 0x4000
#define ROOM_RETP_OFF  (MACHINE_STACK_END - 0x800 - 8)

struct room {
	struct machine *machine; /* owned */
	struct world world;
	struct hv_trampoline_values values; /* of the world */
	struct kvm_regs before;		    /* at the start of the run */
	struct kvm_sregs before_system;
	struct kvm_fpu before_fpu;
	uint64_t before_tsc;
	uint8_t expected[MACHINE_LEN]; /* memory expected after the run, without the records */
	bool graph;
	bool stepped;			 /* records may contain the trap flag */
	unsigned trampoline_stack_bytes; /* limit for a trampoline */
	unsigned nr_stacks;		 /* number of stacks recorded in the last run */
	uint64_t stack_used_max;	 /* deepest use below the caller's stack pointer */
};

/* The expected content of a traced call's record. */
struct room_call {
	uint64_t site_off; /* in the world */
	struct hv_gva caller;
	const struct world_task *task;
	uint32_t preempt_count;
	uint16_t flags; /* without status flags */
};

/* Returns NULL if the host cannot run a room, with the reason in *ret_lack. */
struct room *room_new(const char **ret_lack);
void room_free(struct room *r);

/* Sets up everything for the case C. */
void room_set_up(struct room *r, const struct world_case *c);
/* Puts the machine at the caller, with a different value in every register. FLAGS: RFLAGS. Saves
 * the state for room_check(). */
void room_begin(struct room *r, uint64_t flags);
/* Returns the expected record of the caller's call. */
struct room_call room_outer(const struct room *r);

/* Checks the state after HLT. Each of the calls must be recorded once (NULL: not recorded). Returns
 * the number of task records in *ret_tasks. Prints the first unexpected value. */
bool room_check(struct room *r, const struct room_call *outer, const struct room_call *inner,
		unsigned *ret_tasks);

/* The parts of room_check(), for tests with other records. */
bool room_registers_are_right(struct room *r);
/* Checks memory except the used part of the stack. EXPECTED already contains the records. */
bool room_memory_is_right(struct room *r);
uint64_t room_tsc(struct room *r);
/* Returns the expected state of a vCPU after the run; its ring follows the state. */
struct hv_state *room_expected_state(struct room *r, unsigned cpu);
/* Removes the key from RECORD. Returns false if RECORD was not written for POSITION. */
bool room_take_key(const struct room *r, struct hv_record *record, uint64_t position);
