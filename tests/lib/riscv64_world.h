/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world of riscv64's function stub: all memory that it touches, in one block, and an emulated
 * CPU (libunicorn) that can stop at any instruction. Works on every host. The cases are every path
 * through the stub. arm64 has tests/lib/arm64_world.h. Leaves to others: running a case, the
 * results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define RISCV64_WORLD_NR_CPUS  2
#define RISCV64_WORLD_NR_SLOTS 64
#define RISCV64_WORLD_NR_PIDS  1024

/* Offsets in the block. Each part begins on a page. The guest may not write what is before TASKS.
 */
#define RISCV64_WORLD_PARAMS_OFF  0x0000
#define RISCV64_WORLD_CODE_OFF	  (RISCV64_WORLD_PARAMS_OFF + HV_STUBS_CODE_OFF)
#define RISCV64_WORLD_TEXT_OFF	  0x8000
#define RISCV64_WORLD_VCPUS_OFF	  0x9000
#define RISCV64_WORLD_PIDS_OFF	  0xa000
#define RISCV64_WORLD_CONTROL_OFF 0xb000
#define RISCV64_WORLD_TASKS_OFF	  0xc000
#define RISCV64_WORLD_STATES_OFF  0x10000
#define RISCV64_WORLD_LEN	  0x14000

/* Functions of the text. Each is a site, then `mv a0, a1; ret`. */
#define RISCV64_WORLD_TRACED_OFF       (RISCV64_WORLD_TEXT_OFF + 0x00)
#define RISCV64_WORLD_TRACED_OTHER_OFF (RISCV64_WORLD_TEXT_OFF + 0x40)
/* Where the functions return to. Nothing is executed there. */
#define RISCV64_WORLD_CALLER_OFF       (RISCV64_WORLD_TEXT_OFF + 0x80)
#define RISCV64_WORLD_CALLER_OTHER_OFF (RISCV64_WORLD_TEXT_OFF + 0x84)

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

struct riscv64_world {
	uint8_t *host; /* the block, owned */
	void *cpu;     /* uc_engine, owned */
	/* Counted while the CPU executes: */
	uint64_t until;	      /* the address where it stops */
	uint64_t nr_left;     /* instructions before it stops all the same */
	uint64_t nr_done;     /* instructions, ever */
	uint64_t nr_in_stubs; /* likewise */
	uint64_t time;	      /* what rdtime reads next */
	bool reads_time;      /* it has stopped at an rdtime */
	struct hv_stub_values values;
};

struct riscv64_case {
	const char *name;
	unsigned nr_task_records; /* that one call writes */
	unsigned nr_function_records;
	void (*prepare)(struct riscv64_world *w);
};

/* Every path through the function stub. */
extern const struct riscv64_case riscv64_cases[];
extern const unsigned riscv64_nr_cases;

static inline uint64_t riscv64_world_gva(uint64_t off)
{
	return RISCV64_WORLD_GVA + off;
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

struct riscv64_world *riscv64_world_new(void);
void riscv64_world_free(struct riscv64_world *w);

/* Fills the block: the stub, the task cat current on CPU 0, its pid the last one, tracing on, no
 * filter; and makes the changes of the case. */
void riscv64_world_set_up(struct riscv64_world *w, const struct riscv64_case *c);

/* Makes TASK the current one. */
void riscv64_world_set_current(struct riscv64_world *w, const struct riscv64_task *task);
/* Switches interrupts on or off, as sstatus says. */
enum riscv64_irqs { RISCV64_IRQS_OFF, RISCV64_IRQS_ON };
void riscv64_world_set_irqs(struct riscv64_world *w, enum riscv64_irqs irqs);

void riscv64_world_get(struct riscv64_world *w, struct riscv64_regs *ret);
void riscv64_world_set(struct riscv64_world *w, const struct riscv64_regs *regs);

/* Sets registers as the caller at CALLER_OFF has them when it calls the function at FUNCTION_OFF.
 * Every other register but tp has a value of its own. */
void riscv64_world_enter(struct riscv64_world *w, uint64_t function_off, uint64_t caller_off);
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
