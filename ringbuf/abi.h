/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory layout shared by guest and host: parameters that the trampolines read, and state and
 * records that they write. C uses these structs directly; the assembler gets offsets and sizes from
 * arch/trampoline_offsets.c. abi_bits.h defines flags, limits and the fields of a record, and
 * patcher/region.h the position of each part in the region. Values that are constant during a
 * session are not stored here; they are linked into the trampoline code (struct
 * hv_trampoline_values in arch/arch.h).
 *
 *   page of the params               one block per vCPU: its state, then its ring of nr_slots
 *   (read-only for the guest)
 *                                    struct hv_state         +--------+--------+--------+---
 *   0x000   struct hv_params            head: (18 + 8) * 32  | p = 16 | p = 17 | p = 10 |  ...
 *   0x400   kinds of action groups                           +--------+--------+--------+---
 *   0x800   128 action groups        struct hv_record at position p is at index p % nr_slots
 *   0x1000  code of the trampolines        (nr_slots is 8 here)
 *
 *   control block     return stacks: each serves       profile counts:
 *                     one kernel stack at a time       one table per vCPU
 *
 *   struct hv_control struct hv_stack                  struct hv_count
 *                       120 struct hv_frame
 *
 * The guest can write to everything except the page of the params at any time, so the host checks
 * every value it reads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi_bits.h"

/* Parameters that the host changes while trampolines run. Each field is one aligned word and can be
 * stored atomically, except ftrace_nop, which the host sets before the guest's ftrace can use it. */
struct hv_params {
	uint32_t graph_flags;	  /* HV_GRAPH_* */
	uint32_t max_depth;	  /* calls deeper than this on a kernel stack are not traced */
	uint64_t threshold_ticks; /* shorter calls are not recorded; 0: record all */
	/* HV_PROFILE_PLAIN: calls that are counted but not recorded take the plain way */
	uint32_t profile_mode;
	uint32_t unused;
	/* function that the guest's ftrace calls to read a site: (to, from, bytes), returns 0 on
	 * success */
	uint64_t ftrace_reader_gva;
	uint8_t ftrace_nop[8]; /* original bytes of a site, shown to the guest's ftrace */
	uint64_t sleep_gva;    /* msleep(); a hibernating guest calls it to wait */
	uint64_t ticks_per_ns; /* tsc ticks per ns, times 2^32 */
};

/* The actions of a trampoline entry when a site calls it, and the trampoline that runs next. */
struct hv_action_group {
	uint32_t does;	  /* HV_DOES_* */
	uint32_t goes_on; /* offset of the next trampoline from the params; 0: none */
};

/* A step of a fetch program. A trampoline runs the program of an action group or an event to read
 * guest memory for a probe. The results follow the registers of the recorded call, or the entry of
 * the event. If a step faults, the remaining steps with the same tag are skipped. */
struct hv_fetch_step {
	uint8_t does; /* HV_FETCH_* */
	uint8_t unused;
	uint16_t len_bytes; /* length of a result; maximum length of a string */
	uint32_t tag;	    /* identifies the result */
	uint64_t value;
};

/* How many times the counted actions of an action group can still run. */
struct hv_left {
	int32_t on;
	int32_t off;
	int32_t stack;
	int32_t report;
};

/* Host and guest write to it. Both modify `mode` with atomic read-modify-write instructions
 * only. */
struct hv_control {
	uint32_t mode; /* HV_MODE_* */
	/* not 0: graph calls and returns take the general way, which checks the params */
	uint32_t graph_mode;
	uint32_t looks; /* number of times that the guest's ftrace read a site since attach */
	/* number of waits since the guest started to hibernate; 0: not hibernating */
	uint32_t hibernates;
	uint32_t sections; /* HV_SECTIONS_* */
	uint32_t unused;
	/* Depth in bytes of the deepest task stack so far. A call with HV_DOES_DEEPEST that is
	 * deeper is recorded. Because vCPUs and interrupts race, a smaller value than was recorded
	 * can be stored. */
	uint64_t deepest;
	uint32_t unused_more[8];
	struct hv_left left[HV_NR_ACTION_GROUPS];
	uint32_t missed[HV_NR_ACTION_GROUPS]; /* per action group: returns that the probe missed */
};

/* The start or the end of a section, a time with preemption or interrupts disabled. */
struct hv_section_end {
	uint64_t tsc;
	uint32_t detour; /* low half of the address in the detour to which the trampoline returns */
	uint32_t caller; /* low half of the function's return address; 0: unknown */
	uint32_t pid;
	uint32_t preempt_count;
	uint32_t cpu_flags;    /* low 32 bits */
	uint32_t thread_flags; /* the byte of the flags that records contain */
	uint64_t steal_ns;     /* accumulated steal time of the vCPU */
};

/* Section state of one vCPU. The guest writes all of it; the host also writes `longest`. */
struct hv_sections {
	/* tsc is 0 if no section is open or the open one is not measured */
	struct hv_section_end open;
	uint64_t longest; /* threshold in ticks of vCPU run time; only longer sections are kept */
	uint32_t seq;	  /* sequence lock for the fields below: odd during an update */
	/* Nonzero: do not count an end without a start, because the CPU is idle or a section began
	 * that is not measured. The host sets it before measuring starts. The guest clears it when
	 * the idle loop ends, or when another task than the idle task disables interrupts. */
	uint32_t idle;
	uint64_t nr_no_begin; /* ends without an open section */
	uint64_t nr_stolen;   /* sections that exceeded the threshold only because of steal time */
	struct hv_section_end from, to; /* the last section kept */
	/* The task at its end: */
	char comm[16];
	uint32_t uid;
	uint32_t static_prio; /* nice + 120 */
	uint32_t policy;
	uint32_t rt_priority;
	/* The head of the vCPU's ring (struct hv_state): */
	uint64_t open_head; /* when the open section started */
	uint64_t from_head; /* when the kept section started */
	/* when the kept section ended; with HV_SECTIONS_STACK, the first stack after it belongs to
	 * this end */
	uint64_t to_head;
	uint64_t nr_no_end; /* sections without an end, because another section started */
	uint64_t unused[5];
};

/* State of one vCPU. Its ring follows. */
struct hv_state {
	/* Bytes ever reserved in the ring, plus the length of the ring. This offset makes the first
	 * lap number 1, so that memory never written does not look like part of it. */
	uint64_t head;
	uint32_t last_pid;    /* pid of the last record */
	uint32_t muted;	      /* written by the host; see HV_MODE_CPUS */
	uint64_t nr_no_stack; /* graph calls without a free return stack */
	uint64_t nr_no_room;  /* graph calls with a full return stack */
	uint64_t nr_no_count; /* calls without room in the profile table */
	uint64_t counts_gva;  /* the vCPU's struct hv_count table; the host sets it at attach */
	uint64_t unused;
	uint64_t nr_no_draft; /* event entries without a free draft, or too long */
	struct hv_sections sections;
};

/* A record in a ring; abi_bits.h describes its fields. */
struct hv_record {
	uint64_t word[4];
};

/* An open call. The trampoline has replaced its return address. */
struct hv_frame {
	/* Location of the return address, or the stack pointer if the call leaves it in a
	 * register. */
	uint64_t retp_gva;
	uint64_t caller_gva; /* the original return address */
	uint64_t tsc;	     /* time of the call */
	/* low half of the address after the site, as an offset from text_base (struct hv_arch) */
	uint32_t function_low;
	uint16_t flags; /* HV_FRAME_* */
	uint16_t depth; /* top bits of word 3 of a record, including the kind HV_RECORD_ENTRY */
};

/* A return stack: the open calls on one kernel stack. Any kernel stack can claim it while it has no
 * frames. Its size is an odd number of half cache lines, which spreads the first lines of all
 * return stacks over the cache sets. */
struct hv_stack {
	/* Base address of the kernel stack, aligned to its size. The low bits hold the length of
	 * all frames (HV_STACK_NR_MASK) and HV_STACK_SLOW. For an interrupt stack, the address is
	 * the aligned block that contains the last word of the stack, and HV_STACK_IRQ is set. */
	uint64_t word;
	uint64_t left_tsc;  /* when the task left the CPU; 0 while it is on a CPU */
	uint64_t own_ticks; /* total own time of profiled calls that returned */
	/* When the task left the CPU: steal time of that vCPU in the unit of `steals`, plus 1. 0
	 * while it is on a CPU. */
	uint64_t left_steal;
	uint64_t unused; /* read by a trampoline as retp of the last frame if there are no frames */
	/* Depth of the first frame, encoded like the upper half of word 3 of an HV_RECORD_ENTRY
	 * record. The host sets it to HV_STACK_DEPTH_0 before any trampoline adds frames. On an
	 * interrupt stack, depth continues from the interrupted stack. */
	uint32_t depth;
	uint32_t inside; /* frames of root functions */
	uint32_t muted;	 /* frames of functions that are excluded along with their callees */
	/* Nonzero: a return did not match the last frame. No frames are added until the stack is
	 * empty. */
	uint32_t stopped;
	uint32_t above;	  /* nonzero: an interrupt stack that interrupted a root function */
	uint32_t overrun; /* calls without room since a kernel stack claimed it */
	struct hv_frame frames[HV_FRAMES_MAX];
	/* Indexed like frames: */
	uint64_t sums[HV_FRAMES_MAX]; /* own_ticks at the start of the call */
	/* With HV_FRAME_HOST: steal time of this vCPU at the start of the call, adjusted as if no
	 * steal time had passed while the task was off the CPU. Low half, in units of 1 <<
	 * HV_STEAL_SHIFT ns. */
	uint32_t steals[HV_FRAMES_MAX];
};

/* Depth 0 in the encoding of struct hv_stack. */
#define HV_STACK_DEPTH_0                                                                           \
	((uint32_t)((uint64_t)HV_RECORD_ENTRY << HV_RECORD_KIND_SHIFT >> HV_RECORD_HIGH))

/* Profile counts of one function on one vCPU. A function uses the first of HV_COUNT_LOOKUPS
 * consecutive buckets from its home bucket that is free or already its own. */
struct hv_count {
	uint32_t function_low; /* as in a frame; 0: free */
	/* With HV_GRAPH_HOST: steal time of the calls that returned, in units of 1 <<
	 * HV_STEAL_SHIFT ns. Saturates at UINT32_MAX. */
	uint32_t host;
	uint64_t hits;	       /* calls */
	uint64_t ticks;	       /* total time of the calls that returned */
	uint64_t squares;      /* sum of the squared times, low half */
	uint64_t squares_high; /* high half */
};

/* Passed to the callback of a guest event in place of its struct trace_event_file. Read-only for
 * the guest. The callback reads only the flags member. Its offset comes from the kernel's types. */
struct hv_event_file {
	uint32_t id;   /* id of the event type */
	uint32_t does; /* HV_EVENT_FILE_STACK; the host can change it at any time */
	/* 0: record all events. Otherwise record only events that pass a filter program. The low 16
	 * bits are the number of the program; the other bits make each value unique. It is 0 while
	 * the program is modified, so an unchanged value proves an unchanged program. With
	 * HV_EVENT_FILE_READS_BIT, it is the number of a fetch program instead. */
	uint64_t filter;
	uint8_t members[112];
};

/* A step of a filter program. The commit trampoline runs it to discard events before they reach the
 * ring. A step takes 8 bytes of the draft at `off`, subtracts `low`, and applies `mask`. It
 * continues with `holds` if the result is at most `span`, and with `fails` otherwise. Programs only
 * jump forward. */
struct hv_filter_step {
	uint16_t off; /* offset in the draft */
	/* HV_FILTER_PASSES, HV_FILTER_DROPS, or the distance to the next step */
	uint16_t holds, fails;
	uint16_t unused;
	uint64_t low, mask, span;
};

/* A buffer where an event callback builds the entry before a trampoline copies it to the ring. */
struct hv_draft {
	/* Takes the place of struct ring_buffer_event, which precedes an entry in the guest's own
	 * ring buffer. Callbacks may look for it there: they see 0 in the low 5 bits of the first
	 * word, so they read the length from the second. */

	/* HV_DRAFT_TAKEN_BIT; during a fetch, also a mark that identifies task and context */
	uint32_t event;
	uint32_t len_bytes; /* length of the entry, at most HV_ENTRY_LEN_MAX */
	uint8_t entry[4088];
};

/* Returns whether graph trampolines can take the plain way: they record every call and every
 * return, and no return values. */
static inline int hv_graph_is_plain(const struct hv_params *p)
{
	uint32_t of_others = HV_GRAPH_OWN_TIME | HV_GRAPH_PROFILE | HV_GRAPH_NO_SLEEP;

	return (p->graph_flags & ~of_others) == HV_GRAPH_RETURNS && p->max_depth == UINT32_MAX &&
	       !p->threshold_ticks;
}

/* Returns whether profile trampolines can take the plain way: the profile is on, and the time of a
 * call includes its callees and steal time. */
static inline int hv_profile_is_plain(const struct hv_params *p)
{
	uint32_t flags = HV_GRAPH_PROFILE | HV_GRAPH_OWN_TIME | HV_GRAPH_HOST;

	return (p->graph_flags & flags) == HV_GRAPH_PROFILE;
}

/* Returns a multiplicative hash of KEY below 1 << HOMES_SHIFT. HOMES_SHIFT must be 1 to 31: the
 * trampolines shift by 32 - HOMES_SHIFT, and the CPU treats a shift by 32 as a shift by 0. */
static inline uint32_t hv_home(uint32_t key, unsigned homes_shift)
{
	return key * HV_STACK_HASH >> (32 - homes_shift);
}

/* Returns the home bucket of the return stack with the word KEY, excluding HV_STACK_NR_MASK and
 * HV_STACK_SLOW. There are 1 << HOMES_SHIFT home buckets. A lookup tries HV_STACK_LOOKUPS buckets
 * from there. */
static inline uint32_t hv_stack_home(uint64_t key, unsigned homes_shift)
{
	return hv_home((uint32_t)key, homes_shift);
}

/* Returns the home bucket of a function's counts. A lookup tries HV_COUNT_LOOKUPS buckets from
 * there. */
static inline uint32_t hv_count_home(uint32_t function_low, unsigned homes_shift)
{
	return hv_home(function_low, homes_shift);
}

/* The layout must match docs/internals/ring.md and have no padding. */
_Static_assert(sizeof(struct hv_params) == 0x38, "params");
_Static_assert(sizeof(struct hv_params) <= HV_KINDS_OFF &&
		       HV_KINDS_OFF + HV_NR_ACTION_GROUPS * sizeof(uint32_t) <=
			       HV_ACTION_GROUPS_OFF,
	       "kinds");
_Static_assert(HV_ACTION_GROUPS_OFF + HV_NR_ACTION_GROUPS * sizeof(struct hv_action_group) <=
		       HV_TRAMPOLINES_CODE_OFF,
	       "action groups");
_Static_assert(sizeof(struct hv_fetch_step) == 16 &&
		       1 << HV_FETCH_STEPS_SHIFT == HV_FETCH_STEPS_MAX,
	       "step");
_Static_assert(sizeof(struct hv_control) == 64 + HV_NR_ACTION_GROUPS * (16 + 4), "control block");
_Static_assert(sizeof(struct hv_section_end) == 40, "end of a section");
_Static_assert(sizeof(struct hv_sections) == 256, "sections");
_Static_assert(sizeof(struct hv_state) == 64 + 256, "state");
_Static_assert(sizeof(struct hv_record) == 32, "record");
_Static_assert(sizeof(struct hv_frame) == 32, "frame");
_Static_assert(sizeof(struct hv_stack) == 64 + HV_FRAMES_MAX * (32 + 8 + 4), "return stack");
_Static_assert(sizeof(struct hv_count) == 40, "count");
_Static_assert(sizeof(struct hv_event_file) == 128, "file of an event");
_Static_assert(sizeof(struct hv_draft) == 4096, "draft");
_Static_assert(HV_FILTER_STEPS_MAX * sizeof(struct hv_filter_step) == 1 << HV_FILTER_SHIFT &&
		       HV_FILTER_PASSES < sizeof(struct hv_filter_step),
	       "filter");
_Static_assert(1 << HV_NR_DRAFTS_SHIFT == HV_NR_DRAFTS, "drafts");
/* A trampoline copies whole records, so it can read beyond an entry, but must not read beyond its
 * draft. */
_Static_assert((HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN) % HV_DATA_LEN == 0 &&
		       HV_ENTRY_LEN_MAX <= sizeof(((struct hv_draft *)0)->entry),
	       "entry");
_Static_assert((HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN) / HV_DATA_LEN == HV_DATA_RECORDS_MAX &&
		       HV_DATA_RECORDS_MAX <= HV_RECORD_DEPTH_MAX,
	       "data of an event");
