/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world runs the trampolines of arm64 or riscv64 on any host. It consists of one block with all
 * memory that the trampolines access, and an emulated CPU (libunicorn) that can stop at any
 * instruction. The cases cover every path through the trampolines.
 *
 * Users of this header are built once for each architecture, with layout.h from
 * tests/lib/emulated/<arch>. tests/lib/trampoline_world.h is the counterpart for x86-64.
 *
 * The tests run the cases and check the results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "layout.h"

#define EMU_NR_CPUS  2
#define EMU_NR_SLOTS 64
#define EMU_NR_PIDS  1024

/* Offsets in the block. Each part begins on a page boundary. The parts before PIDS are read-only
 * for the guest. */
#define EMU_PARAMS_OFF	0x0000
#define EMU_CODE_OFF	(EMU_PARAMS_OFF + HV_TRAMPOLINES_CODE_OFF)
#define EMU_TEXT_OFF	0x8000
#define EMU_VCPUS_OFF	0x9000
#define EMU_PIDS_OFF	0xa000
#define EMU_CONTROL_OFF 0xb000
#define EMU_TASKS_OFF	0xc000
#define EMU_STACKS_OFF	0x10000 /* return stacks */
#define EMU_COUNTS_OFF	0x1a000 /* profile counts */
#define EMU_STATES_OFF	0x1b000
#define EMU_LEN		0x20000

#define EMU_NR_STACKS	 7
#define EMU_HOMES_SHIFT	 2 /* log2 of the number of home buckets */
#define EMU_NR_COUNTS	 39
#define EMU_COUNTS_SHIFT 3 /* log2 of the number of home buckets */

/* Functions in the text. Each has a site and returns its second argument. */
#define EMU_TRACED_OFF	     (EMU_TEXT_OFF + 0x00)
#define EMU_TRACED_OTHER_OFF (EMU_TEXT_OFF + EMU_TRACED_OTHER)
/* Return addresses of the functions. The CPU executes nothing there. */
#define EMU_CALLER_OFF	     (EMU_TEXT_OFF + 0x80)
#define EMU_CALLER_OTHER_OFF (EMU_TEXT_OFF + 0x84)

/* Kernel stacks are blocks of this size in separate memory that follows the block. */
#define EMU_STACK_BYTES 0x4000
#define EMU_NR_KSTACKS	3 /* for cat, dd and interrupts */

#define EMU_NR_REGS 32
/* Registers of the CPU. `flags` is the processor state, or 0 on architectures without that
 * register. */
struct emu_regs {
	uint64_t x[EMU_NR_REGS];
	uint64_t pc, flags;
};

enum emu_irqs { EMU_IRQS_OFF, EMU_IRQS_ON };

struct emu_world {
	uint8_t *host; /* the block and the stacks, owned */
	void *cpu;     /* uc_engine, owned */
	/* State of the current execution: */
	uint64_t until;		    /* stop at this address */
	uint64_t nr_left;	    /* instructions left before a forced stop */
	uint64_t nr_done;	    /* instructions executed in total */
	uint64_t nr_in_trampolines; /* instructions executed in trampolines in total */
	bool lacks;		    /* stopped at an instruction that the CPU cannot execute */
	uint64_t time;		    /* next value of the clock; 0: libunicorn's clock */
	uint64_t fp;		    /* the caller's frame pointer; 0: any */
	enum emu_irqs irqs;	    /* at the call */
	struct hv_trampoline_values values;
};

struct emu_case {
	const char *name;
	unsigned nr_task_records; /* per call */
	unsigned nr_function_records;
	void (*prepare)(struct emu_world *w);
	/* The entry that the sites call (hv_call_off()): */
	enum hv_call_role role;
	enum hv_call_trace trace; /* HV_TRACE_NOTHING alone: the function trampoline */
	bool profiled;
	/* For the function graph: */
	unsigned nr_entries;
	unsigned nr_exits;
	unsigned nr_mores;
	unsigned nr_hits;   /* calls counted by the profile */
	bool has_stack;	    /* the sites call the entry that records stacks */
	unsigned nr_stacks; /* recorded by that entry or by an action */
};

/* Every path through the function trampoline. */
extern const struct emu_case emu_cases[];
extern const unsigned emu_nr_cases;
/* Every path through the trampolines of a graph and a profile. */
extern const struct emu_case emu_graph_cases[];
extern const unsigned emu_nr_graph_cases;
/* Every path through the trampoline that records stacks. */
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

/* Returns the offset, as stored in records and counts, of the address after the site of the
 * function at OFF. */
static inline uint32_t emu_site_end(uint64_t off)
{
	return (uint32_t)(emu_gva(off) + 8 - EMU_TEXT_BASE);
}

static inline uint64_t emu_stack_end(unsigned nr)
{
	return emu_gva(EMU_LEN + (nr + 1) * EMU_STACK_BYTES);
}

/* Returns the first frame pointer of a chain on kernel stack NR. It is above the stack pointer of a
 * call. */
static inline uint64_t emu_chain_start(unsigned nr)
{
	return emu_stack_end(nr) - EMU_CHAIN_BYTES;
}

/* Returns the word at GVA, an address in the block or in a stack. */
static inline uint64_t *emu_word(const struct emu_world *w, uint64_t gva)
{
	return (uint64_t *)(w->host + (gva - EMU_GVA));
}

/* Returns the frame record of the function whose frame pointer is FP. */
static inline struct emu_record *emu_record(const struct emu_world *w, uint64_t fp)
{
	return (struct emu_record *)emu_word(w, fp + EMU_RECORD_OFF);
}

/* Returns the caller address in frame record N. */
static inline uint64_t emu_caller(unsigned n)
{
	return emu_gva(EMU_TEXT_OFF + 0x100 + 8 * n);
}

/* Writes NR frame records, EMU_FRAME bytes apart, from frame pointer FP upwards on kernel stack
 * STACK, and then the end of a chain. The first record contains caller FIRST. Returns the frame
 * pointer of the end. */
#define EMU_FRAME 0x20
uint64_t emu_chain(const struct emu_world *w, unsigned stack, uint64_t fp, unsigned first,
		   unsigned nr);
/* Moves the call to an interrupt stack whose frame records lead to the task's stack. */
void emu_enter_interrupt(struct emu_world *w);

/* Returns the stack pointer for a call on kernel stack NR. */
static inline uint64_t emu_sp(unsigned nr)
{
	return emu_stack_end(nr) - 0x100;
}

struct emu_world *emu_new(void);
void emu_free(struct emu_world *w);

/* Fills the block: the trampolines, and the task cat as current on CPU 0 with its pid as the last
 * recorded one, tracing on, no filter. Then applies the changes of the case. */
void emu_set_up(struct emu_world *w, const struct emu_case *c);

/* Return the key of kernel stack NR, and the return stack that it gets in an empty world. */
uint64_t emu_key(unsigned nr);
struct hv_stack *emu_home(const struct emu_world *w, unsigned nr);
/* Opens NR_FRAMES calls in the return stack of emu_home(). */
struct hv_stack *emu_open(const struct emu_world *w, unsigned nr, unsigned nr_frames);
/* Makes the traced function call action entry NR with the flags DOES. If RECORDS, the entry then
 * continues to the function tracer's trampoline. */
void emu_call_action(struct emu_world *w, unsigned nr, uint32_t does, bool records);
/* Makes the traced function jump to the other one instead of returning. */
void emu_make_tail_call(const struct emu_world *w);

void emu_set_current(struct emu_world *w, const struct emu_task *task);

void emu_get(struct emu_world *w, struct emu_regs *ret);
void emu_set(struct emu_world *w, const struct emu_regs *regs);

/* Sets the registers for a call of the function at FUNCTION_OFF from CALLER_OFF with stack pointer
 * SP. Every other register gets a distinct value. */
void emu_enter(struct emu_world *w, uint64_t function_off, uint64_t caller_off, uint64_t sp);
/* Executes NR instructions without a stop between them, so that pairs of exclusive loads and stores
 * succeed. Returns false if the CPU cannot execute one. */
bool emu_step(struct emu_world *w, uint64_t nr);
/* Executes until offset OFF of the block is reached. Returns false if the CPU cannot execute an
 * instruction, or after too many instructions. */
bool emu_run(struct emu_world *w, uint64_t off);

/* A snapshot that a test can return to. */
struct emu_moment {
	struct emu_regs regs;
	uint64_t current;
	uint8_t memory[EMU_LEN];
};
void emu_save(struct emu_world *w, struct emu_moment *ret);
void emu_come_back(struct emu_world *w, const struct emu_moment *moment);
