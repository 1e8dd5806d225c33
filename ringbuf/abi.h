/* What guest and host share: parameters a stub reads, state and records a stub writes.
 * Included by C and by assembly. The region as a whole is patcher/region.h's.
 *
 *   params (guest: read-only)          state, one a vCPU (guest: read-write)
 *   0x00 -           nr_cpus           0x00 head       records ever reserved
 *   0x08 gs offset of cpu number       0x08 last_pid   who the last record was of
 *                                      0x0c muted      the host's: nothing is recorded there
 *   0x10 gs offset of current task     0x10 no stack   0x18 no room: calls of a graph that
 *   0x18 gs offset of preempt count                    were not traced
 *   0x20 task: pid       comm          ring, one a vCPU: nr_slots records of 32 bytes
 *   0x28 task: flags     migration     position p is written at slot p % nr_slots
 *   0x30 gva of states                 lap bit of position p: !((p / nr_slots) & 1)
 *   0x38 gva of rings
 *   0x40 slot mask
 *   0x48 ring shift      lap shift     record: four words, each with the lap bit in bit 63, so
 *   0x50 gva of pid bitmap             zeroed memory is "not yet written" and a record of which a
 *   0x58 pids in bitmap  migr. mask    late writer tore a word is seen to be torn
 *   0x60 graph flags     max depth
 *   0x68 threshold                     return stack, one a kernel stack that has frames of traced
 *   0x70 gva of return stacks          functions: a head of 64 bytes, HV_FRAMES_MAX frames of 32
 *   0x78 homes           stack bytes   and as many sums of 8
 *   0x80 gs offset of interrupt stack
 *   0x88 start, 0x90 length of the addresses of stacks whose calls are left alone
 *   0x98 gva of control block          control block: the mode, counters
 *   0xa0 task: tgid      stack      counts of a profile: a table for each vCPU, of functions
 *   0xa8 gva of counts   counts     that were called there
 */
#pragma once

/* Bytes from the params to the first byte of stub code. */
#define HV_STUBS_CODE_OFF 0x1000

/* The mode: the first word of the control block, which host and guest write. */
#define HV_MODE_OFF	   1 /* tracing_on is 0: write nothing */
#define HV_MODE_OFF_BIT	   0
#define HV_MODE_PID_FILTER 2 /* only pids whose bit in the pid bitmap is set */
#define HV_MODE_CPUS	   4 /* not on vCPUs that are muted */

#define HV_PARAM_MODE	       0x00 /* u32, unused: the mode is in the control block */
#define HV_PARAM_NR_CPUS       0x04 /* u32, states and rings there are */
#define HV_PARAM_CPU_NUMBER    0x08 /* u64, per-CPU offset, u32 there */
#define HV_PARAM_CURRENT       0x10 /* u64, per-CPU offset, pointer there */
#define HV_PARAM_PREEMPT_COUNT 0x18 /* u64, per-CPU offset, u32 there */
#define HV_PARAM_TASK_PID      0x20 /* u32, offset in the task, u32 there */
#define HV_PARAM_TASK_COMM     0x24 /* u32, offset in the task, 16 bytes there */
#define HV_PARAM_TASK_FLAGS    0x28 /* u32, offset in the task of the thread flags, u16 taken */
#define HV_PARAM_TASK_MIGRATE                                                                      \
	0x2c			   /* u32, offset in the task of migration_disabled, u8 taken;     \
				      where the kernel has none, the offset of 8 zero bits or of   \
				      the pid with HV_PARAM_MIGRATE_MASK 0 */
#define HV_PARAM_STATES	      0x30 /* u64, gva */
#define HV_PARAM_RINGS	      0x38 /* u64, gva */
#define HV_PARAM_SLOT_MASK    0x40 /* u64, nr_slots - 1 */
#define HV_PARAM_RING_SHIFT   0x48 /* u32, log2 of the bytes from one ring to the next */
#define HV_PARAM_LAP_SHIFT    0x4c /* u32, log2 of nr_slots */
#define HV_PARAM_PIDS	      0x50 /* u64, gva of the pid bitmap */
#define HV_PARAM_NR_PIDS      0x58 /* u32, bits in the pid bitmap */
#define HV_PARAM_MIGRATE_MASK 0x5c /* u32, 0xff, or 0 where the kernel has no such count */
#define HV_PARAM_GRAPH_FLAGS  0x60 /* u32, HV_GRAPH_* */
#define HV_PARAM_MAX_DEPTH    0x64 /* u32, frames of a stack that are traced at most */
#define HV_PARAM_THRESHOLD    0x68 /* u64, tsc ticks: shorter calls are not recorded */
#define HV_PARAM_STACKS	      0x70 /* u64, gva of the return stacks */
#define HV_PARAM_NR_HOMES     0x78 /* u32, return stacks but for the last HV_STACK_PROBES - 1 */
#define HV_PARAM_STACK_BYTES  0x7c /* u32, of a kernel stack: a power of two, at least 4096 */
#define HV_PARAM_IRQ_STACK    0x80 /* u64, per-CPU offset, pointer to the stack's end or last word */
#define HV_PARAM_SKIP_START   0x88 /* u64, first address of the exceptions' stacks */
#define HV_PARAM_SKIP_LEN     0x90 /* u64 */
#define HV_PARAM_CONTROL      0x98 /* u64, gva of the control block */
#define HV_PARAM_TASK_TGID    0xa0 /* u32, offset in the task, u32 there */
#define HV_PARAM_TASK_STACK   0xa4 /* u32, offset in the task of the pointer to its stack */
#define HV_PARAM_COUNTS	      0xa8 /* u64, gva of the profile's tables */
#define HV_PARAM_NR_COUNTS    0xb0 /* u32, of one vCPU's table; at least HV_COUNT_PROBES */
#define HV_PARAM_TASK_LAZY    0xb4 /* u32, offset in the task, u32 there; 0: there is none */
#define HV_PARAM_YIELD_READER 0xb8 /* u64, gva: (to, from, bytes); 0: it went well (yield.S) */
#define HV_PARAM_YIELD_NOP    0xc0 /* 8 bytes, as many of them as a site has: what stood there */
#define HV_PARAM_LAZY_MASK    0xc8 /* u32, of thread flags: a lazy reschedule is asked for */
#define HV_PARAMS_LEN	      0xd0

/* Slots, in the page of the params: what the entry of that number does (actions.S) */
#define HV_PARAM_SLOTS 0x800
#define HV_NR_SLOTS    128
#define HV_SLOT_DOES   0x00 /* u32, HV_SLOT_* */
#define HV_SLOT_GOES_ON                                                                            \
	0x04 /* u32, the stub it goes on to, from the params on; 0: none                           \
	      */
#define HV_SLOT_ON	      1
#define HV_SLOT_OFF	      2
#define HV_SLOT_ON_COUNTED    4
#define HV_SLOT_OFF_COUNTED   8
#define HV_SLOT_STACK	      16
#define HV_SLOT_STACK_BIT     4
#define HV_SLOT_STACK_COUNTED 32
#define HV_SLOT_TELL	      64
#define HV_SLOT_TELL_COUNTED  128
/* The function's first argument is a task. Its bit in the pid bitmap becomes the current task's
 * (it was forked by it), 0, or 1. */
#define HV_SLOT_PID_INHERITS  0x1000
#define HV_SLOT_PID_CLEARS    0x2000
#define HV_SLOT_PID_SETS      0x4000

/* The control block: the mode, and what is left of the counted actions of each slot */
#define HV_CONTROL_MODE	 0x00 /* u32 */
#define HV_CONTROL_LOOKS 0x04 /* u32, of the guest's own ftrace at sites, since attach */
#define HV_CONTROL_LEFT	 0x40 /* for each slot */
#define HV_LEFT_ON	 0x00 /* s32 */
#define HV_LEFT_OFF	 0x04 /* s32 */
#define HV_LEFT_STACK	 0x08 /* s32 */
#define HV_LEFT_TELL	 0x0c /* s32 */
#define HV_LEFT_SHIFT	 4

/* HV_PARAM_GRAPH_FLAGS. Frames that are open while a flag changes end by the new one. */
#define HV_GRAPH_RETURNS    1  /* the tracer is on: returns are recorded */
#define HV_GRAPH_NO_ENTRIES 2  /* a threshold: only returns are recorded */
#define HV_GRAPH_SUBTREE    4  /* only what a root function calls */
#define HV_GRAPH_RETVAL	    8  /* what was returned, too */
#define HV_GRAPH_NO_IRQS    16 /* nothing in hard interrupts, but for what a root function called */
#define HV_GRAPH_PROFILE    32 /* calls are counted */
#define HV_GRAPH_OWN_TIME   64 /* in a profile, a call's time is without that of the calls in it */

#define HV_STATE_HEAD	  0x00 /* u64 */
#define HV_STATE_LAST_PID 0x08 /* u32 */
#define HV_STATE_MUTED	  0x0c /* u32, not 0: see HV_MODE_CPUS */
#define HV_STATE_NO_STACK 0x10 /* u64, calls that found no return stack free */
#define HV_STATE_NO_ROOM  0x18 /* u64, calls whose return stack was full */
#define HV_STATE_NO_COUNT 0x20 /* u64, calls that a profile's table had no place for */
#define HV_STATE_LEN	  64
#define HV_STATE_SHIFT	  6

/* Return stacks. The first word is the stack's address (its lowest, HV_PARAM_STACK_BYTES aligned;
 * for an interrupt stack that of the aligned block which holds its last word) and, in the low bits,
 * the number of frames. A return stack without frames is free for any kernel stack to take. */
#define HV_STACK_WORD 0x00
#define HV_STACK_DEPTH                                                                             \
	0x08 /* u32, depth of its first frame: an interrupt's is what it interrupted */
#define HV_STACK_INSIDE 0x0c /* u32, frames of root functions */
#define HV_STACK_MUTED	0x10 /* u32, frames of functions whose subtree is left out */
#define HV_STACK_STOPPED                                                                           \
	0x14 /* u32, not 0: a return was not its last frame's. No more frames until                \
		it has none */
#define HV_STACK_ABOVE                                                                             \
	0x18 /* u32, not 0: what an interrupt stack interrupted is in a root function */
#define HV_STACK_OVERRUN 0x1c /* u32, calls that found no room since the stack was taken */
#define HV_STACK_LEFT                                                                              \
	0x20 /* u64, tsc when its task left the CPU, if the next thing is its return */
#define HV_STACK_OWN	 0x28 /* u64, own ticks of all profiled calls that returned */
#define HV_STACK_FRAMES	 0x40
#define HV_STACK_SUMS	 0x1040 /* u64 a frame: HV_STACK_OWN when it was raised */
#define HV_STACK_LEN	 5184	/* no power of two: the heads are spread over the cache */
#define HV_FRAMES_MAX	 128
#define HV_STACK_PROBES	 4 /* places, one after the other, where a kernel stack's can be */
#define HV_STACK_NR_MASK 0xfff
#define HV_STACK_HASH	 0x9e3779b1 /* see hv_stack_home */

/* A frame: a call whose return address is ours. */
#define HV_FRAME_SLOT	  0x00 /* u64, where the return address is */
#define HV_FRAME_CALLER	  0x08 /* u64, what it was */
#define HV_FRAME_TSC	  0x10 /* u64, of the call */
#define HV_FRAME_FUNCTION 0x18 /* u32, low half of the site's address */
#define HV_FRAME_FLAGS	  0x1c /* u16, HV_FRAME_* */
#define HV_FRAME_DEPTH	  0x1e /* u16 */
#define HV_FRAME_LEN	  32
#define HV_FRAME_SHIFT	  5

#define HV_FRAME_ROOT	  1 /* counted in HV_STACK_INSIDE */
#define HV_FRAME_MUTES	  2 /* counted in HV_STACK_MUTED; neither call nor return is recorded */
#define HV_FRAME_PROFILED 4 /* counted in a profile */
#define HV_FRAME_QUIET	  8 /* and nothing else: neither call nor return is recorded */

/* The counts of a function on one vCPU. A function is in the first place from its home on that is
 * its own or free, HV_COUNT_PROBES of them at most. */
#define HV_COUNT_FUNCTION  0x00 /* u32, low half of the site's address; 0: free */
#define HV_COUNT_HITS	   0x08 /* u64, calls */
#define HV_COUNT_TICKS	   0x10 /* u64, of calls that returned */
#define HV_COUNT_SQUARES   0x18 /* u64, of ticks, low half */
#define HV_COUNT_SQUARES_H 0x20 /* u64, high half */
#define HV_COUNT_LEN	   40
#define HV_COUNT_PROBES	   32

#define HV_RECORD_LEN	32
#define HV_RECORD_SHIFT 5
#define HV_LAP_BIT	63

/* word 3, bits 48..51 */
#define HV_RECORD_KIND_SHIFT 48
#define HV_RECORD_FUNCTION   1
#define HV_RECORD_TASK	     2 /* precedes the first record of another task on this vCPU */
#define HV_RECORD_ENTRY	     3 /* graph: a function was called */
#define HV_RECORD_EXIT	     4 /* graph: it returned */
#define HV_RECORD_MORE	     5 /* precedes an exit that has more to say; reserved together with it */
#define HV_RECORD_MARK	     6 /* the host's own: a line of trace_marker */
#define HV_RECORD_WORDS	     7 /* of a stack: they precede it, reserved together with it */
#define HV_RECORD_STACK	     8 /* the stack of a function that was called */
#define HV_RECORD_COMMAND    9 /* a function was called that has commands for the host */

/* function: word 0  tsc (63 bits)
 *           word 1  bits 0-31 low half of the site's address, 32-62 low 31 bits of the caller's
 *                   (bit 31 of a kernel-image or module address is always 1)
 *           word 2  bits 0-31 pid, 32-47 thread flags, 48-55 migration-disable count; where the
 *                   kernel has it: 56-61 lazy-preemption count (63: or more), 62 a lazy reschedule
 *                   is asked for
 *           word 3  bits 0-31 preempt count as the CPU keeps it, 32-47 low half of the CPU flags,
 *                   48-51 kind
 * task:     word 0  tsc
 *           word 1  comm[0..7] without the top bit of comm[7]
 *           word 2  comm[8..15] (comm[15] is NUL)
 *           word 3  bits 0-31 pid, 32-46 low 15 bits of the tgid, 47 top bit of comm[7],
 *                   48-51 kind, 52-58 high 7 bits of the tgid (22 bits: PID_MAX_LIMIT)
 * entry:    as function, and
 *           word 3  bits 52-62 depth (more is cut to that)
 * exit:     word 0  tsc of the return
 *           word 1  bits 0-31 low half of the site's address, 32-62 ticks since the call, low 31
 *           word 2  bits 0-31 pid, 32-62 ticks since the call, next 31 (62 bits: no call is longer)
 *           word 3  as entry, of the return
 * more:     word 0  tsc, the exit's
 *           word 1  bits 0-62 value returned
 *           word 2  bits 0-31 overrun
 *           word 3  bits 0-31 pid, 47 bit 63 of the value, 46 there is a value, 48-51 kind
 * words:    word 0  tsc, the stack's
 *           the first:
 *           word 1  where the stack begins: the caller's return address is there (63 bits)
 *           word 2  bits 0-30 of the frame pointer, 31-61 those of where the second part begins
 *           word 3  bits 0-31 how many more, 48-51 kind
 *           the others:
 *           word 1-3  bits 0-47 a word (HV_WORD_*); 0: none
 *           word 3  48-51 kind, 52-62 the number of this one, from 1 on
 * stack:    as function, and
 *           word 3  bits 52-58 how many records of words but the first, 62 of a command
 * command:  as function, and bit 62 of word 3
 * mark:     word 0  tsc
 *           word 1  which of the texts that the host keeps
 *           word 3  48-51 kind */
#define HV_CALL_LAZY_SHIFT    56
#define HV_CALL_LAZY_MAX      0x3f
#define HV_CALL_LAZY_ASKED    62
#define HV_TASK_COMM7_SHIFT   47
#define HV_TASK_TGID_SHIFT    32
#define HV_TASK_TGID_LOW      15 /* bits */
#define HV_TASK_TGID_SHIFT2   52
#define HV_TASK_TGID_HIGH     7 /* bits */
#define HV_RECORD_DEPTH_SHIFT 52
#define HV_RECORD_DEPTH_MAX   0x7ff
#define HV_MORE_VALUE63_SHIFT 47
#define HV_MORE_VALUE_SHIFT   46
#define HV_STACK_RECORDS_MAX  127
#define HV_STACK_COMMAND_BIT  62

/* A word of a stack: bits 0-30 of what it is, bit 31: it is text, else a pointer into a stack; bits
 * 3-17 of where it is; whether that is in the second part. For a graph's handler it is what that
 * returns to, or still the handler where it cannot be told. */
#define HV_WORD_TEXT	    0x80000000
#define HV_WORD_PLACE_SHIFT 32
#define HV_WORD_PLACE_MASK  0x3fff8
#define HV_WORD_SECOND_BIT  47

#ifndef __ASSEMBLER__

#include <stdint.h>

struct hv_params {
	uint32_t mode;
	uint32_t nr_cpus;
	uint64_t cpu_number_percpu;
	uint64_t current_percpu;
	uint64_t preempt_count_percpu;
	uint32_t task_pid_off;
	uint32_t task_comm_off;
	uint32_t task_flags_off;
	uint32_t task_migrate_off;
	uint64_t states_gva;
	uint64_t rings_gva;
	uint64_t slot_mask;
	uint32_t ring_shift;
	uint32_t lap_shift;
	uint64_t pids_gva;
	uint32_t nr_pids;
	uint32_t migrate_mask;
	uint32_t graph_flags;
	uint32_t max_depth;
	uint64_t threshold_ticks;
	uint64_t stacks_gva;
	uint32_t nr_homes;
	uint32_t stack_bytes;
	uint64_t irq_stack_percpu;
	uint64_t skip_start_gva;
	uint64_t skip_len_bytes;
	uint64_t control_gva;
	uint32_t task_tgid_off;
	uint32_t task_stack_off;
	uint64_t counts_gva;
	uint32_t nr_counts;
	uint32_t task_lazy_off;
	uint64_t yield_reader_gva;
	uint8_t yield_nop[8];
	uint32_t lazy_mask;
	uint32_t unused;
};

struct hv_slot {
	uint32_t does;
	uint32_t goes_on;
};

struct hv_control {
	uint32_t mode;
	uint32_t looks;
	uint32_t unused[14];
	struct {
		int32_t on;
		int32_t off;
		int32_t stack;
		int32_t tell;
	} left[HV_NR_SLOTS];
};

struct hv_state {
	uint64_t head;
	uint32_t last_pid;
	uint32_t muted;
	uint64_t nr_no_stack;
	uint64_t nr_no_room;
	uint64_t nr_no_count;
	uint64_t unused[3];
};

struct hv_frame {
	uint64_t slot_gva;
	uint64_t caller_gva;
	uint64_t tsc;
	uint32_t function_low;
	uint16_t flags;
	uint16_t depth;
};

struct hv_stack {
	uint64_t word;
	uint32_t depth;
	uint32_t inside;
	uint32_t muted;
	uint32_t stopped;
	uint32_t above;
	uint32_t overrun;
	uint64_t left_tsc;
	uint64_t own_ticks;
	uint64_t unused[2];
	struct hv_frame frames[HV_FRAMES_MAX];
	uint64_t sums[HV_FRAMES_MAX];
};

struct hv_count {
	uint32_t function_low;
	uint32_t unused;
	uint64_t hits;
	uint64_t ticks;
	uint64_t squares;
	uint64_t squares_high;
};

/* The first place to look for the return stack of the kernel stack at ADDRESS (as in its word); the
 * others follow it. */
static inline uint32_t hv_stack_home(uint64_t address, uint32_t nr_homes)
{
	uint32_t hash = (uint32_t)(address >> 12) * HV_STACK_HASH;

	return (uint32_t)((uint64_t)hash * nr_homes >> 32);
}

/* The first place to look for the counts of a function; the others follow it. */
static inline uint32_t hv_count_home(uint32_t function_low, uint32_t nr_counts)
{
	uint32_t hash = function_low * HV_STACK_HASH;

	return (uint32_t)((uint64_t)hash * (nr_counts - HV_COUNT_PROBES + 1) >> 32);
}

struct hv_record {
	uint64_t word[4];
};

_Static_assert(sizeof(struct hv_params) == HV_PARAMS_LEN, "params");
_Static_assert(__builtin_offsetof(struct hv_params, task_pid_off) == HV_PARAM_TASK_PID, "params");
_Static_assert(__builtin_offsetof(struct hv_params, states_gva) == HV_PARAM_STATES, "params");
_Static_assert(__builtin_offsetof(struct hv_params, lap_shift) == HV_PARAM_LAP_SHIFT, "params");
_Static_assert(__builtin_offsetof(struct hv_params, nr_pids) == HV_PARAM_NR_PIDS, "params");
_Static_assert(__builtin_offsetof(struct hv_params, threshold_ticks) == HV_PARAM_THRESHOLD,
	       "params");
_Static_assert(__builtin_offsetof(struct hv_params, irq_stack_percpu) == HV_PARAM_IRQ_STACK,
	       "params");
_Static_assert(__builtin_offsetof(struct hv_params, skip_len_bytes) == HV_PARAM_SKIP_LEN, "params");
_Static_assert(__builtin_offsetof(struct hv_params, task_tgid_off) == HV_PARAM_TASK_TGID, "params");
_Static_assert(__builtin_offsetof(struct hv_params, task_stack_off) == HV_PARAM_TASK_STACK,
	       "params");
_Static_assert(__builtin_offsetof(struct hv_params, nr_counts) == HV_PARAM_NR_COUNTS, "params");
_Static_assert(__builtin_offsetof(struct hv_params, task_lazy_off) == HV_PARAM_TASK_LAZY, "params");
_Static_assert(__builtin_offsetof(struct hv_params, yield_nop) == HV_PARAM_YIELD_NOP, "params");
_Static_assert(__builtin_offsetof(struct hv_params, lazy_mask) == HV_PARAM_LAZY_MASK, "params");
_Static_assert(HV_PARAM_SLOTS + HV_NR_SLOTS * sizeof(struct hv_slot) <= HV_STUBS_CODE_OFF, "slots");
_Static_assert(__builtin_offsetof(struct hv_slot, goes_on) == HV_SLOT_GOES_ON, "slot");
_Static_assert(__builtin_offsetof(struct hv_control, looks) == HV_CONTROL_LOOKS, "control block");
_Static_assert(__builtin_offsetof(struct hv_control, left) == HV_CONTROL_LEFT, "control block");
_Static_assert(sizeof(struct hv_state) == HV_STATE_LEN, "state");
_Static_assert(__builtin_offsetof(struct hv_state, muted) == HV_STATE_MUTED, "state");
_Static_assert(__builtin_offsetof(struct hv_state, nr_no_room) == HV_STATE_NO_ROOM, "state");
_Static_assert(__builtin_offsetof(struct hv_state, nr_no_count) == HV_STATE_NO_COUNT, "state");
_Static_assert(sizeof(struct hv_frame) == HV_FRAME_LEN, "frame");
_Static_assert(__builtin_offsetof(struct hv_frame, depth) == HV_FRAME_DEPTH, "frame");
_Static_assert(sizeof(struct hv_stack) == HV_STACK_LEN, "return stack");
_Static_assert(__builtin_offsetof(struct hv_stack, overrun) == HV_STACK_OVERRUN, "return stack");
_Static_assert(__builtin_offsetof(struct hv_stack, frames) == HV_STACK_FRAMES, "return stack");
_Static_assert(__builtin_offsetof(struct hv_stack, own_ticks) == HV_STACK_OWN, "return stack");
_Static_assert(__builtin_offsetof(struct hv_stack, sums) == HV_STACK_SUMS, "return stack");
_Static_assert(__builtin_offsetof(struct hv_count, squares_high) == HV_COUNT_SQUARES_H, "count");
_Static_assert(sizeof(struct hv_count) == HV_COUNT_LEN, "count");
_Static_assert(sizeof(struct hv_record) == HV_RECORD_LEN, "record");

#endif
