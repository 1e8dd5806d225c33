/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flags, limits and offsets of the memory shared by guest and host that do not follow from the
 * structs in ringbuf/abi.h. C and the assembler include this file, so it contains only constants.
 * arch/stub_offsets.c gives the assembler the offsets and sizes of the structs. */
#pragma once

/* The page of the params. Offsets are relative to its start. */
#define HV_KINDS_OFF	  0x400	 /* HV_KIND_* of each slot with HV_SLOT_RETURN, 32 bits */
#define HV_SLOTS_OFF	  0x800	 /* HV_NR_SLOTS of struct hv_slot */
#define HV_STUBS_CODE_OFF 0x1000 /* start of the stub code */
#define HV_STUBS_LEN_MAX  0xf000 /* maximum length of the code */

/* Numbers of the alternatives that arch->link can put in place of instructions in the stubs
 * (docs/internals/stubs.md). */
#define HV_ALT_NO_MIGRATE    1 /* nop if the kernel has no migration-disable count */
#define HV_ALT_LAZY	     2 /* jump if the kernel counts lazy preemption */
#define HV_ALT_JUMP	     3 /* jump if the return handler may jump to the caller */
#define HV_ALT_NO_STEAL	     4 /* nop if the kernel does not know the steal time */
/* other code if the preempt count has 64 bits, with need_resched in the top bit */
#define HV_ALT_WIDE_COUNT    5
/* jump if tasks count soft interrupts (served or disabled) instead of CPUs */
#define HV_ALT_TASK_SOFTIRQS 6
#define HV_ALT_HYPERVISOR    7 /* jump if the per-CPU offset is in the hypervisor's register */
#define HV_ALT_HOST_CLOCK    8 /* jump if the kernel's clock is the physical counter */
/* a prefix without effect replaces the lock prefix if no task migrates while it is in a stub
 * (struct hv_tracee) */
#define HV_ALT_UNLOCKED	     9
/* Flag, combined with an HV_ALT_*: link() overwrites the instructions with the code at the target,
 * instead of writing a jump or a nop. */
#define HV_ALT_COPIED	     0x100

/* struct hv_control: mode. 0, the common case, records every call. */
#define HV_MODE_OFF	   1 /* tracing_on is 0: record nothing */
#define HV_MODE_OFF_BIT	   0
#define HV_MODE_PAUSED	   2 /* record nothing for now; independent of HV_MODE_OFF */
#define HV_MODE_PAUSED_BIT 1
#define HV_MODE_SILENT	   (HV_MODE_OFF | HV_MODE_PAUSED) /* mask of both */
#define HV_MODE_CPUS	   4 /* record nothing on vCPUs whose hv_state.muted is set */
#define HV_MODE_CPUS_BIT   2
#define HV_MODE_PID_FILTER 8 /* record only pids that are set in the pid bitmap */

/* struct hv_control: sections */
#define HV_SECTIONS_ON	    1 /* measure sections */
#define HV_SECTIONS_FIXED   2 /* keeping a section does not raise `longest` */
/* Kinds of sections: preemption or interrupts disabled. With both flags, either of them. */
#define HV_SECTIONS_PREEMPT 4
#define HV_SECTIONS_IRQS    8
#define HV_SECTIONS_STACK   16 /* record the stack at the end of a section that is kept */
#define HV_SECTIONS_LOG	    32 /* record both ends of every section */

/* struct hv_slot: does. struct hv_left limits how often COUNTED actions run. */
#define HV_NR_SLOTS	      128
#define HV_SLOT_ON	      1 /* switch recording on */
#define HV_SLOT_OFF	      2 /* switch recording off */
#define HV_SLOT_ON_COUNTED    4
#define HV_SLOT_OFF_COUNTED   8
#define HV_SLOT_STACK	      16 /* record the stack */
#define HV_SLOT_STACK_BIT     4
#define HV_SLOT_STACK_COUNTED 32
#define HV_SLOT_TELL	      64 /* write a record that informs the host about the call */
#define HV_SLOT_TELL_COUNTED  128
#define HV_SLOT_REGS	      256  /* record the registers of the call, for probes */
#define HV_SLOT_FETCH	      512  /* HV_SLOT_REGS and the results of the slot's fetch program */
#define HV_SLOT_RETURN	      1024 /* record the registers at the return, for return probes */
/* HV_SLOT_RETURN and its fetch program results, from the step at HV_SLOT_STEP_SHIFT */
#define HV_SLOT_RETURN_FETCH  2048
#define HV_SLOT_RETURN_ARGS   4096 /* HV_SLOT_RETURN and the arguments of the call */
#define HV_SLOT_STEP_SHIFT    24   /* number of the first step for the return */
/* The first argument of the function is a task. Sets the bit of that task in the pid bitmap: */
#define HV_SLOT_PID_INHERITS  0x2000 /* to the bit of the current task, which forked it */
#define HV_SLOT_PID_CLEARS    0x4000 /* to 0 */
#define HV_SLOT_PID_SETS      0x8000 /* to 1 */
/* Replaces HV_SLOT_REGS if sites call the entries that save all registers. */
#define HV_SLOT_ALL_REGS      0x10000
/* Record the stack if it is the deepest so far (hv_control.deepest), even while recording is
 * off. */
#define HV_SLOT_DEEPEST	      0x20000

/* How long a hibernating guest waits for the host: number of waits, and duration of each. */
#define HV_HIBERNATION_WAITS   1500
#define HV_HIBERNATION_WAIT_MS 20

/* struct hv_params: graph_flags. A change also applies to returns of open frames. */
#define HV_GRAPH_RETURNS    1 /* the tracer is on: record returns */
#define HV_GRAPH_NO_ENTRIES 2 /* a threshold is set: record returns only */
#define HV_GRAPH_SUBTREE    4 /* record only the callees of root functions */
#define HV_GRAPH_RETVAL	    8 /* also record return values */
/* skip calls in hard interrupts unless they are below a root function */
#define HV_GRAPH_NO_IRQS    16
#define HV_GRAPH_PROFILE    32	/* count calls */
#define HV_GRAPH_OWN_TIME   64	/* profile: exclude the time of callees */
#define HV_GRAPH_NO_SLEEP   128 /* exclude the time that the task was off the CPU */
/* Also record the steal time during a call, and exclude it from thresholds and the profile. */
#define HV_GRAPH_HOST	    256
/* struct hv_params: profile_mode */
#define HV_PROFILE_PLAIN    1 /* count calls, including the time of callees */

/* struct hv_stack */
#define HV_FRAMES_MAX	    120
#define HV_EVENT_FILE_STACK 1 /* record the stack after each event */

#define HV_STACK_NR_MASK 0xfff	/* in `word`: total length of the frames */
#define HV_STACK_SLOW	 0x1000 /* in `word`: take the general way */
#define HV_STACK_IRQ	 0x2000 /* in `word`: this is an interrupt stack */
/* a return stack stores steal times in units of 1 << HV_STEAL_SHIFT ns */
#define HV_STEAL_SHIFT	 10
#define HV_STACK_PROBES	 4	    /* number of buckets to try for a kernel stack */
#define HV_STACK_HASH	 0x9e3779b1 /* see hv_stack_home() and hv_count_home() */

/* struct hv_frame: flags */
#define HV_FRAME_ROOT	     1	 /* counted in `inside` of the return stack */
#define HV_FRAME_MUTES	     2	 /* counted in `muted`; the call is not recorded */
#define HV_FRAME_PROFILED    4	 /* counted in the profile */
#define HV_FRAME_QUIET	     8	 /* counted in the profile but not recorded */
#define HV_FRAME_OWN_TIME    16	 /* its profile time excludes callees */
#define HV_FRAME_PROBED	     32	 /* record the registers at the return, as the slot specifies */
#define HV_FRAME_HOST	     64	 /* `steals` of the return stack is valid for this frame */
#define HV_FRAME_ARGS	     128 /* HV_FRAME_ARGS_NR frames before it hold the arguments */
#define HV_FRAME_PROBE_SHIFT 8	 /* slot number, with HV_FRAME_PROBED */
/* Frames that hold arguments, two in each: in caller_gva, and in `sums` of the return stack. Their
 * slot_gva is 0, which no call has. */
#define HV_FRAME_ARGS_NR     3

/* Kind of a call. The low byte contains the initial HV_FRAME_* flags of its frame. */
#define HV_KIND_NEW_TASK   0x100  /* a new task starts: discard old frames of its stack */
#define HV_KIND_LEAVES	   0x200  /* the task is about to leave the CPU */
#define HV_KIND_ARRIVES	   0x400  /* the task is back on a CPU */
#define HV_KIND_FUNCTION   0x800  /* write a record of the function tracer */
#define HV_KIND_UNTRACED   0x1000 /* the call is not part of a graph */
#define HV_KIND_SLOT_SHIFT 16	  /* slot number, with HV_FRAME_PROBED */

/* struct hv_draft */
#define HV_NR_DRAFTS	   4 /* per vCPU: for a task, soft and hard interrupts, and NMIs */
#define HV_NR_DRAFTS_SHIFT 2
#define HV_DRAFT_TAKEN_BIT 31	/* in `event`: a callback or a stub is using the draft */
#define HV_ENTRY_LEN_MAX   4088 /* maximum length of an event's entry */

/* struct hv_filter_step: the next step, as a distance in bytes, or a result: */
#define HV_FILTER_DROPS	    0 /* discard the event */
#define HV_FILTER_PASSES    1 /* record the event */
#define HV_FILTER_STEPS_MAX 8 /* per program */
#define HV_FILTER_SHIFT	    8 /* log2 of the length of a program */

/* struct hv_event_file: `filter` is the number of a fetch program (struct hv_fetch_step) */
#define HV_EVENT_FILE_READS_BIT 63

/* struct hv_fetch_step: does. A reading step is HV_FETCH_READS combined with the flags after it. It
 * reads at the current value plus the step's value. */
#define HV_FETCH_STEPS_MAX   128 /* per slot or event */
#define HV_FETCH_STEPS_SHIFT 7
#define HV_FETCH_END	     0 /* end of the program */
/* current value := a word of the entry; faults if the entry is shorter */
#define HV_FETCH_WORD	     1
#define HV_FETCH_NUMBER	     2 /* current value := the step's value */
/* current value := 8 bytes of the draft at the step's value, shifted left and back right by the low
 * six bits of the step's length; sign-extended if the length has HV_FETCH_SIGNED */
#define HV_FETCH_FIELD	     4
#define HV_FETCH_SIGNED	     64
#define HV_FETCH_IS	     5 /* fault unless the current value equals the step's value */
/* fault unless bit (current value - the step's length) is set in the step's value */
#define HV_FETCH_IN	     6
/* limit the length of the next reading step to the current value */
#define HV_FETCH_MOST	     7
#define HV_FETCH_READS	     8 /* current value := 8 bytes at the address */
/* the address is in user space, even if its value looks like a kernel address */
#define HV_FETCH_USER	     16
#define HV_FETCH_KEEPS	     32 /* result := bytes at the address */
#define HV_FETCH_STRING	     64 /* result := the string at the address, with its NUL */
/* A result: tag, length (HV_FETCH_FAULT if a step faulted), bytes, and padding to
 * HV_FETCH_ALIGN. */
#define HV_FETCH_HEAD	     8
#define HV_FETCH_ALIGN	     8
#define HV_FETCH_FAULT	     0xffffffff

/* struct hv_count */
#define HV_COUNT_PROBES 32 /* number of buckets to try for a function */
