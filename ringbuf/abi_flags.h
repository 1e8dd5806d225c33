/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flags, limits and places of the memory that guest and host share: the numbers of ringbuf/abi.h
 * that do not follow from its structs. C and the assembler include this file, so it has constants
 * only. The offsets and sizes of the structs' fields reach the assembler by arch/stub_offsets.c. */
#pragma once

/* The page of the params. Offsets are from the first byte of the params. */
#define HV_KINDS_OFF	  0x400	 /* for each slot with HV_SLOT_RETURN: HV_KIND_*, 32 bits */
#define HV_SLOTS_OFF	  0x800	 /* HV_NR_SLOTS times struct hv_slot */
#define HV_STUBS_CODE_OFF 0x1000 /* the first byte of the stubs' code */
#define HV_STUBS_LEN_MAX  0xf000 /* of the code */

/* Numbers of alternatives: what arch->link puts in place of some instructions of the stubs
 * (docs/internals/stubs.md). */
#define HV_ALT_NO_MIGRATE 1 /* a nop: the kernel does not count what disables migration */
#define HV_ALT_LAZY	  2 /* a jump: the kernel counts lazy preemption */
#define HV_ALT_JUMP	  3 /* a jump: the return handler may jump to the caller's address */
#define HV_ALT_NO_STEAL	  4 /* a nop: the kernel does not know for how long the host stopped it */
#define HV_ALT_WIDE_COUNT                                                                          \
	5 /* a jump or others: the preempt count has 64 bits, the top one for need_resched */
#define HV_ALT_TASK_SOFTIRQS                                                                       \
	6 /* a jump: tasks, not CPUs, count soft interrupts, served or switched off */
#define HV_ALT_HYPERVISOR                                                                          \
	7 /* a jump: a CPU's offset is in the register that a hypervisor has for it */
#define HV_ALT_HOST_CLOCK                                                                          \
	8 /* a jump: the kernel's clock is the counter that its guests do not see */
#define HV_ALT_UNLOCKED                                                                            \
	9 /* another prefix: no task goes to another CPU in the stubs (struct hv_tracee) */
/* With the number: what is in the target takes the place of as many bytes. */
#define HV_ALT_COPIED 0x100

/* struct hv_control: mode. 0 is the common case: record every call. */
#define HV_MODE_OFF	   1 /* tracing_on is 0: record nothing */
#define HV_MODE_OFF_BIT	   0
#define HV_MODE_PAUSED	   2 /* record nothing for now, whatever HV_MODE_OFF becomes meanwhile */
#define HV_MODE_PAUSED_BIT 1
#define HV_MODE_SILENT	   (HV_MODE_OFF | HV_MODE_PAUSED) /* either of them */
#define HV_MODE_CPUS	   4 /* record nothing on vCPUs whose state is muted */
#define HV_MODE_CPUS_BIT   2
#define HV_MODE_PID_FILTER 8 /* record only pids whose bit in the pid bitmap is set */

/* struct hv_control: sections */
#define HV_SECTIONS_ON	    1 /* sections are measured */
#define HV_SECTIONS_FIXED   2 /* a section that is kept does not make "longest" longer */
/* What is off in a section. With both, one of them is. */
#define HV_SECTIONS_PREEMPT 4
#define HV_SECTIONS_IRQS    8
#define HV_SECTIONS_STACK   16 /* when a section is kept, the stack of its end is recorded */
#define HV_SECTIONS_LOG	    32 /* the ends of every section are recorded */

/* struct hv_slot: does. COUNTED actions happen as often as struct hv_left says. */
#define HV_NR_SLOTS	      128
#define HV_SLOT_ON	      1 /* switch recording on */
#define HV_SLOT_OFF	      2 /* switch recording off */
#define HV_SLOT_ON_COUNTED    4
#define HV_SLOT_OFF_COUNTED   8
#define HV_SLOT_STACK	      16 /* record the stack */
#define HV_SLOT_STACK_BIT     4
#define HV_SLOT_STACK_COUNTED 32
#define HV_SLOT_TELL	      64 /* write a record that tells the host about the call */
#define HV_SLOT_TELL_COUNTED  128
#define HV_SLOT_REGS	      256  /* record the registers of the call, for probes */
#define HV_SLOT_FETCH	      512  /* likewise; and what the slot's program reads */
#define HV_SLOT_RETURN	      1024 /* record the registers of the return, for return probes */
#define HV_SLOT_RETURN_FETCH  2048 /* likewise; and what the program reads from its step */
#define HV_SLOT_RETURN_ARGS   4096 /* likewise, of HV_SLOT_RETURN; and what it was called with */
#define HV_SLOT_STEP_SHIFT    24   /* number of the step with which the return's part begins */
/* The function's first argument is a task. Its bit in the pid bitmap becomes: */
#define HV_SLOT_PID_INHERITS  0x2000 /* the current task's bit: that task forked it */
#define HV_SLOT_PID_CLEARS    0x4000 /* 0 */
#define HV_SLOT_PID_SETS      0x8000 /* 1 */
/* Instead of HV_SLOT_REGS: sites call the entries for all registers. */
#define HV_SLOT_ALL_REGS      0x10000
/* Record the stack, also while recording is off, if the task's stack is deeper than it ever was
 * (struct hv_control). */
#define HV_SLOT_DEEPEST	      0x20000

/* How long a guest that hibernates waits for the host: so many times so long. */
#define HV_HIBERNATION_WAITS   1500
#define HV_HIBERNATION_WAIT_MS 20

/* struct hv_params: graph_flags. When a flag changes, frames that are already open end by the new
 * flags. */
#define HV_GRAPH_RETURNS    1  /* the tracer is on: record returns */
#define HV_GRAPH_NO_ENTRIES 2  /* there is a threshold: record returns only */
#define HV_GRAPH_SUBTREE    4  /* record only what a root function calls */
#define HV_GRAPH_RETVAL	    8  /* record also what functions return */
#define HV_GRAPH_NO_IRQS    16 /* leave out calls in hard interrupts unless below a root function */
#define HV_GRAPH_PROFILE    32 /* count calls */
#define HV_GRAPH_OWN_TIME   64 /* profile: a call's time does not include the calls that it makes */
#define HV_GRAPH_NO_SLEEP   128 /* times do not include the time for which a task was off the CPU */
#define HV_GRAPH_HOST                                                                              \
	256 /* record also for how long the host did not run the vCPU in a call.                   \
	     * This time does not count for the threshold and in a profile */

/* struct hv_params: profile_mode */
#define HV_PROFILE_PLAIN 1 /* count calls, and a call's time includes the calls that it makes */

/* struct hv_stack */
#define HV_FRAMES_MAX	    120
#define HV_EVENT_FILE_STACK 1 /* the stack is recorded behind each event */

#define HV_STACK_NR_MASK 0xfff	/* of the word: the number of frames, times their length */
#define HV_STACK_SLOW	 0x1000 /* of the word: calls and returns take the general way */
#define HV_STACK_IRQ	 0x2000 /* of the word: it is an interrupt stack's */
#define HV_STEAL_SHIFT	 10	/* of ns, in which a return stack keeps steal times */
#define HV_STACK_PROBES	 4 /* consecutive places that a kernel stack's return stack can be in */
#define HV_STACK_HASH	 0x9e3779b1 /* see hv_stack_home() and hv_count_home() */

/* struct hv_frame: flags */
#define HV_FRAME_ROOT	     1	/* counts in the return stack's "inside" */
#define HV_FRAME_MUTES	     2	/* counts in the return stack's "muted"; the call is not recorded */
#define HV_FRAME_PROFILED    4	/* the call counts in a profile */
#define HV_FRAME_QUIET	     8	/* the call counts in a profile only; it is not recorded */
#define HV_FRAME_OWN_TIME    16 /* the profile counts its time without that of the calls in it */
#define HV_FRAME_PROBED	     32 /* the return is recorded with its registers, as a slot says */
#define HV_FRAME_HOST	     64 /* the return stack's steals has the steal time of its call */
#define HV_FRAME_ARGS	     128 /* HV_FRAME_ARGS_NR frames before it have what it was called with */
#define HV_FRAME_PROBE_SHIFT 8	 /* number of the slot, with HV_FRAME_PROBED */
/* Frames that have arguments, two in each: in the place of the caller, and in the return stack's
 * sum. Their slot is 0, which is that of no call. */
#define HV_FRAME_ARGS_NR     3

/* What a call does, beside the low byte of HV_FRAME_* with which its frame begins. */
#define HV_KIND_NEW_TASK   0x100  /* a new task begins: drop the frames that its stack had before */
#define HV_KIND_LEAVES	   0x200  /* the task is about to leave the CPU */
#define HV_KIND_ARRIVES	   0x400  /* the task is back on a CPU */
#define HV_KIND_FUNCTION   0x800  /* write a record of the function tracer */
#define HV_KIND_UNTRACED   0x1000 /* the call is not part of a graph */
#define HV_KIND_SLOT_SHIFT 16	  /* with HV_FRAME_PROBED: number of the slot */

/* struct hv_draft */
#define HV_NR_DRAFTS	   4 /* of a vCPU: a task, and what interrupts it */
#define HV_NR_DRAFTS_SHIFT 2
#define HV_DRAFT_TAKEN_BIT 31	/* of its first word: a probe fills, or a stub records, the draft */
#define HV_ENTRY_LEN_MAX   4088 /* of an event */

/* struct hv_filter_step: what comes next, as a distance in bytes; or the result: */
#define HV_FILTER_DROPS	    0 /* the event is not recorded */
#define HV_FILTER_PASSES    1 /* it is */
#define HV_FILTER_STEPS_MAX 8 /* of a program */
#define HV_FILTER_SHIFT	    8 /* of the length of a program */

/* struct hv_event_file: the program is no filter, but reads memory (struct hv_fetch_step) */
#define HV_EVENT_FILE_READS_BIT 63

/* struct hv_fetch_step: what it does. A step that reads is HV_FETCH_READS and any of the others.
 * The address is that of the present value, plus the step's. */
#define HV_FETCH_STEPS_MAX   128 /* of a slot, or of an event */
#define HV_FETCH_STEPS_SHIFT 7
#define HV_FETCH_END	     0 /* the program ends */
/* the present value := a word of the entry; as if it could not read, if the entry has fewer: */
#define HV_FETCH_WORD	     1
#define HV_FETCH_NUMBER	     2 /* the present value := the step's */
/* the present value := the eight bytes at the step's value in the draft, shifted to the left by the
 * low six bits of its length, and back again, with the sign if HV_FETCH_SIGNED is in the length: */
#define HV_FETCH_FIELD	     4
#define HV_FETCH_SIGNED	     64
#define HV_FETCH_IS	     5 /* the present value is not the step's: as if it could not read */
/* the present value, less the step's length, is not the number of a bit that is set in the step's
 * value: as if it could not read */
#define HV_FETCH_IN	     6
/* the next step that reads keeps at most as many bytes as the present value */
#define HV_FETCH_MOST	     7
#define HV_FETCH_READS	     8	/* the present value := the eight bytes at the address */
#define HV_FETCH_USER	     16 /* the address is of user space, also if it does not look so */
#define HV_FETCH_KEEPS	     32 /* a result := bytes from the address on */
#define HV_FETCH_STRING	     64 /* a result := the string at the address, with its NUL */
/* A result: its tag, its length (HV_FETCH_FAULT: it could not be read), its bytes, and bytes of no
 * meaning up to the next multiple of the align. */
#define HV_FETCH_HEAD	     8
#define HV_FETCH_ALIGN	     8
#define HV_FETCH_FAULT	     0xffffffff

/* struct hv_count */
#define HV_COUNT_PROBES 32 /* consecutive places that a function's counts can be in */
