/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world of a riscv64 stub: all memory that it touches, in one block, and an emulated CPU
 * (libunicorn) that can stop at any instruction. Works on every host. The cases are every path
 * through the stubs. arm64 has tests/lib/arm64_world.h. Leaves to others: running a case, the
 * results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define RISCV64_WORLD_NR_CPUS  2
#define RISCV64_WORLD_NR_SLOTS 64
#define RISCV64_WORLD_NR_PIDS  1024

/* Offsets in the block. Each part begins on a page. The guest may not write what is before PIDS. */
#define RISCV64_WORLD_PARAMS_OFF  0x0000
#define RISCV64_WORLD_CODE_OFF	  (RISCV64_WORLD_PARAMS_OFF + HV_STUBS_CODE_OFF)
#define RISCV64_WORLD_TEXT_OFF	  0x8000
#define RISCV64_WORLD_VCPUS_OFF	  0x9000
#define RISCV64_WORLD_PIDS_OFF	  0xa000
#define RISCV64_WORLD_CONTROL_OFF 0xb000
#define RISCV64_WORLD_TASKS_OFF	  0xc000
#define RISCV64_WORLD_STACKS_OFF  0x10000 /* return stacks */
#define RISCV64_WORLD_COUNTS_OFF  0x1a000 /* of a profile */
#define RISCV64_WORLD_STATES_OFF  0x1b000
#define RISCV64_WORLD_LEN	  0x20000

#define RISCV64_WORLD_NR_STACKS	   7
#define RISCV64_WORLD_HOMES_SHIFT  2 /* log2 of the first places, HV_STACK_PROBES - 1 less */
#define RISCV64_WORLD_NR_COUNTS	   39
#define RISCV64_WORLD_COUNTS_SHIFT 3 /* likewise, HV_COUNT_PROBES - 1 less */

/* Functions of the text. Each is a site, then `mv a0, a1; ret`. The first places of their counts
 * are such that the second one does not look at the last place of the first. */
#define RISCV64_WORLD_TRACED_OFF       (RISCV64_WORLD_TEXT_OFF + 0x00)
#define RISCV64_WORLD_TRACED_OTHER_OFF (RISCV64_WORLD_TEXT_OFF + 0x20)
/* Where the functions return to. Nothing is executed there. */
#define RISCV64_WORLD_CALLER_OFF       (RISCV64_WORLD_TEXT_OFF + 0x80)
#define RISCV64_WORLD_CALLER_OTHER_OFF (RISCV64_WORLD_TEXT_OFF + 0x84)

/* Kernel stacks are blocks of this length. They are in memory of their own, behind the block. */
#define RISCV64_WORLD_STACK_BYTES 0x4000
#define RISCV64_WORLD_NR_KSTACKS  3 /* of cat, of dd, of interrupts */

/* The emulated CPU has no page tables, so the block is not in the upper half of the addresses. What
 * lui makes is the same there. */
#define RISCV64_WORLD_GVA	UINT64_C(0x5fff8000)
#define RISCV64_WORLD_TEXT_BASE (RISCV64_WORLD_GVA - UINT64_C(0x90000000))

/* As in a kernel, most fields are further away than a load reaches. */
struct riscv64_task {
	uint64_t flags;
	uint32_t preempt_count;
	uint32_t cpu_number;
	uint32_t lazy_count;
	uint8_t unused[0x900 - 20];
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	uint8_t more_unused[0x1000];
	char comm[16] __attribute__((aligned(8)));
	uint64_t stack;
};

struct riscv64_tasks {
	struct riscv64_task cat; /* current, and in the pid filter */
	struct riscv64_task dd;	 /* its pid is beyond the pid filter's bitmap */
};

/* Registers of the CPU. x[0] is always 0. */
struct riscv64_regs {
	uint64_t x[32];
	uint64_t pc;
};

/* What is below a frame pointer, by the address where it begins. */
struct riscv64_record {
	uint64_t next; /* frame pointer */
	uint64_t caller;
};

struct riscv64_world {
	uint8_t *host; /* the block and the stacks, owned */
	void *cpu;     /* uc_engine, owned */
	/* Counted while the CPU executes: */
	uint64_t until;	      /* the address where it stops */
	uint64_t nr_left;     /* instructions before it stops all the same */
	uint64_t nr_done;     /* instructions, ever */
	uint64_t nr_in_stubs; /* likewise */
	uint64_t time;	      /* what rdtime reads next */
	uint64_t fp;	      /* of who calls the function; 0: any */
	bool reads_time;      /* it has stopped at an rdtime */
	struct hv_stub_values values;
};

struct riscv64_case {
	const char *name;
	unsigned nr_task_records; /* that one call writes */
	unsigned nr_function_records;
	void (*prepare)(struct riscv64_world *w);
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
extern const struct riscv64_case riscv64_cases[];
extern const unsigned riscv64_nr_cases;
/* Every path through the stubs of a graph and a profile. */
extern const struct riscv64_case riscv64_graph_cases[];
extern const unsigned riscv64_nr_graph_cases;
/* Every path through the stub that records stacks. */
extern const struct riscv64_case riscv64_stack_cases[];
extern const unsigned riscv64_nr_stack_cases;

static inline uint64_t riscv64_world_gva(uint64_t off)
{
	return RISCV64_WORLD_GVA + off;
}

static inline struct hv_params *riscv64_world_params(const struct riscv64_world *w)
{
	return (struct hv_params *)(w->host + RISCV64_WORLD_PARAMS_OFF);
}

static inline struct hv_control *riscv64_world_control(const struct riscv64_world *w)
{
	return (struct hv_control *)(w->host + RISCV64_WORLD_CONTROL_OFF);
}

static inline struct riscv64_tasks *riscv64_world_tasks(const struct riscv64_world *w)
{
	return (struct riscv64_tasks *)(w->host + RISCV64_WORLD_TASKS_OFF);
}

static inline uint64_t riscv64_world_state_off(unsigned cpu)
{
	return RISCV64_WORLD_STATES_OFF +
	       cpu * (sizeof(struct hv_state) + RISCV64_WORLD_NR_SLOTS * sizeof(struct hv_record));
}

static inline struct hv_state *riscv64_world_state(const struct riscv64_world *w, unsigned cpu)
{
	return (struct hv_state *)(w->host + riscv64_world_state_off(cpu));
}

static inline struct hv_record *riscv64_world_ring(const struct riscv64_world *w, unsigned cpu)
{
	return (struct hv_record *)(riscv64_world_state(w, cpu) + 1);
}

static inline struct hv_stack *riscv64_world_stack(const struct riscv64_world *w, unsigned index)
{
	return (struct hv_stack *)(w->host + RISCV64_WORLD_STACKS_OFF) + index;
}

static inline struct hv_count *riscv64_world_counts(const struct riscv64_world *w, unsigned cpu)
{
	return (struct hv_count *)(w->host + RISCV64_WORLD_COUNTS_OFF) +
	       cpu * RISCV64_WORLD_NR_COUNTS;
}

/* The address that follows the site of the function at OFF, as records and counts have it. */
static inline uint32_t riscv64_world_site_end(uint64_t off)
{
	return (uint32_t)(riscv64_world_gva(off) + 8 - RISCV64_WORLD_TEXT_BASE);
}

/* Returns where the kernel stack NR ends. */
static inline uint64_t riscv64_world_stack_end(unsigned nr)
{
	return riscv64_world_gva(RISCV64_WORLD_LEN + (nr + 1) * RISCV64_WORLD_STACK_BYTES);
}

/* Of the kernel: where exceptions are handled, and how long their registers are on a stack. */
#define RISCV64_WORLD_ENTRY_OFF	 (RISCV64_WORLD_TEXT_OFF + 0xe00)
#define RISCV64_WORLD_ENTRY_LEN	 0x80
#define RISCV64_WORLD_REGS_BYTES 0x120

/* The registers at the end of a task's stack, where the frame of its first function ends. */
static inline uint64_t riscv64_world_last(unsigned nr)
{
	return riscv64_world_stack_end(nr) - RISCV64_WORLD_REGS_BYTES;
}

/* The first frame pointer of a chain on the kernel stack NR, above the stack pointer of a call. */
#define RISCV64_WORLD_FRAMES(nr) (riscv64_world_last(nr) - 0x300)

/* The word at the address GVA, which is in the block or in a stack. */
static inline uint64_t *riscv64_world_word(const struct riscv64_world *w, uint64_t gva)
{
	return (uint64_t *)(w->host + (gva - RISCV64_WORLD_GVA));
}

static inline struct riscv64_record *riscv64_world_record(const struct riscv64_world *w,
							  uint64_t fp)
{
	return (struct riscv64_record *)riscv64_world_word(w, fp) - 1;
}

/* The caller of the function whose record is the Nth. */
static inline uint64_t riscv64_world_caller(unsigned n)
{
	return riscv64_world_gva(RISCV64_WORLD_TEXT_OFF + 0x100 + 8 * n);
}

/* Makes NR frames that end at FP and above, each RISCV64_WORLD_FRAME after the one before, and as
 * the last one that of the task's first function, on the kernel stack STACK. The callers are from
 * the FIRST on. */
#define RISCV64_WORLD_FRAME 0x20
void riscv64_world_chain(const struct riscv64_world *w, unsigned stack, uint64_t fp, unsigned first,
			 unsigned nr);

/* The stack pointer with which a function is called on the kernel stack NR. */
static inline uint64_t riscv64_world_sp(unsigned nr)
{
	return riscv64_world_stack_end(nr) - 0x100;
}

struct riscv64_world *riscv64_world_new(void);
void riscv64_world_free(struct riscv64_world *w);

/* Fills the block: the stubs, the task cat current on CPU 0, its pid the last one, tracing on, no
 * filter; and makes the changes of the case. */
void riscv64_world_set_up(struct riscv64_world *w, const struct riscv64_case *c);

/* The return stack that the kernel stack NR gets in an empty world, and its key. */
uint64_t riscv64_world_key(unsigned nr);
struct hv_stack *riscv64_world_home(const struct riscv64_world *w, unsigned nr);
/* Likewise, with NR_FRAMES open calls. */
struct hv_stack *riscv64_world_open(const struct riscv64_world *w, unsigned nr, unsigned nr_frames);
/* Makes the traced function call entry NR of the actions, whose slot DOES and goes on to the
 * function tracer's stub if RECORDS. */
void riscv64_world_call_action(struct riscv64_world *w, unsigned nr, uint32_t does, bool records);
/* Makes the traced function jump to the other one instead of returning. */
void riscv64_world_make_tail_call(const struct riscv64_world *w);

/* Makes TASK the current one. */
void riscv64_world_set_current(struct riscv64_world *w, const struct riscv64_task *task);
/* Switches interrupts on or off, as sstatus says. */
enum riscv64_irqs { RISCV64_IRQS_OFF, RISCV64_IRQS_ON };
void riscv64_world_set_irqs(struct riscv64_world *w, enum riscv64_irqs irqs);

void riscv64_world_get(struct riscv64_world *w, struct riscv64_regs *ret);
void riscv64_world_set(struct riscv64_world *w, const struct riscv64_regs *regs);

/* Sets registers as the caller at CALLER_OFF has them when it calls the function at FUNCTION_OFF
 * with the stack pointer SP. Every other register but tp has a value of its own. */
void riscv64_world_enter(struct riscv64_world *w, uint64_t function_off, uint64_t caller_off,
			 uint64_t sp);
/* Executes NR instructions. False: the CPU cannot. */
bool riscv64_world_step(struct riscv64_world *w, uint64_t nr);
/* Executes until the address OFF of the block is reached. False: the CPU cannot, or it takes too
 * long. */
bool riscv64_world_run(struct riscv64_world *w, uint64_t off);

/* A moment, to which a test can return. */
struct riscv64_moment {
	struct riscv64_regs regs;
	uint8_t memory[RISCV64_WORLD_LEN];
};
void riscv64_world_save(struct riscv64_world *w, struct riscv64_moment *ret);
void riscv64_world_come_back(struct riscv64_world *w, const struct riscv64_moment *moment);
