/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world of an arm64 stub: all memory that it touches, in one block, and an emulated CPU at EL1
 * (libunicorn) that can stop at any instruction. Works on every host. The cases are every
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

/* Offsets in the block. Each part begins on a page. The guest may not write what is before PIDS. */
#define ARM64_WORLD_PARAMS_OFF	0x0000
#define ARM64_WORLD_CODE_OFF	(ARM64_WORLD_PARAMS_OFF + HV_STUBS_CODE_OFF)
#define ARM64_WORLD_TEXT_OFF	0x8000
#define ARM64_WORLD_VCPUS_OFF	0x9000
#define ARM64_WORLD_PIDS_OFF	0xa000
#define ARM64_WORLD_CONTROL_OFF 0xb000
#define ARM64_WORLD_TASKS_OFF	0xc000
#define ARM64_WORLD_STACKS_OFF	0xd000	/* return stacks */
#define ARM64_WORLD_COUNTS_OFF	0x16000 /* of a profile */
#define ARM64_WORLD_STATES_OFF	0x18000
#define ARM64_WORLD_LEN		0x20000

#define ARM64_WORLD_NR_STACKS 7
#define ARM64_WORLD_HOMES_SHIFT                                                                    \
	2 /* log2 of the first places, HV_STACK_PROBES - 1 less than that                          \
	   */
#define ARM64_WORLD_NR_COUNTS	 39
#define ARM64_WORLD_COUNTS_SHIFT 3 /* likewise, HV_COUNT_PROBES - 1 less */

/* Functions of the text. Each is `mov x9, x30; bl stub; mov x0, x1; ret`. */
#define ARM64_WORLD_TRACED_OFF	     (ARM64_WORLD_TEXT_OFF + 0x00)
#define ARM64_WORLD_TRACED_OTHER_OFF (ARM64_WORLD_TEXT_OFF + 0x40)
#define ARM64_WORLD_SITE	     4 /* from a function's start */
/* Where the functions return to. Nothing is executed there. */
#define ARM64_WORLD_CALLER_OFF	     (ARM64_WORLD_TEXT_OFF + 0x80)
#define ARM64_WORLD_CALLER_OTHER_OFF (ARM64_WORLD_TEXT_OFF + 0x84)

/* Kernel stacks are blocks of this length. They are in memory of their own, behind the block. */
#define ARM64_WORLD_STACK_BYTES 0x4000
#define ARM64_WORLD_NR_KSTACKS	3 /* of cat, of dd, of interrupts */

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
	uint64_t irq_stack;    /* the start of the CPUs' interrupt stack */
};

/* What every function keeps on its stack. */
struct arm64_record {
	uint64_t next;
	uint64_t caller;
};

/* Registers of the CPU. */
struct arm64_regs {
	uint64_t x[31];
	uint64_t sp, pc, pstate;
};

struct arm64_world {
	uint8_t *host; /* the block and the stacks, owned */
	void *cpu;     /* uc_engine, owned */
	/* Counted while the CPU executes: */
	uint64_t until;	      /* the address where it stops */
	uint64_t nr_left;     /* instructions before it stops all the same */
	uint64_t nr_done;     /* instructions, ever */
	uint64_t nr_in_stubs; /* likewise */
	uint64_t fp;	      /* of who calls the function; 0: any */
	struct hv_stub_values values;
};

struct arm64_case {
	const char *name;
	unsigned nr_task_records; /* that one call writes */
	unsigned nr_function_records;
	void (*prepare)(struct arm64_world *w);
	/* The entry that the sites call (hv_call_off): */
	enum hv_call_role role;
	enum hv_call_trace
		trace; /* HV_TRACE_NOTHING and not profiled: that of the function tracer */
	bool profiled;
	/* A graph's: */
	unsigned nr_entries;
	unsigned nr_exits;
	unsigned nr_mores;
	unsigned nr_hits; /* calls that the profile counts */
	/* The sites call the entry that records stacks, or a command does it: */
	bool has_stack;
	unsigned nr_stacks;
};

/* Every path through the function stub. */
extern const struct arm64_case arm64_cases[];
extern const unsigned arm64_nr_cases;
/* Every path through the stubs of a graph and a profile. */
extern const struct arm64_case arm64_graph_cases[];
extern const unsigned arm64_nr_graph_cases;
/* Every path through the stub that records stacks. */
extern const struct arm64_case arm64_stack_cases[];
extern const unsigned arm64_nr_stack_cases;

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

static inline struct hv_stack *arm64_world_stack(const struct arm64_world *w, unsigned index)
{
	return (struct hv_stack *)(w->host + ARM64_WORLD_STACKS_OFF) + index;
}

static inline struct hv_count *arm64_world_counts(const struct arm64_world *w, unsigned cpu)
{
	return (struct hv_count *)(w->host + ARM64_WORLD_COUNTS_OFF) + cpu * ARM64_WORLD_NR_COUNTS;
}

/* The address that follows the site of the function at OFF, as records and counts have it. */
static inline uint32_t arm64_world_site_end(uint64_t off)
{
	return (uint32_t)(arm64_world_gva(off) + ARM64_WORLD_SITE + 4 - ARM64_WORLD_TEXT_BASE);
}

/* Returns where the kernel stack NR ends. */
static inline uint64_t arm64_world_stack_end(unsigned nr)
{
	return arm64_world_gva(ARM64_WORLD_LEN + (nr + 1) * ARM64_WORLD_STACK_BYTES);
}

/* Where a chain of records begins on the kernel stack NR, above the stack pointer of a call. */
#define ARM64_WORLD_RECORDS(nr) (arm64_world_stack_end(nr) - 0x200)

static inline struct arm64_record *arm64_world_record(const struct arm64_world *w, uint64_t gva)
{
	return (struct arm64_record *)(w->host + (gva - ARM64_WORLD_GVA));
}

/* The caller of the function whose record is the Nth. */
static inline uint64_t arm64_world_caller(unsigned n)
{
	return ARM64_WORLD_TEXT_BASE + HV_TEXT_BIT + 0x1000 + 0x10 * n;
}

/* Puts NR records at FP and above, 32 bytes apart, and then the one that ends a stack. Returns
 * where that is. */
uint64_t arm64_world_chain(const struct arm64_world *w, uint64_t fp, unsigned first, unsigned nr);

/* The stack pointer with which the function of a case is called. */
static inline uint64_t arm64_world_sp(const struct arm64_world *w)
{
	return w->fp ? w->fp - 0x40 : arm64_world_stack_end(0) - 0x100;
}

struct arm64_world *arm64_world_new(void);
void arm64_world_free(struct arm64_world *w);

/* Fills the block: the stubs, the task cat current on CPU 0, its pid the last one, tracing on, no
 * filter; and makes the changes of the case. */
void arm64_world_set_up(struct arm64_world *w, const struct arm64_case *c);

/* The return stack that the kernel stack NR gets in an empty world, and its key. */
uint64_t arm64_world_key(unsigned nr);
struct hv_stack *arm64_world_home(const struct arm64_world *w, unsigned nr);
/* Likewise, with NR_FRAMES open calls. */
struct hv_stack *arm64_world_open(const struct arm64_world *w, unsigned nr, unsigned nr_frames);
/* Makes the traced function call entry NR of the actions, whose slot DOES and goes on to the
 * function tracer's stub if RECORDS. */
void arm64_world_call_action(struct arm64_world *w, unsigned nr, uint32_t does, bool records);
/* Makes the traced function jump to the other one instead of returning. */
void arm64_world_make_tail_call(const struct arm64_world *w);

/* Makes TASK the current one. */
void arm64_world_set_current(struct arm64_world *w, const struct arm64_task *task);

void arm64_world_get(struct arm64_world *w, struct arm64_regs *ret);
void arm64_world_set(struct arm64_world *w, const struct arm64_regs *regs);

/* Sets registers as the caller at CALLER_OFF has them when it calls the function at FUNCTION_OFF
 * with the stack pointer SP. Every other register has a value of its own. */
void arm64_world_enter(struct arm64_world *w, uint64_t function_off, uint64_t caller_off,
		       uint64_t sp);
/* Executes NR instructions in one piece: exclusive loads and stores do not lose each other. False:
 * the CPU cannot. */
bool arm64_world_step(struct arm64_world *w, uint64_t nr);
/* Executes until the address OFF of the block is reached. False: the CPU cannot, or it takes too
 * long. */
bool arm64_world_run(struct arm64_world *w, uint64_t off);

/* A moment, to which a test can return. */
struct arm64_moment {
	struct arm64_regs regs;
	uint64_t current;
	uint8_t memory[ARM64_WORLD_LEN];
};
void arm64_world_save(struct arm64_world *w, struct arm64_moment *ret);
void arm64_world_come_back(struct arm64_world *w, const struct arm64_moment *moment);
