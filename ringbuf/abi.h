/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that guest and host share: parameters that the stubs read, and state and records that
 * they write. The structs here are the layout. C uses them as they are; the assembler gets their
 * offsets and sizes from arch/stub_offsets.c. abi_flags.h has the flags and limits, record_bits.h
 * says where things are in a record. What a stub has to know and what does not change while a
 * session lasts is not here: it is linked into the stub's code (struct hv_stub_values in
 * arch/arch.h). Where each part lies in the region is patcher/region.h's.
 *
 *   page of the params               one block a vCPU: its state, then its ring of nr_slots
 *   (the guest may only read it)
 *                                    struct hv_state         +--------+--------+--------+---
 *   0x000   struct hv_params            head: (18 + 8) * 32  | p = 16 | p = 17 | p = 10 |  ...
 *   0x400   kinds of slots
 *   0x800   struct hv_slot, 128 of                           +--------+--------+--------+---
 *           them                     struct hv_record at position p is in slot p % nr_slots
 *   0x1000  code of the stubs        (nr_slots is 8 here)
 *
 *   control block     return stacks: each serves       counts of the profile:
 *                     one kernel stack at a time       one table a vCPU
 *
 *   struct hv_control struct hv_stack                  struct hv_count
 *                       120 struct hv_frame
 *
 * The guest cannot write the page of the params, but everything else, at any time: the host checks
 * whatever it reads there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi_flags.h"
#include "ringbuf/record_bits.h"

/* What the host changes while stubs run. Each field is one aligned word, but for yield_nop, which
 * the host writes before the guest's ftrace can ask for it. */
struct hv_params {
	uint32_t graph_flags;	  /* HV_GRAPH_* */
	uint32_t max_depth;	  /* deeper calls of a kernel stack are not traced */
	uint64_t threshold_ticks; /* of the tsc; shorter calls are not recorded; 0: all are */
	uint32_t profile_mode;	  /* HV_PROFILE_PLAIN: calls that only the profile counts may take
				   * the plain way */
	uint32_t unused;
	uint64_t yield_reader_gva; /* the function by which the guest's ftrace reads a site:
				    * (to, from, bytes), 0 when it succeeds */
	uint8_t yield_nop[8];  /* what a site had before it was changed, for the guest's ftrace */
	uint64_t sleep_gva;    /* the function by which a guest that hibernates waits: it takes the
				* time in milliseconds */
	uint64_t ticks_per_ns; /* of the tsc, times 2^32 */
};

/* What an entry of the stubs does when a site calls it, before the call goes on. */
struct hv_slot {
	uint32_t does;	  /* HV_SLOT_* */
	uint32_t goes_on; /* offset from the params of the stub that comes next; 0: none */
};

/* A step of the program of a slot or of an event, by which the stub reads memory for a probe. Its
 * results follow the registers in the entry of the call, or the entry of the event. If a step
 * cannot read, the rest of the steps that have its tag are left out. */
struct hv_fetch_step {
	uint8_t does; /* HV_FETCH_* */
	uint8_t unused;
	uint16_t len_bytes; /* of a result; of a string: at most */
	uint32_t tag;	    /* of the result that it is for */
	uint64_t value;
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
	uint32_t mode;	     /* HV_MODE_* */
	uint32_t graph_mode; /* not 0: a graph's calls and returns take the general way, which
			      * looks at the params */
	uint32_t looks;	     /* how often the guest's ftrace has read a site since attach */
	uint32_t hibernates; /* how often the guest has waited since it began to hibernate; 0: it
			      * does not */
	uint32_t sections;   /* HV_SECTIONS_* */
	uint32_t unused;
	uint64_t deepest; /* bytes: calls with HV_SLOT_DEEPEST that are deeper are recorded. Two
			   * vCPUs, or an interrupt, may make it less deep than what was recorded */
	uint32_t unused_more[8];
	struct hv_left left[HV_NR_SLOTS];
	uint32_t missed[HV_NR_SLOTS]; /* calls whose returns a slot's probe did not get */
};

/* Where a section begins or ends: a time in which preemption is off, or interrupts are. */
struct hv_section_end {
	uint64_t tsc;
	uint32_t place;	 /* low half of the address to which the stub returned, in a detour */
	uint32_t caller; /* low half of the address that the function returns to; 0: not known */
	uint32_t pid;
	uint32_t preempt_count;
	uint32_t cpu_flags;    /* low half */
	uint32_t thread_flags; /* the byte of them that records have */
	uint64_t steal_ns;     /* for how long the host has not run this vCPU, in all */
};

/* The sections of one vCPU. The guest writes all of it, the host LONGEST. */
struct hv_sections {
	struct hv_section_end open; /* tsc 0: no section is open, or none that is measured */
	uint64_t longest;	    /* ticks in which the vCPU ran; only longer sections are kept */
	uint32_t seq;		    /* odd while the following is written */
	uint32_t idle; /* not 0: the CPU is in its idle loop, unless another task than the idle one
			* runs. The host sets it before it measures, the guest where a section
			* begins that is not measured: an end without a beginning counts only if
			* this is 0 */
	uint64_t nr_no_begin; /* ends that found no section open */
	uint64_t nr_stolen; /* sections that were longer only by time in which the host did not run
			     * the vCPU */
	struct hv_section_end from, to; /* the section that was kept last */
	/* Of the task that it ended in: */
	char comm[16];
	uint32_t uid;
	uint32_t static_prio; /* nice + 120 */
	uint32_t policy;
	uint32_t rt_priority;
	/* Heads of the vCPU's ring (struct hv_state): */
	uint64_t open_head; /* when the open section began */
	uint64_t from_head; /* likewise of the section that was kept */
	uint64_t to_head;   /* when that ended. With HV_SECTIONS_STACK the stack of its end is the
			     * first one there */
	uint64_t nr_no_end; /* sections whose end was not seen: another one began */
	uint64_t unused[5];
};

/* Of one vCPU. The ring follows it. */
struct hv_state {
	uint64_t head; /* the ring's length and the lengths of all records that were ever reserved
			* in it, in bytes. It begins with the ring's length so that the first lap
			* has the number 1: memory that was never written is not of that lap */
	uint32_t last_pid;    /* whose record was written last */
	uint32_t muted;	      /* the host writes it; not 0: see HV_MODE_CPUS */
	uint64_t nr_no_stack; /* calls of a graph that found no return stack free */
	uint64_t nr_no_room;  /* calls of a graph whose return stack was full */
	uint64_t nr_no_count; /* calls for which a profile's table had no place */
	uint64_t counts_gva;  /* of the vCPU's struct hv_count; the host writes it at attach */
	uint64_t unused;
	uint64_t nr_no_draft; /* entries of events that found no draft free or are too long */
	struct hv_sections sections;
};

/* A record of a ring: record_bits.h. */
struct hv_record {
	uint64_t word[4];
};

/* A call that is open: the stub has replaced the return address. */
struct hv_frame {
	uint64_t slot_gva;   /* where the return address is; if a call leaves it in a register, the
			      * stack pointer */
	uint64_t caller_gva; /* what the return address was */
	uint64_t tsc;	     /* of the call */
	uint32_t function_low; /* low half of the address that follows the site, as an offset from
				* text_base (struct hv_arch) */
	uint16_t flags;	       /* HV_FRAME_* */
	uint16_t depth; /* with the kind HV_RECORD_ENTRY, as the top bits of a record's word 3 */
};

/* A return stack: the open calls on one kernel stack. While it has no frames, any kernel stack may
 * take it. Its size is an odd number of halves of a cache line, so that the first lines of all
 * return stacks are not in the same few sets of the cache. */
struct hv_stack {
	uint64_t word;	     /* address of the kernel stack, aligned to its size; its low bits are
			      * the number of frames times their length (HV_STACK_NR_MASK) and
			      * HV_STACK_SLOW. For an interrupt stack the address is that of the aligned
			      * block that has its last word, and HV_STACK_IRQ is set */
	uint64_t left_tsc;   /* when the task left the CPU; 0: it did not, or it is back */
	uint64_t own_ticks;  /* sum of the own time of all profiled calls that returned */
	uint64_t left_steal; /* 1 more than the steal time of the vCPU which the task left, as in
			      * STEALS; 0: it did not, or it is back */
	uint64_t unused;     /* a stub that meets no frames reads here for the slot of the last */
	uint32_t depth;	 /* of the first frame, in the form of the upper half of word 3 of a record
			  * of kind HV_RECORD_ENTRY. The host sets it to HV_STACK_DEPTH_0 before
			  * any stub adds frames. On an interrupt stack it continues the depth of
			  * what was interrupted */
	uint32_t inside; /* how many frames are of root functions */
	uint32_t muted;	 /* how many frames are of functions that are left out with all they call */
	uint32_t stopped; /* not 0: a function returned that was not the last frame's. No frames
			   * are added until there are none left */
	uint32_t above;	  /* not 0: this is an interrupt stack, and what was interrupted is in a
			   * root function */
	uint32_t overrun; /* calls that found no room since a kernel stack took this one */
	struct hv_frame frames[HV_FRAMES_MAX];
	/* For each frame: */
	uint64_t sums[HV_FRAMES_MAX];	/* own_ticks when the call began */
	uint32_t steals[HV_FRAMES_MAX]; /* with HV_FRAME_HOST: what the steal time of this vCPU
					 * would have been when the call began, if the host had run
					 * each vCPU while the task was not on it; in units of
					 * 1 << HV_STEAL_SHIFT ns, low half */
};

/* Depth 0 in the form that a return stack has it in. */
#define HV_STACK_DEPTH_0                                                                           \
	((uint32_t)((uint64_t)HV_RECORD_ENTRY << HV_RECORD_KIND_SHIFT >> HV_RECORD_HIGH))

/* What a profile has counted of one function on one vCPU. The function is in the first place, of
 * HV_COUNT_PROBES from its home on, that is its own or free. */
struct hv_count {
	uint32_t function_low; /* as in a frame; 0: this place is free */
	/* With HV_GRAPH_HOST: for how long of the calls that returned the host did not run the
	 * vCPU, in units of HV_STEAL_SHIFT. What is more than it can hold stays UINT32_MAX. */
	uint32_t host;
	uint64_t hits;	       /* calls */
	uint64_t ticks;	       /* sum over the calls that returned */
	uint64_t squares;      /* sum of the squares of their ticks, low half */
	uint64_t squares_high; /* high half */
};

/* Stands for the guest's struct trace_event_file when an event is recorded from outside: the data
 * of its probe. The guest may only read it. It reads no other member than the flags, whose place
 * the kernel's types tell. */
struct hv_event_file {
	uint32_t id;   /* of the event's type */
	uint32_t does; /* HV_EVENT_FILE_STACK, which the host may change at any time */
	/* 0: all its events are recorded. Else those that a program of filters lets pass: its low
	 * 16 bits are the number of the program, and the others have never had the same value
	 * before. It is 0 while the program is written. So if it is what it was, the program was,
	 * too. With HV_EVENT_FILE_READS_BIT it is the number of a program that reads memory. */
	uint64_t filter;
	uint8_t members[112];
};

/* A step of a program by which the stub of commit leaves out events before they are in the ring: it
 * compares a number of the entry. The eight bytes at OFF, less LOW, of which the bits of MASK
 * count, are at most SPAN: then HOLDS, else FAILS. Programs only lead forward. */
struct hv_filter_step {
	uint16_t off;	       /* in the draft */
	uint16_t holds, fails; /* HV_FILTER_PASSES, HV_FILTER_DROPS, or how far away the next step
				* is */
	uint16_t unused;
	uint64_t low, mask, span;
};

/* Where a probe fills the entry of an event, before a stub puts it into the ring. */
struct hv_draft {
	/* What is before an entry in the guest's own ring buffer: its probes may look for the entry
	 * behind a struct ring_buffer_event, which is 0 and then the length here: of the first word
	 * only the low 5 bits say so. */
	uint32_t event;	    /* HV_DRAFT_TAKEN_BIT; while memory is read for it also what marks the
			     * context that it is of */
	uint32_t len_bytes; /* of the entry, at most HV_ENTRY_LEN_MAX */
	uint8_t entry[4088];
};

/* Whether the stubs of a graph may take the plain way: every call and every return is recorded, and
 * a return without what the function returned. */
static inline int hv_graph_is_plain(const struct hv_params *p)
{
	uint32_t of_others = HV_GRAPH_OWN_TIME | HV_GRAPH_PROFILE | HV_GRAPH_NO_SLEEP;

	return (p->graph_flags & ~of_others) == HV_GRAPH_RETURNS && p->max_depth == UINT32_MAX &&
	       !p->threshold_ticks;
}

/* Whether the stubs of a profile may take the plain way: the profile is on, and a call's time
 * includes the calls that it makes and the time of the host. */
static inline int hv_profile_is_plain(const struct hv_params *p)
{
	uint32_t flags = HV_GRAPH_PROFILE | HV_GRAPH_OWN_TIME | HV_GRAPH_HOST;

	return (p->graph_flags & flags) == HV_GRAPH_PROFILE;
}

/* A number below 1 << HOMES_SHIFT, by a multiplicative hash of KEY. HOMES_SHIFT: 1 to 31. The stubs
 * shift by 32 - HOMES_SHIFT, and the CPU takes a shift by 32 for one by 0. */
static inline uint32_t hv_home(uint32_t key, unsigned homes_shift)
{
	return key * HV_STACK_HASH >> (32 - homes_shift);
}

/* The first place to look for the return stack that has KEY as its word, without HV_STACK_NR_MASK
 * and HV_STACK_SLOW. There are 1 << HOMES_SHIFT first places. The other HV_STACK_PROBES - 1 places
 * of a key follow its first one. */
static inline uint32_t hv_stack_home(uint64_t key, unsigned homes_shift)
{
	return hv_home((uint32_t)key, homes_shift);
}

/* The first place to look for the counts of a function, likewise. The other HV_COUNT_PROBES - 1
 * places follow it. */
static inline uint32_t hv_count_home(uint32_t function_low, unsigned homes_shift)
{
	return hv_home(function_low, homes_shift);
}

/* The offsets in the comments and in docs/internals/ring.md, and no padding. */
_Static_assert(sizeof(struct hv_params) == 0x38, "params");
_Static_assert(sizeof(struct hv_params) <= HV_KINDS_OFF &&
		       HV_KINDS_OFF + HV_NR_SLOTS * sizeof(uint32_t) <= HV_SLOTS_OFF,
	       "kinds");
_Static_assert(HV_SLOTS_OFF + HV_NR_SLOTS * sizeof(struct hv_slot) <= HV_STUBS_CODE_OFF, "slots");
_Static_assert(sizeof(struct hv_fetch_step) == 16 &&
		       1 << HV_FETCH_STEPS_SHIFT == HV_FETCH_STEPS_MAX,
	       "step");
_Static_assert(sizeof(struct hv_control) == 64 + HV_NR_SLOTS * (16 + 4), "control block");
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
/* A stub copies whole records: it reads behind an entry, but not behind its draft. */
_Static_assert((HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN) % HV_DATA_LEN == 0 &&
		       HV_ENTRY_LEN_MAX <= sizeof(((struct hv_draft *)0)->entry),
	       "entry");
_Static_assert((HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN) / HV_DATA_LEN == HV_DATA_RECORDS_MAX &&
		       HV_DATA_RECORDS_MAX <= HV_RECORD_DEPTH_MAX,
	       "data of an event");
