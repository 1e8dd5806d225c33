/* All that a stub touches, in one block of memory: params, the code, functions that were traced,
 * per-CPU data, two tasks, states and rings. The block can be put at any address: in a machine of
 * tests/kvm, or where it is in this process. And the cases: every way through the function stub.
 * x86-64. Leaves to others: running it, what comes out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define WORLD_NR_CPUS 2

/* Offsets in the block, pages by what the guest may do with them. */
#define WORLD_STUBS_OFF	  0x0000				/* params, read-only */
#define WORLD_CODE_OFF	  (WORLD_STUBS_OFF + HV_STUBS_CODE_OFF) /* executable */
#define WORLD_TEXT_OFF	  0x4000				/* executable */
#define WORLD_PIDS_OFF	  0x5000				/* read-only */
#define WORLD_CPU_OFF	  0x6000				/* read-write from here on */
#define WORLD_CONTROL_OFF (WORLD_CPU_OFF + 0x400)
#define WORLD_STATES_OFF  0x7000
#define WORLD_STACKS_OFF  0x8000  /* return stacks */
#define WORLD_COUNTS_OFF  0x13000 /* of a profile */
#define WORLD_RINGS_OFF	  0x14000

#define WORLD_NR_STACKS 8
#define WORLD_NR_COUNTS 40
#define WORLD_NR_HOMES	(WORLD_NR_STACKS - HV_STACK_PROBES + 1)

/* Functions of the text: each a site, then a return. */
#define WORLD_TRACED_OFF       (WORLD_TEXT_OFF + 0x00)
#define WORLD_TRACED_OTHER_OFF (WORLD_TEXT_OFF + 0x40)
#define WORLD_THUNK_OFF	       (WORLD_TEXT_OFF + 0x80) /* what a kernel with thunks returns by */
#define WORLD_TEXT_END	       (WORLD_TEXT_OFF + 0xc0) /* free for others */

struct world_task {
	uint64_t flags;
	uint32_t lazy_count;
	uint32_t pid;
	uint32_t tgid;
	uint16_t migration_disabled;
	char comm[16];
	uint64_t stack; /* its lowest byte */
};

struct world_cpu { /* at the gs base */
	uint64_t unused[8];
	uint32_t cpu_number;
	uint32_t preempt_count;
	struct hv_gva current;
	struct hv_gva irq_stack; /* its last word; 0: none */
	struct world_task cat;	 /* current, and in the pid filter */
	struct world_task dd;	 /* its pid is beyond the pid filter's bitmap */
};

_Static_assert(sizeof(struct world_cpu) <= WORLD_CONTROL_OFF - WORLD_CPU_OFF, "cpu");
_Static_assert(sizeof(struct hv_control) <= WORLD_STATES_OFF - WORLD_CONTROL_OFF, "control block");

struct world {
	uint8_t *host;	   /* the block, borrowed, WORLD_LEN(nr_slots) bytes */
	struct hv_gva gva; /* where the code that runs sees it */
	uint64_t nr_slots; /* of a ring, a power of two */
	/* The kernel stack that calls are made on: an aligned block, which is what return stacks go
	 * by. */
	struct hv_gva stack;
	uint32_t stack_bytes;
	struct hv_gva task_stack; /* as the tasks say it; STACK_BYTES long, too */
	struct hv_gva above;	  /* a word of it, above what calls: of a case that is hooked */
};

#define WORLD_LEN(nr_slots)                                                                        \
	(WORLD_RINGS_OFF + WORLD_NR_CPUS * (uint64_t)(nr_slots) * sizeof(struct hv_record))

static inline struct hv_params *world_params(const struct world *w)
{
	return (struct hv_params *)(w->host + WORLD_STUBS_OFF);
}

static inline struct hv_control *world_control(const struct world *w)
{
	return (struct hv_control *)(w->host + WORLD_CONTROL_OFF);
}

static inline struct world_cpu *world_cpu(const struct world *w)
{
	return (struct world_cpu *)(w->host + WORLD_CPU_OFF);
}

static inline struct hv_state *world_states(const struct world *w)
{
	return (struct hv_state *)(w->host + WORLD_STATES_OFF);
}

static inline struct hv_record *world_ring(const struct world *w, unsigned cpu)
{
	return (struct hv_record *)(w->host + WORLD_RINGS_OFF) + cpu * w->nr_slots;
}

static inline struct hv_gva world_gva(const struct world *w, uint64_t off)
{
	return hv_gva(w->gva.v + off);
}

/* Which task is current. */
void world_set_current(const struct world *w, const struct world_task *task);

static inline struct hv_stack *world_stack(const struct world *w, unsigned index)
{
	return (struct hv_stack *)(w->host + WORLD_STACKS_OFF) + index;
}

static inline struct hv_gva world_handler(const struct world *w)
{
	return world_gva(w, WORLD_CODE_OFF + hv_arch_x86_64.stubs.handler_off);
}

/* The return stack that the kernel stack at ADDRESS takes in an empty world. */
static inline struct hv_stack *world_home(const struct world *w, uint64_t address)
{
	return world_stack(w, hv_stack_home(address, WORLD_NR_HOMES));
}

static inline struct hv_count *world_counts(const struct world *w, unsigned cpu)
{
	return (struct hv_count *)(w->host + WORLD_COUNTS_OFF) + cpu * WORLD_NR_COUNTS;
}

/* What the sites call. */
enum world_stub {
	WORLD_FUNCTION,
	WORLD_FUNCTION_STACK,
	WORLD_GRAPH,
	WORLD_GRAPH_ROOT,
	WORLD_GRAPH_NOTRACE,
	WORLD_NEW_TASK, /* and the graph's */
	WORLD_LEAVES,	/* likewise */
	WORLD_ARRIVES,	/* likewise */
	WORLD_PROFILE,
	WORLD_PROFILE_FUNCTION,
	WORLD_PROFILE_GRAPH,
};

/* One way through a stub, or through the two of a graph. */
struct world_case {
	const char *name;
	unsigned nr_task_records; /* of one call */
	unsigned nr_function_records;
	void (*prepare)(const struct world *w);
	/* A graph's: */
	enum world_stub stub;
	unsigned nr_entries;
	unsigned nr_exits;
	unsigned nr_mores;
	unsigned nr_stacks;  /* a record of their own, and those of words */
	unsigned nr_hits;    /* counted in the profile */
	unsigned calm : 1;   /* there is nothing in it that an interrupt could break */
	unsigned hooked : 1; /* the word above is our handler's address */
};

/* Every way through the function stub. */
extern const struct world_case world_cases[];
extern const unsigned world_nr_cases;
/* Every way to a stack. */
extern const struct world_case world_stack_cases[];
extern const unsigned world_nr_stack_cases;
/* Every way through those of a graph. */
extern const struct world_case world_graph_cases[];
extern const unsigned world_nr_graph_cases;

/* Bytes written to the ring. */
static inline unsigned world_case_bytes(const struct world_case *c)
{
	return (c->nr_task_records + c->nr_function_records + c->nr_entries + c->nr_exits +
		c->nr_mores) *
	       sizeof(struct hv_record);
}

/* Makes the traced function jump to the other one instead of returning. */
void world_make_tail_call(const struct world *w);

/* Fills the block: the stubs, cat current on cpu 0, its pid the last one, tracing on, no filter;
 * then what the case changes. */
void world_set_up(const struct world *w, const struct world_case *c);
/* Likewise, but the rings stay as they are. */
void world_prepare(const struct world *w, const struct world_case *c);
/* The site calls the last entry of the actions, which does DOES and goes on to the function's stub.
 */
void world_call_action(const struct world *w, uint32_t does);

/* Whether a call by PID on CPU is to be recorded, from the params and the mode alone. */
bool world_records(const struct world *w, uint32_t pid, uint32_t cpu);
