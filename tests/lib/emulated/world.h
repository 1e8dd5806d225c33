/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world of a stub of another architecture: all memory that it touches, in one block, and an
 * emulated CPU (libunicorn) that can stop at any instruction. Works on every host. The cases are
 * every path through the stubs. What uses it is built once for each architecture, whose folder
 * (tests/lib/emulated/<arch>) has layout.h. x86-64 has tests/lib/stub_world.h. Leaves to others:
 * running a case, the results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "layout.h"

#define EMU_NR_CPUS  2
#define EMU_NR_SLOTS 64
#define EMU_NR_PIDS  1024

/* Offsets in the block. Each part begins on a page. The guest may not write what is before PIDS. */
#define EMU_PARAMS_OFF	0x0000
#define EMU_CODE_OFF	(EMU_PARAMS_OFF + HV_STUBS_CODE_OFF)
#define EMU_TEXT_OFF	0x8000
#define EMU_VCPUS_OFF	0x9000
#define EMU_PIDS_OFF	0xa000
#define EMU_CONTROL_OFF 0xb000
#define EMU_TASKS_OFF	0xc000
#define EMU_STACKS_OFF	0x10000 /* return stacks */
#define EMU_COUNTS_OFF	0x1a000 /* of a profile */
#define EMU_STATES_OFF	0x1b000
#define EMU_LEN		0x20000

#define EMU_NR_STACKS	 7
#define EMU_HOMES_SHIFT	 2 /* log2 of the first places, HV_STACK_PROBES - 1 less */
#define EMU_NR_COUNTS	 39
#define EMU_COUNTS_SHIFT 3 /* likewise, HV_COUNT_PROBES - 1 less */

/* Functions of the text. Each has a site, and returns its second argument. */
#define EMU_TRACED_OFF	     (EMU_TEXT_OFF + 0x00)
#define EMU_TRACED_OTHER_OFF (EMU_TEXT_OFF + EMU_TRACED_OTHER)
/* Where the functions return to. Nothing is executed there. */
#define EMU_CALLER_OFF	     (EMU_TEXT_OFF + 0x80)
#define EMU_CALLER_OTHER_OFF (EMU_TEXT_OFF + 0x84)

/* Kernel stacks are blocks of this length. They are in memory of their own, behind the block. */
#define EMU_STACK_BYTES 0x4000
#define EMU_NR_KSTACKS	3 /* of cat, of dd, of interrupts */

#define EMU_NR_REGS 32
/* Registers of the CPU. flags are the processor's state, 0 where it is no register. */
struct emu_regs {
	uint64_t x[EMU_NR_REGS];
	uint64_t pc, flags;
};

enum emu_irqs { EMU_IRQS_OFF, EMU_IRQS_ON };

struct emu_world {
	uint8_t *host; /* the block and the stacks, owned */
	void *cpu;     /* uc_engine, owned */
	/* Counted while the CPU executes: */
	uint64_t until;	      /* the address where it stops */
	uint64_t nr_left;     /* instructions before it stops all the same */
	uint64_t nr_done;     /* instructions, ever */
	uint64_t nr_in_stubs; /* likewise */
	bool lacks;	      /* it has stopped at an instruction that it cannot execute */
	uint64_t time;	      /* what its clock says next; 0: its clock is not ours */
	uint64_t fp;	      /* of who calls the function; 0: any */
	enum emu_irqs irqs;   /* whether they are on where the function is called */
	struct hv_stub_values values;
};

struct emu_case {
	const char *name;
	unsigned nr_task_records; /* that one call writes */
	unsigned nr_function_records;
	void (*prepare)(struct emu_world *w);
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
extern const struct emu_case emu_cases[];
extern const unsigned emu_nr_cases;
/* Every path through the stubs of a graph and a profile. */
extern const struct emu_case emu_graph_cases[];
extern const unsigned emu_nr_graph_cases;
/* Every path through the stub that records stacks. */
extern const struct emu_case emu_stack_cases[];
extern const unsigned emu_nr_stack_cases;

static inline uint64_t emu_gva(uint64_t off)
{
	return EMU_GVA + off;
}

static inline struct hv_params *emu_params(const struct emu_world *w)
{
	return (struct hv_params *)(w->host + EMU_PARAMS_OFF);
}

static inline struct hv_control *emu_control(const struct emu_world *w)
{
	return (struct hv_control *)(w->host + EMU_CONTROL_OFF);
}

static inline struct emu_tasks *emu_tasks(const struct emu_world *w)
{
	return (struct emu_tasks *)(w->host + EMU_TASKS_OFF);
}

static inline uint64_t emu_state_off(unsigned cpu)
{
	return EMU_STATES_OFF +
	       cpu * (sizeof(struct hv_state) + EMU_NR_SLOTS * sizeof(struct hv_record));
}

static inline struct hv_state *emu_state(const struct emu_world *w, unsigned cpu)
{
	return (struct hv_state *)(w->host + emu_state_off(cpu));
}

static inline struct hv_record *emu_ring(const struct emu_world *w, unsigned cpu)
{
	return (struct hv_record *)(emu_state(w, cpu) + 1);
}

static inline struct hv_stack *emu_stack(const struct emu_world *w, unsigned index)
{
	return (struct hv_stack *)(w->host + EMU_STACKS_OFF) + index;
}

static inline struct hv_count *emu_counts(const struct emu_world *w, unsigned cpu)
{
	return (struct hv_count *)(w->host + EMU_COUNTS_OFF) + cpu * EMU_NR_COUNTS;
}

/* The address that follows the site of the function at OFF, as records and counts have it. */
static inline uint32_t emu_site_end(uint64_t off)
{
	return (uint32_t)(emu_gva(off) + 8 - EMU_TEXT_BASE);
}

/* Returns where the kernel stack NR ends. */
static inline uint64_t emu_stack_end(unsigned nr)
{
	return emu_gva(EMU_LEN + (nr + 1) * EMU_STACK_BYTES);
}

/* The first frame pointer of a chain on the kernel stack NR, above the stack pointer of a call. */
static inline uint64_t emu_chain_start(unsigned nr)
{
	return emu_stack_end(nr) - EMU_CHAIN_BYTES;
}

/* The word at the address GVA, which is in the block or in a stack. */
static inline uint64_t *emu_word(const struct emu_world *w, uint64_t gva)
{
	return (uint64_t *)(w->host + (gva - EMU_GVA));
}

/* The record of the function whose frame pointer is FP. */
static inline struct emu_record *emu_record(const struct emu_world *w, uint64_t fp)
{
	return (struct emu_record *)emu_word(w, fp + EMU_RECORD_OFF);
}

/* The caller of the function whose record is the Nth. */
static inline uint64_t emu_caller(unsigned n)
{
	return emu_gva(EMU_TEXT_OFF + 0x100 + 8 * n);
}

/* Puts the records of NR functions at the frame pointer FP and above, EMU_FRAME apart, on the
 * kernel stack STACK, and then what ends a stack there. The callers are from the FIRST on. Returns
 * the frame pointer of what ends it. */
#define EMU_FRAME 0x20
uint64_t emu_chain(const struct emu_world *w, unsigned stack, uint64_t fp, unsigned first,
		   unsigned nr);
/* Makes the call one on an interrupt stack, whose records lead to the task's. */
void emu_enter_interrupt(struct emu_world *w);

/* The stack pointer with which a function is called on the kernel stack NR. */
static inline uint64_t emu_sp(unsigned nr)
{
	return emu_stack_end(nr) - 0x100;
}

struct emu_world *emu_new(void);
void emu_free(struct emu_world *w);

/* Fills the block: the stubs, the task cat current on CPU 0, its pid the last one, tracing on, no
 * filter; and makes the changes of the case. */
void emu_set_up(struct emu_world *w, const struct emu_case *c);

/* The return stack that the kernel stack NR gets in an empty world, and its key. */
uint64_t emu_key(unsigned nr);
struct hv_stack *emu_home(const struct emu_world *w, unsigned nr);
/* Likewise, with NR_FRAMES open calls. */
struct hv_stack *emu_open(const struct emu_world *w, unsigned nr, unsigned nr_frames);
/* Makes the traced function call entry NR of the actions, whose slot DOES and goes on to the
 * function tracer's stub if RECORDS. */
void emu_call_action(struct emu_world *w, unsigned nr, uint32_t does, bool records);
/* Makes the traced function jump to the other one instead of returning. */
void emu_make_tail_call(const struct emu_world *w);

/* Makes TASK the current one. */
void emu_set_current(struct emu_world *w, const struct emu_task *task);

void emu_get(struct emu_world *w, struct emu_regs *ret);
void emu_set(struct emu_world *w, const struct emu_regs *regs);

/* Sets registers as the caller at CALLER_OFF has them when it calls the function at FUNCTION_OFF
 * with the stack pointer SP. Every other register has a value of its own. */
void emu_enter(struct emu_world *w, uint64_t function_off, uint64_t caller_off, uint64_t sp);
/* Executes NR instructions in one piece: exclusive loads and stores do not lose each other. False:
 * the CPU cannot. */
bool emu_step(struct emu_world *w, uint64_t nr);
/* Executes until the address OFF of the block is reached. False: the CPU cannot, or it takes too
 * long. */
bool emu_run(struct emu_world *w, uint64_t off);

/* A moment, to which a test can return. */
struct emu_moment {
	struct emu_regs regs;
	uint64_t current;
	uint8_t memory[EMU_LEN];
};
void emu_save(struct emu_world *w, struct emu_moment *ret);
void emu_come_back(struct emu_world *w, const struct emu_moment *moment);
