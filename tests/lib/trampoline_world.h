/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One block with all memory that a trampoline accesses: params, the code, traced functions, per-CPU
 * data, two tasks, states and rings. The block can be at any address: in a machine of tests/kvm, or
 * in this process. The cases cover every path through the trampolines. x86-64.
 *
 * The tests run the cases and check the results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define WORLD_NR_CPUS 2

/* Offsets in the block, with the guest's permissions. */
#define WORLD_TRAMPOLINES_OFF 0x0000			      /* params, read-only */
#define WORLD_VCPUS_OFF	      (WORLD_TRAMPOLINES_OFF + 0xc00) /* after the action groups */
#define WORLD_FILES_OFF	      (WORLD_TRAMPOLINES_OFF + 0xd00) /* event files */
#define WORLD_CODE_OFF	      (WORLD_TRAMPOLINES_OFF + HV_TRAMPOLINES_CODE_OFF) /* executable */
#define WORLD_TEXT_OFF	      0x8000						/* executable */
#define WORLD_PIDS_OFF	      0x9000						/* read-only */
#define WORLD_PROGRAM_OFF     (WORLD_PIDS_OFF + 0x800) /* the program of WORLD_FETCH_GROUP */
#define WORLD_FILTERS_OFF     (WORLD_PIDS_OFF + 0x400) /* event filters */
#define WORLD_CPU_OFF	      0xa000		       /* read-write from here on */
#define WORLD_CONTROL_OFF     (WORLD_CPU_OFF + 0x400)
#define WORLD_STACKS_OFF      0xc000  /* return stacks */
#define WORLD_COUNTS_OFF      0x16000 /* profile counts */
#define WORLD_CALLBACKS_OFF   0x16e00 /* event callbacks */
#define WORLD_DRAFTS_OFF      0x17000 /* event drafts */
#define WORLD_VCPU_OFF	      0x1f000 /* per vCPU: a state, then its ring */

#define WORLD_FETCH_GROUP 1 /* the action group with a program */

#define WORLD_NR_STACKS	   7
#define WORLD_HOMES_SHIFT  2 /* log2 of the number of home buckets */
#define WORLD_NR_COUNTS	   39
#define WORLD_COUNTS_SHIFT 3 /* log2 of the number of home buckets */

#define WORLD_NR_CHAINS	      2
#define WORLD_NR_FILES	      6
#define WORLD_NR_FILTERS      4
#define WORLD_CALLBACKS_BYTES 0x80

/* Functions in the text. Each one is a site followed by a return. */
#define WORLD_TRACED_OFF       (WORLD_TEXT_OFF + 0x00)
#define WORLD_TRACED_OTHER_OFF (WORLD_TEXT_OFF + 0x40)
#define WORLD_THUNK_OFF	       (WORLD_TEXT_OFF + 0x80)	/* return thunk, if the kernel has one */
#define WORLD_KERNEL_OFF       (WORLD_TEXT_OFF + 0xc0)	/* event trampolines continue here */
#define WORLD_READERS_OFF      (WORLD_TEXT_OFF + 0x100) /* memory readers, 16 bytes each */
#define WORLD_CHAIN_OFF	       (WORLD_TEXT_OFF + 0x140) /* WORLD_NR_CHAINS chains */
#define WORLD_CHAINED_OFF      (WORLD_TEXT_OFF + 0x160) /* the guest's trampoline of the chain */
#define WORLD_TEXT_END	       (WORLD_TEXT_OFF + 0x180) /* free from here on */

/* The guest's struct trace_event_buffer. */
struct world_buffer {
	uint64_t unused;
	uint64_t event;
	uint64_t file;
	uint64_t entry;
	uint64_t more;
};

struct world_task {
	uint64_t flags;
	uint32_t lazy_count;
	uint32_t softirqs;
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	char comm[16];
	uint64_t stack; /* lowest address */
	uint32_t static_prio;
	uint32_t policy;
	uint32_t rt_priority;
	uint32_t uid;	 /* in its credentials */
	uint64_t creds;	 /* address of the task itself */
	uint32_t pf;	 /* PF_* */
	uint32_t status; /* TS_* */
};

struct world_cpu { /* at the gs base */
	uint64_t unused[7];
	uint64_t steal_ns;
	uint32_t preempt_count;
	uint32_t preempt_high; /* upper half of a 64-bit count */
	uint32_t cpu_number;
	struct hv_gva current;
	struct hv_gva irq_stack; /* address of its last word; 0: none */
	struct world_task cat;	 /* current, and matches the pid filter */
	struct world_task dd;	 /* its pid is beyond the bitmap of the pid filter */
};

_Static_assert(sizeof(struct world_cpu) <= WORLD_CONTROL_OFF - WORLD_CPU_OFF, "cpu");
_Static_assert(sizeof(struct hv_control) <= WORLD_STACKS_OFF - WORLD_CONTROL_OFF, "control block");

struct world {
	uint8_t *host;			     /* the block, borrowed, WORLD_LEN(nr_slots) bytes */
	struct hv_gva gva;		     /* address of the block for the running code */
	uint64_t nr_slots;		     /* per ring, a power of two */
	struct hv_trampoline_values *values; /* borrowed: the code is linked with them */
	/* The kernel stack of the calls: an aligned block, because return stacks are found by its
	 * address. */
	struct hv_gva stack;
	uint32_t stack_bytes;
	struct hv_gva task_stack; /* stack address in the tasks; STACK_BYTES long, too */
	struct hv_gva above;	  /* hooked case: a stack word above the caller */
};

#define WORLD_VCPU_LEN(nr_slots)                                                                   \
	(sizeof(struct hv_state) + (uint64_t)(nr_slots) * sizeof(struct hv_record))
#define WORLD_LEN(nr_slots) (WORLD_VCPU_OFF + WORLD_NR_CPUS * WORLD_VCPU_LEN(nr_slots))

static inline struct hv_params *world_params(const struct world *w)
{
	return (struct hv_params *)(w->host + WORLD_TRAMPOLINES_OFF);
}

static inline struct hv_control *world_control(const struct world *w)
{
	return (struct hv_control *)(w->host + WORLD_CONTROL_OFF);
}

static inline struct world_cpu *world_cpu(const struct world *w)
{
	return (struct world_cpu *)(w->host + WORLD_CPU_OFF);
}

static inline uint64_t world_state_off(const struct world *w, unsigned cpu)
{
	return WORLD_VCPU_OFF + cpu * WORLD_VCPU_LEN(w->nr_slots);
}

static inline struct hv_state *world_state(const struct world *w, unsigned cpu)
{
	return (struct hv_state *)(w->host + world_state_off(w, cpu));
}

static inline struct hv_record *world_ring(const struct world *w, unsigned cpu)
{
	return (struct hv_record *)(world_state(w, cpu) + 1);
}

/* Returns the number of reserved records. */
static inline uint64_t world_head(const struct world *w, unsigned cpu)
{
	return world_state(w, cpu)->head / sizeof(struct hv_record) - w->nr_slots;
}

static inline struct hv_gva world_gva(const struct world *w, uint64_t off)
{
	return hv_gva(w->gva.v + off);
}

void world_set_current(const struct world *w, const struct world_task *task);

static inline struct hv_stack *world_stack(const struct world *w, unsigned index)
{
	return (struct hv_stack *)(w->host + WORLD_STACKS_OFF) + index;
}

/* Returns the address that the code of a hooked case is linked for. The handler's address must be
 * in the last 2 GiB, as kernel text is; a process cannot have code there. */
static inline struct hv_gva world_text(const struct world *w)
{
	return hv_gva(world_gva(w, WORLD_CODE_OFF).v | UINT64_C(0xffffffff80000000));
}

/* Returns the handler's address in a hooked case. */
static inline struct hv_gva world_handler(const struct world *w)
{
	return hv_gva_add(world_text(w), hv_arch_x86_64.trampolines.handler_off);
}

/* Returns the return stack that the kernel stack at ADDRESS gets in an empty world. */
static inline struct hv_stack *world_home(const struct world *w, uint64_t address)
{
	return world_stack(w, hv_stack_home(address, WORLD_HOMES_SHIFT));
}

/* Returns a mask of the vCPU's drafts that are in use. */
static inline unsigned world_drafts(const struct world *w, unsigned cpu)
{
	const struct hv_draft *drafts = (const struct hv_draft *)(w->host + WORLD_DRAFTS_OFF);
	unsigned bits = 0;

	for (unsigned i = 0; i < HV_NR_DRAFTS; i++)
		bits |= (drafts[cpu * HV_NR_DRAFTS + i].event >> HV_DRAFT_TAKEN_BIT) << i;
	return bits;
}

static inline void world_take_drafts(const struct world *w)
{
	struct hv_draft *drafts = (struct hv_draft *)(w->host + WORLD_DRAFTS_OFF);

	for (unsigned i = 0; i < WORLD_NR_CPUS * HV_NR_DRAFTS; i++)
		drafts[i].event = UINT32_C(1) << HV_DRAFT_TAKEN_BIT;
}

static inline struct hv_count *world_counts(const struct world *w, unsigned cpu)
{
	return (struct hv_count *)(w->host + WORLD_COUNTS_OFF) + cpu * WORLD_NR_COUNTS;
}

/* The trampoline that the sites call. */
enum world_trampoline {
	WORLD_FUNCTION,
	WORLD_FUNCTION_STACK,
	WORLD_GRAPH,
	WORLD_GRAPH_ROOT,
	WORLD_GRAPH_NOTRACE,
	WORLD_FUNCTION_AND_GRAPH,
	/* HV_ROLE_*, with a graph: */
	WORLD_NEW_TASK,
	WORLD_LEAVES,
	WORLD_ARRIVES,
	WORLD_PROFILE,
	WORLD_PROFILE_FUNCTION,
	WORLD_PROFILE_GRAPH,
	WORLD_SECTION_FUNCTION,
	WORLD_SECTION_GRAPH,
	/* Functions with probes, which use WORLD_FETCH_GROUP: */
	WORLD_REGS, /* probes of calls */
	WORLD_REGS_FETCH,
	WORLD_PROBED, /* probes of returns */
	WORLD_PROBED_FETCH,
	WORLD_PROBED_FUNCTION, /* and the function tracer */
	WORLD_PROBED_GRAPH,    /* and a graph */
	WORLD_PROBED_ARGS,     /* probes of returns with the call's arguments */
	WORLD_PROBED_ARGS_FETCH,
	WORLD_PROBED_ARGS_GRAPH,
	WORLD_ENTRY_REGS, /* probes of calls with all registers */
	WORLD_ENTRY_REGS_FETCH,
	WORLD_ENTRY_REGS_FUNCTION, /* and the function tracer */
	/* Probe sites, which use the same action group: the function contains the code of a detour,
	 * without the moved instructions. tests/kvm/test_probe_sites.c tests the rest of a
	 * detour. */
	WORLD_PROBE_SITE,
	WORLD_PROBE_SITE_FETCH,
	WORLD_EVENT, /* the function acts as the callback of an event */
};

/* One path through a trampoline, or through the two trampolines of a graph. */
struct world_case {
	const char *name;
	unsigned nr_task_records; /* per call */
	unsigned nr_function_records;
	void (*prepare)(const struct world *w);
	/* For the function graph: */
	enum world_trampoline trampoline;
	unsigned nr_entries;
	unsigned nr_exits;
	unsigned nr_mores;
	unsigned nr_stacks;   /* stacks, each of several records */
	unsigned nr_hits;     /* calls counted by the profile */
	unsigned calm : 1;    /* tests/kvm does not interrupt it */
	unsigned chained : 1; /* the sites call a chain */
	unsigned hooked : 1;  /* the word at world.above is the handler's address */
	/* For functions with probes: events of calls and of returns, data records in each, and
	 * calls that got no frame. */
	unsigned nr_calls;
	unsigned nr_returns;
	unsigned nr_data;
	unsigned nr_more_data; /* data records of an event for memory that it reads */
	unsigned nr_missed;
};

/* Every path through the function trampoline. */
extern const struct world_case world_cases[];
extern const unsigned world_nr_cases;
/* Every path through the trampoline that records stacks. */
extern const struct world_case world_stack_cases[];
extern const unsigned world_nr_stack_cases;
/* Every path through the trampolines of a graph. */
extern const struct world_case world_graph_cases[];
extern const unsigned world_nr_graph_cases;
extern const struct world_case world_probe_site_cases[];
extern const unsigned world_nr_probe_site_cases;
extern const struct world_case world_probe_cases[];
extern const unsigned world_nr_probe_cases;
extern const struct world_case world_event_cases[];
extern const unsigned world_nr_event_cases;

/* Writes a function at OFF that commits an event of the first file with NR_DATA data records. */
void world_make_event(const struct world *w, uint64_t off, unsigned nr_data);

/* Returns how many bytes a call writes to the ring. */
static inline unsigned world_case_bytes(const struct world_case *c)
{
	return (c->nr_task_records + c->nr_function_records + c->nr_entries + c->nr_exits +
		c->nr_mores + (c->nr_calls + c->nr_returns) * (c->nr_data + c->nr_more_data + 1)) *
	       sizeof(struct hv_record);
}

/* The kernel has a 64-bit preempt count, counts soft interrupts per task, or both.
 * world_never_preempt(): tasks do not migrate inside a trampoline. */
void world_count_widely(const struct world *w);
void world_never_preempt(const struct world *w);
void world_count_in_tasks(const struct world *w);
void world_count_in_tasks_widely(const struct world *w);

/* Makes the traced function advance steal time by WORLD_STOLEN_NS, as the host does after it has
 * not run the vCPU. */
#define WORLD_STOLEN_NS 4000000
void world_make_stolen(const struct world *w);
static inline struct hv_action_group *world_action_group(const struct world *w, unsigned index)
{
	return (struct hv_action_group *)(w->host + WORLD_TRAMPOLINES_OFF + HV_ACTION_GROUPS_OFF) +
	       index;
}

/* Makes the traced function jump to the other one instead of returning. */
void world_make_tail_call(const struct world *w);

/* Fills the block: the trampolines, and the task cat as current on CPU 0 with its pid as the last
 * recorded one, tracing on, no filter. Then applies the changes of the case. */
void world_set_up(const struct world *w, const struct world_case *c);
/* Like world_set_up(), but keeps the rings. */
void world_prepare(const struct world *w, const struct world_case *c);
/* Makes the site call an action entry with the flags DOES: the last one, or with HV_DOES_FETCH the
 * one with a program. The entry then continues to the function trampoline. */
void world_call_action(const struct world *w, uint32_t does);

/* Sets up WORLD_FETCH_GROUP for TRAMPOLINE, which is one for functions with probes. */
void world_probe(const struct world *w, enum world_trampoline trampoline);

/* Derives the mode of the graph and of the profile (plain or general way) from the params. Call it
 * after each change of the params. */
void world_choose_ways(const struct world *w);

/* Returns whether a call by PID on CPU must be recorded according to the params and the mode. */
bool world_records(const struct world *w, uint32_t pid, uint32_t cpu);
