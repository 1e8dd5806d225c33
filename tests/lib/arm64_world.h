/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world of an arm64 stub: all memory that it touches, in one block, and an emulated CPU at EL1
 * that executes it one instruction at a time (libunicorn). Works on every host. The cases are every
 * path through the stubs. x86-64 has tests/lib/stub_world.h. Leaves to others: running a case, the
 * results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define ARM64_WORLD_NR_CPUS  2
#define ARM64_WORLD_NR_SLOTS 64
#define ARM64_WORLD_NR_PIDS  1024

/* Offsets in the block. Each part begins on a page. The guest may not write what is before
 * CONTROL. */
#define ARM64_WORLD_PARAMS_OFF	0x0000
#define ARM64_WORLD_CODE_OFF	(ARM64_WORLD_PARAMS_OFF + HV_STUBS_CODE_OFF)
#define ARM64_WORLD_TEXT_OFF	0x8000
#define ARM64_WORLD_VCPUS_OFF	0x9000
#define ARM64_WORLD_PIDS_OFF	0xa000
#define ARM64_WORLD_CONTROL_OFF 0xb000
#define ARM64_WORLD_TASKS_OFF	0xc000
#define ARM64_WORLD_STATES_OFF	0xd000
#define ARM64_WORLD_LEN		0x20000

/* Functions of the text. Each is `mov x9, x30; bl stub; mov x0, x1; ret`. */
#define ARM64_WORLD_TRACED_OFF	     (ARM64_WORLD_TEXT_OFF + 0x00)
#define ARM64_WORLD_TRACED_OTHER_OFF (ARM64_WORLD_TEXT_OFF + 0x40)
#define ARM64_WORLD_SITE	     4 /* from a function's start */
/* Where the functions return to. Nothing is executed there. */
#define ARM64_WORLD_CALLER_OFF	     (ARM64_WORLD_TEXT_OFF + 0x80)
#define ARM64_WORLD_CALLER_OTHER_OFF (ARM64_WORLD_TEXT_OFF + 0x84)

/* Kernel stacks are blocks of this length. They are in memory of their own, behind the block. */
#define ARM64_WORLD_STACK_BYTES 0x4000
#define ARM64_WORLD_NR_KSTACKS	2

/* The block is where a kernel image may be, with text on both sides of a multiple of 2 GiB. */
#define ARM64_WORLD_GVA	      UINT64_C(0xffffb5217fff8000)
#define ARM64_WORLD_TEXT_BASE UINT64_C(0xffffb520f0000000)

struct arm64_task {
	uint64_t flags;
	uint64_t preempt_count; /* the upper half: 0 when a reschedule is needed */
	uint32_t cpu_number;
	uint32_t lazy_count;
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	uint16_t unused[3];
	char comm[16];
	uint64_t stack;
};

struct arm64_tasks {
	struct arm64_task cat; /* current, and in the pid filter */
	struct arm64_task dd;  /* its pid is beyond the pid filter's bitmap */
};

/* Registers of the CPU. */
struct arm64_regs {
	uint64_t x[31];
	uint64_t sp, pc, pstate;
};

struct arm64_world {
	uint8_t *host; /* the block and the stacks, owned */
	void *cpu;     /* uc_engine, owned */
	struct hv_stub_values values;
};

struct arm64_case {
	const char *name;
	unsigned nr_task_records; /* that one call writes */
	unsigned nr_function_records;
	void (*prepare)(struct arm64_world *w);
};

extern const struct arm64_case arm64_cases[];
extern const unsigned arm64_nr_cases;

static inline uint64_t arm64_world_gva(uint64_t off)
{
	return ARM64_WORLD_GVA + off;
}

static inline struct hv_params *arm64_world_params(const struct arm64_world *w)
{
	return (struct hv_params *)(w->host + ARM64_WORLD_PARAMS_OFF);
}

static inline struct hv_control *arm64_world_control(const struct arm64_world *w)
{
	return (struct hv_control *)(w->host + ARM64_WORLD_CONTROL_OFF);
}

static inline struct arm64_tasks *arm64_world_tasks(const struct arm64_world *w)
{
	return (struct arm64_tasks *)(w->host + ARM64_WORLD_TASKS_OFF);
}

static inline uint64_t arm64_world_state_off(unsigned cpu)
{
	return ARM64_WORLD_STATES_OFF +
	       cpu * (sizeof(struct hv_state) + ARM64_WORLD_NR_SLOTS * sizeof(struct hv_record));
}

static inline struct hv_state *arm64_world_state(const struct arm64_world *w, unsigned cpu)
{
	return (struct hv_state *)(w->host + arm64_world_state_off(cpu));
}

static inline struct hv_record *arm64_world_ring(const struct arm64_world *w, unsigned cpu)
{
	return (struct hv_record *)(arm64_world_state(w, cpu) + 1);
}

/* Returns where the kernel stack NR ends. */
static inline uint64_t arm64_world_stack_end(unsigned nr)
{
	return arm64_world_gva(ARM64_WORLD_LEN + (nr + 1) * ARM64_WORLD_STACK_BYTES);
}

struct arm64_world *arm64_world_new(void);
void arm64_world_free(struct arm64_world *w);

/* Fills the block: the stubs, the task cat current on CPU 0, its pid the last one, tracing on, no
 * filter; and makes the changes of the case. */
void arm64_world_set_up(struct arm64_world *w, const struct arm64_case *c);

/* Makes TASK the current one. */
void arm64_world_set_current(struct arm64_world *w, const struct arm64_task *task);

void arm64_world_get(struct arm64_world *w, struct arm64_regs *ret);
void arm64_world_set(struct arm64_world *w, const struct arm64_regs *regs);

/* Sets registers as the caller at CALLER_OFF has them when it calls the function at FUNCTION_OFF
 * with the stack pointer SP. Every other register has a value of its own. */
void arm64_world_enter(struct arm64_world *w, uint64_t function_off, uint64_t caller_off,
		       uint64_t sp);
/* Executes one instruction. False: the CPU cannot. */
bool arm64_world_step(struct arm64_world *w);
/* Executes until the caller at CALLER_OFF is reached. Returns the number of instructions in the
 * stubs; -1: the CPU cannot, or it takes too long. */
int arm64_world_run(struct arm64_world *w, uint64_t caller_off);
