/* The memory that guest and host share: parameters that the stubs read, and state and records that
 * they write. The structs here are the layout. C uses them as they are; the assembler gets their
 * offsets and sizes from arch/stub_offsets.c. abi_flags.h has the flags and limits, record_bits.h
 * says where things are in a record. Where each part lies in the region is patcher/region.h's.
 *
 *   page of the params                     for each vCPU
 *   0x0000  struct hv_params
 *   0x0800  struct hv_slot, 128 of them    struct hv_state    head: 18 records were reserved
 *   0x1000  code of the stubs
 *                                          ring     +------+------+------+------+------+---
 *   control block                                   | p=16 | p=17 | p=10 | p=11 | p=12 | ...
 *   struct hv_control                               +------+------+------+------+------+---
 *                                                   struct hv_record of position p in slot
 *   return stacks                                   p % nr_slots
 *   struct hv_stack, each with
 *   128 struct hv_frame                    table    struct hv_count of the profile, one a function
 *
 * The guest maps the page of the params and the code read-only. It can write the rest at any time,
 * so the host checks whatever it reads there. In the comments "per-CPU offset" is an offset from
 * the base of a vCPU's per-CPU area in the guest. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi_flags.h"
#include "ringbuf/record_bits.h"

/* What the stubs have to know about this guest and this session. The host may write a field while
 * stubs run, so each is one aligned word. */
struct hv_params {
	uint32_t unused_start;
	uint32_t nr_cpus; /* how many states and rings there are */

	/* 0x08: per-CPU offsets */
	uint64_t cpu_number_percpu;    /* of a u32 */
	uint64_t current_percpu;       /* of the pointer to the current task */
	uint64_t preempt_count_percpu; /* of a u32 */

	/* 0x20: offsets in struct task_struct */
	uint32_t task_pid_off;	   /* of a u32 */
	uint32_t task_comm_off;	   /* of 16 bytes */
	uint32_t task_flags_off;   /* of the thread flags; the low 16 bits are recorded */
	uint32_t task_migrate_off; /* of migration_disabled, whose low 8 bits are recorded; where
				    * the kernel has none, of anything, and migrate_mask is 0 */

	/* 0x30: rings and the pid filter */
	uint64_t states_gva;
	uint64_t rings_gva;
	uint64_t slot_mask;    /* nr_slots - 1 */
	uint32_t ring_shift;   /* log2 of the bytes from one ring to the next */
	uint32_t lap_shift;    /* log2 of nr_slots */
	uint64_t pids_gva;     /* of the pid bitmap */
	uint32_t nr_pids;      /* bits in the pid bitmap */
	uint32_t migrate_mask; /* 0xff, or 0: see task_migrate_off */

	/* 0x60: graph and stacks */
	uint32_t graph_flags;	   /* HV_GRAPH_* */
	uint32_t max_depth;	   /* deeper calls of a kernel stack are not traced */
	uint64_t threshold_ticks;  /* of the tsc; shorter calls are not recorded; 0: all are */
	uint64_t stacks_gva;	   /* of the return stacks */
	uint32_t nr_homes;	   /* number of return stacks, less HV_STACK_PROBES - 1 */
	uint32_t stack_bytes;	   /* size of a kernel stack: a power of two, at least 4096 */
	uint64_t irq_stack_percpu; /* per-CPU offset of a pointer to the end, or to the last word,
				    * of the interrupt stack */
	uint64_t skip_start_gva;   /* where exceptions have their stacks: */
	uint64_t skip_len_bytes;   /* calls there are not part of a graph */

	/* 0x98: control block, profile, more of struct task_struct, the guest's own ftrace */
	uint64_t control_gva;	   /* of the control block */
	uint32_t task_tgid_off;	   /* offset in struct task_struct of a u32 */
	uint32_t task_stack_off;   /* offset in struct task_struct of the pointer to the stack */
	uint64_t counts_gva;	   /* of the profile's tables */
	uint32_t nr_counts;	   /* places in one vCPU's table: HV_COUNT_PROBES at least */
	uint32_t task_lazy_off;	   /* offset in struct task_struct of a u32, the lazy-preemption
				    * count; 0: the kernel has none */
	uint64_t yield_reader_gva; /* the function by which the guest's ftrace reads a site:
				    * (to, from, bytes), 0 when it succeeds */
	uint8_t yield_nop[8]; /* what a site had before it was changed, for the guest's ftrace */
	uint32_t lazy_mask;   /* the thread flag that requests a lazy reschedule */
	uint32_t unused_end;
};

/* What an entry of the stubs does when a site calls it, before the call goes on. */
struct hv_slot {
	uint32_t does;	  /* HV_SLOT_* */
	uint32_t goes_on; /* offset from the params of the stub that comes next; 0: none */
};

/* How often a slot's counted actions may still happen. */
struct hv_left {
	int32_t on;
	int32_t off;
	int32_t stack;
	int32_t tell;
};

/* Host and guest both write it. Both change the mode with interlocked instructions only. */
struct hv_control {
	uint32_t mode;	/* HV_MODE_* */
	uint32_t looks; /* how often the guest's ftrace has read a site since attach */
	uint32_t unused[14];
	struct hv_left left[HV_NR_SLOTS];
};

/* Of one vCPU. */
struct hv_state {
	uint64_t head;	      /* how many records were ever reserved in the ring */
	uint32_t last_pid;    /* whose record was written last */
	uint32_t muted;	      /* the host writes it; not 0: see HV_MODE_CPUS */
	uint64_t nr_no_stack; /* calls of a graph that found no return stack free */
	uint64_t nr_no_room;  /* calls of a graph whose return stack was full */
	uint64_t nr_no_count; /* calls for which a profile's table had no place */
	uint64_t unused[3];
};

/* A record of a ring: record_bits.h. */
struct hv_record {
	uint64_t word[4];
};

/* A call that is open: the stub has replaced the return address. */
struct hv_frame {
	uint64_t slot_gva;     /* where the return address is */
	uint64_t caller_gva;   /* what the return address was */
	uint64_t tsc;	       /* of the call */
	uint32_t function_low; /* low half of the site's address */
	uint16_t flags;	       /* HV_FRAME_* */
	uint16_t depth;
};

/* A return stack: the open calls on one kernel stack. While it has no frames, any kernel stack may
 * take it. Its size is not a power of two, so that the first cache lines of all return stacks are
 * not in the same few sets of the cache. */
struct hv_stack {
	uint64_t word;	 /* address of the kernel stack, aligned to stack_bytes; its low bits
			  * (HV_STACK_NR_MASK) are the number of frames. For an interrupt stack the
			  * address is that of the aligned block that holds its last word */
	uint32_t depth;	 /* of the first frame; on an interrupt stack it continues the depth of
			  * what was interrupted */
	uint32_t inside; /* how many frames are of root functions */
	uint32_t muted;	 /* how many frames are of functions that are left out with all they call */
	uint32_t stopped;   /* not 0: a function returned that was not the last frame's. No frames
			     * are added until there are none left */
	uint32_t above;	    /* not 0: this is an interrupt stack, and what was interrupted is in a
			     * root function */
	uint32_t overrun;   /* calls that found no room since a kernel stack took this one */
	uint64_t left_tsc;  /* when the task left the CPU; 0: it did not, or it is back */
	uint64_t own_ticks; /* sum of the own time of all profiled calls that returned */
	uint64_t unused[2];
	struct hv_frame frames[HV_FRAMES_MAX];
	uint64_t sums[HV_FRAMES_MAX]; /* for each frame: own_ticks when the call began */
};

/* What a profile has counted of one function on one vCPU. The function is in the first place, of
 * HV_COUNT_PROBES from its home on, that is its own or free. */
struct hv_count {
	uint32_t function_low; /* low half of the site's address; 0: this place is free */
	uint32_t unused;
	uint64_t hits;	       /* calls */
	uint64_t ticks;	       /* sum over the calls that returned */
	uint64_t squares;      /* sum of the squares of their ticks, low half */
	uint64_t squares_high; /* high half */
};

/* The first place to look for the return stack of the kernel stack at ADDRESS (as in its word). The
 * other HV_STACK_PROBES - 1 places follow it. */
static inline uint32_t hv_stack_home(uint64_t address, uint32_t nr_homes)
{
	uint32_t hash = (uint32_t)(address >> 12) * HV_STACK_HASH;

	return (uint32_t)((uint64_t)hash * nr_homes >> 32);
}

/* The first place to look for the counts of a function. The other HV_COUNT_PROBES - 1 places follow
 * it. */
static inline uint32_t hv_count_home(uint32_t function_low, uint32_t nr_counts)
{
	uint32_t hash = function_low * HV_STACK_HASH;

	return (uint32_t)((uint64_t)hash * (nr_counts - HV_COUNT_PROBES + 1) >> 32);
}

/* The offsets in the comments and in docs/region.md, and no padding. */
_Static_assert(offsetof(struct hv_params, task_pid_off) == 0x20, "params");
_Static_assert(offsetof(struct hv_params, states_gva) == 0x30, "params");
_Static_assert(offsetof(struct hv_params, graph_flags) == 0x60, "params");
_Static_assert(offsetof(struct hv_params, control_gva) == 0x98, "params");
_Static_assert(sizeof(struct hv_params) == 0xd0, "params");
_Static_assert(HV_SLOTS_OFF + HV_NR_SLOTS * sizeof(struct hv_slot) <= HV_STUBS_CODE_OFF, "slots");
_Static_assert(sizeof(struct hv_control) == 64 + HV_NR_SLOTS * 16, "control block");
_Static_assert(sizeof(struct hv_state) == 64, "state");
_Static_assert(sizeof(struct hv_record) == 32, "record");
_Static_assert(sizeof(struct hv_frame) == 32, "frame");
_Static_assert(sizeof(struct hv_stack) == 64 + HV_FRAMES_MAX * (32 + 8), "return stack");
_Static_assert(sizeof(struct hv_count) == 40, "count");
