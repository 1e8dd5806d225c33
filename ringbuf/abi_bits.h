/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants of the memory shared by guest and host that do not follow from the structs in
 * ringbuf/abi.h: flags, limits, offsets, and the fields of a record. C and the assembler include
 * this file, so it contains only constants. arch/trampoline_offsets.c gives the assembler the
 * offsets and sizes of the structs. */
#pragma once

/* -- flags, limits, offsets -------------------------------------------------------------------- */

/* The page of the params. Offsets are relative to its start. */
#define HV_KINDS_OFF		0x400  /* HV_KIND_* of each group with HV_DOES_RETURN, 32 bits */
#define HV_ACTION_GROUPS_OFF	0x800  /* HV_NR_ACTION_GROUPS of struct hv_action_group */
#define HV_TRAMPOLINES_CODE_OFF 0x1000 /* start of the trampoline code */
#define HV_TRAMPOLINES_LEN_MAX	0xf000 /* maximum length of the code */

/* Numbers of the alternatives that arch->link can put in place of instructions in the trampolines
 * (docs/internals/trampolines.md). */
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
/* a prefix without effect replaces the lock prefix if no task migrates while it is in a trampoline
 * (struct hv_tracee) */
#define HV_ALT_UNLOCKED	     9
#define HV_ALT_CHAINS	     10 /* jump if chains call a graph's trampolines */
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

/* struct hv_action_group: does. struct hv_left limits how often COUNTED actions run. */
#define HV_NR_ACTION_GROUPS    128
#define HV_DOES_ON	       1 /* switch recording on */
#define HV_DOES_OFF	       2 /* switch recording off */
#define HV_DOES_ON_COUNTED     4
#define HV_DOES_OFF_COUNTED    8
#define HV_DOES_STACK	       16 /* record the stack */
#define HV_DOES_STACK_BIT      4
#define HV_DOES_STACK_COUNTED  32
#define HV_DOES_REPORT	       64 /* write a record that informs the host about the call */
#define HV_DOES_REPORT_COUNTED 128
#define HV_DOES_REGS	       256  /* record the registers of the call, for probes */
#define HV_DOES_FETCH	       512  /* HV_DOES_REGS and the results of the group's fetch program */
#define HV_DOES_RETURN	       1024 /* record the registers at the return, for return probes */
/* HV_DOES_RETURN and its fetch program results, from the step at HV_DOES_STEP_SHIFT */
#define HV_DOES_RETURN_FETCH   2048
#define HV_DOES_RETURN_ARGS    4096 /* HV_DOES_RETURN and the arguments of the call */
#define HV_DOES_STEP_SHIFT     24   /* number of the first step for the return */
/* The first argument of the function is a task. Sets the bit of that task in the pid bitmap: */
#define HV_DOES_PID_INHERITS   0x2000 /* to the bit of the current task, which forked it */
#define HV_DOES_PID_CLEARS     0x4000 /* to 0 */
#define HV_DOES_PID_SETS       0x8000 /* to 1 */
/* Replaces HV_DOES_REGS if sites call the entries that save all registers. */
#define HV_DOES_ALL_REGS       0x10000
/* Record the stack if it is the deepest so far (hv_control.deepest), even while recording is
 * off. */
#define HV_DOES_DEEPEST	       0x20000

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
#define HV_STACK_LOOKUPS 4	    /* number of buckets to try for a kernel stack */
#define HV_STACK_HASH	 0x9e3779b1 /* see hv_stack_home() and hv_count_home() */

/* struct hv_frame: flags */
#define HV_FRAME_ROOT	     1	 /* counted in `inside` of the return stack */
#define HV_FRAME_MUTES	     2	 /* counted in `muted`; the call is not recorded */
#define HV_FRAME_PROFILED    4	 /* counted in the profile */
#define HV_FRAME_QUIET	     8	 /* counted in the profile but not recorded */
#define HV_FRAME_OWN_TIME    16	 /* its profile time excludes callees */
#define HV_FRAME_PROBED	     32	 /* record the registers at the return, as the group specifies */
#define HV_FRAME_HOST	     64	 /* `steals` of the return stack is valid for this frame */
#define HV_FRAME_ARGS	     128 /* HV_FRAME_ARGS_NR frames before it hold the arguments */
#define HV_FRAME_PROBE_SHIFT 8	 /* action group, with HV_FRAME_PROBED */
/* Frames that hold arguments, two in each: in caller_gva, and in `sums` of the return stack. Their
 * retp_gva is 0, which no call has. */
#define HV_FRAME_ARGS_NR     3

/* Kind of a call. The low byte contains the initial HV_FRAME_* flags of its frame. */
#define HV_KIND_NEW_TASK    0x100  /* a new task starts: discard old frames of its stack */
#define HV_KIND_LEAVES	    0x200  /* the task is about to leave the CPU */
#define HV_KIND_ARRIVES	    0x400  /* the task is back on a CPU */
#define HV_KIND_FUNCTION    0x800  /* write a record of the function tracer */
#define HV_KIND_UNTRACED    0x1000 /* the call is not part of a graph */
#define HV_KIND_GROUP_SHIFT 16	   /* action group, with HV_FRAME_PROBED */

/* struct hv_draft */
#define HV_NR_DRAFTS	   4 /* per vCPU: for a task, soft and hard interrupts, and NMIs */
#define HV_NR_DRAFTS_SHIFT 2
#define HV_DRAFT_TAKEN_BIT 31	/* in `event`: a callback or a trampoline is using the draft */
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
#define HV_FETCH_STEPS_MAX   128 /* per action group or event */
#define HV_FETCH_STEPS_SHIFT 7
#define HV_FETCH_END	     0 /* end of the program */
/* current value := the word of the entry whose index is the step's value; faults if the entry is
 * shorter */
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
/* result := the words of the user's stack: its ip, then the return addresses that its frame
 * pointers lead to. The step's value is the distance of the saved registers from the start of the
 * task's stack. The result is empty in kernel threads. HV_FETCH_USER_STACK and HV_FETCH_USER_COPY are
 * above the numbers of all other steps without HV_FETCH_READS. */
#define HV_FETCH_USER_STACK  16
#define HV_USER_STACK_MAX    128 /* words */
/* result := the program's saved registers, then bytes of its stack, from its stack pointer plus the
 * upper half of the step's value on; for a 32-bit program only the registers. The lower half is as
 * for HV_FETCH_USER_STACK. The result is empty in kernel threads. */
#define HV_FETCH_USER_COPY   17
#define HV_USER_COPY_REST    3584 /* offset of a second copy, from the stack pointer */
#define HV_FETCH_READS	     8	  /* current value := 8 bytes at the address */
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
#define HV_COUNT_LOOKUPS 32 /* number of buckets to try for a function */

/* -- fields of a record ------------------------------------------------------------------------ */

/* clang-format off */
/* The fields of a record in its four words (struct hv_record in ringbuf/abi.h).
 *
 * In the ring, each word of a record is XORed with the key of the record. The key depends on the
 * position of the record (hv_record_key() in ringbuf/ring.h); its top two bits are the low two bits
 * of the lap number. The table describes the words without the key. Their bits 62 and 63 are zero
 * (HV_RECORD_ZEROS). If the reader removes the key of a position and these bits are not zero, the
 * word was not written in the lap of that position.
 *
 * Addresses of kernel text, modules and trampolines are in the last 2 GiB: bits 31 to 63 are 1 and
 * are not stored.
 *
 *  kind      word  bits   contents
 *
 *  function  0      0-61  tsc
 *            1      0-30  low bits of the address after the site
 *                  31-61  low 31 bits of the caller's address, inverted. The trampoline computes
 *                         the word as (site end) ^ (caller << HV_CALLER_SHIFT)
 *            2      0-7   migration-disable count, low byte; 0 if the kernel has no such count
 *                   8-15  the byte of the thread flags that contains the reschedule flags
 *                  16-47  pid
 *                  48-53  lazy-preemption count, in kernels with a separate one; HV_CALL_LAZY_MAX:
 *                         that or more
 *                  54     in these kernels: a lazy reschedule is requested
 *            3      0-31  preempt count in the CPU's own format
 *                  32-47  low half of the CPU flags
 *                  48-56  undefined: may contain further CPU flags
 *                  57-60  kind, of this record and of all others
 *
 *  task      0      0-61  tsc
 *            1      0-61  comm[0] to comm[7], without the top two bits of comm[7]
 *            2      0-55  comm[8] to comm[14]; comm[15] is NUL
 *            3      0-21  pid; 22 bits are enough for PID_MAX_LIMIT
 *                  22-43  tgid
 *                  44-45  top two bits of comm[7]
 *
 *  entry            as function, but
 *            3     48-56  depth
 *
 *  exit      0      0-61  tsc of the return
 *            1      0-61  tsc of the call
 *            2      0-31  low half of the address after the site
 *                  32-61  pid
 *            3      0-56  as entry, at the return
 *
 *  more      0      0-61  tsc of the exit that follows
 *            1      0-61  low bits of the return value
 *            2      0-31  overrun
 *                  32     word 1 has a value
 *                  33-34  top two bits of that value
 *            3      0-47  steal time during the call, ns
 *
 *  words            the first of several:
 *            0      0-61  tsc of the stack that follows
 *            1      0-61  low bits of the stack address that holds the caller's return address;
 *                         the recorded stack begins there
 *            2      0-30  low bits of the frame pointer
 *                  31-58  bits 3 to 30 of the start address of the second part of the stack; 0: no
 *                         second part
 *            3      0-31  number of records of words that follow
 *                   the others:
 *            0      0-61  as the first
 *            1, 2   0-47  a word of the stack (HV_WORD_*), or 0: no word
 *            3      0-47  a word of the stack, or 0
 *                  48-54  number of this record, counted from 1
 *
 *  stack            as function, but
 *            3     48-54  number of preceding records of words, excluding the first
 *                  55-56  who requested the stack:
 *                           neither  an option of a tracer
 *                           56       a command
 *                           55       an event; the site end is in a trampoline, the caller
 *                                    in the event's callback
 *                           both     the end of a kept section; the site end is in a detour, and
 *                                    the recorded stack starts below the function's own frame
 *                                    and includes it
 *                  61     with 56: the deepest stack so far (HV_DOES_DEEPEST). If 55 is set too,
 *                         no command requested the record; otherwise one did
 *
 *  command          as function, but
 *            3     48-54  0
 *                  56     1
 *
 *  data             part of an event's entry, as filled by its callback: HV_DATA_LEN bytes; the
 *                   last record is padded with undefined bytes. The first HV_ENTRY_HEADER_LEN bytes
 *                   of the entry, the header common to all events, are not recorded
 *            0      0-61  tsc of the event that follows
 *            1      0-61  bytes 0 to 7, without their top two bits
 *            2      0-61  bytes 8 to 15, without their top two bits
 *            3      0-31  bytes 16 to 19
 *                  32-33  top two bits of bytes 8 to 15
 *                  34-35  top two bits of bytes 0 to 7
 *                  48-56  number of this record, counted from 0
 *
 *  event     0      0-61  tsc
 *            1      0-15  id of its type; HV_EVENT_ID_REGS: the registers of a call
 *                  16-30  length of its entry in bytes
 *                  31     results of the event's fetch program follow the entry and are included in
 *                         the length (HV_EVENT_RESULTS)
 *                  32     the task is in a compat system call
 *                  33     the kernel records this event with the preempt count inside its callback.
 *                         Set only by the host, in its private copy
 *            2            as function
 *            3            as function, but
 *                  48-56  number of preceding records of data
 *
 *  section          as function, for a start or end of a section in a detour, but
 *            1            the caller is unknown if its low 31 bits are 0
 *            3     48     0: preemption is off from here on; 1: up to here
 *
 *  mark      0      0-61  tsc
 *            1      0-61  number of the text, which the host stores
 *
 * All other bits are 0. */
/* clang-format on */

#define HV_RECORD_ZEROS 0xc000000000000000 /* always 0 in every word of a record */
#define HV_LAP_BITS	2  /* number of these bits, which the key uses for the lap */
#define HV_WORD_BITS	62 /* number of usable bits in a word */

#define HV_CALLER_SHIFT 31 /* position of the caller's address in word 1 of a call */

#define HV_RECORD_KIND_SHIFT 57
#define HV_RECORD_KIND_MASK  0xf
#define HV_RECORD_FUNCTION   0 /* a function was called */
#define HV_RECORD_TASK	     1 /* precedes the first record of each new task on a vCPU */
#define HV_RECORD_ENTRY	     2 /* graph: a function was called */
#define HV_RECORD_EXIT	     3 /* graph: a function returned */
#define HV_RECORD_MORE	     4 /* more data of an exit; precedes it and is reserved with it */
#define HV_RECORD_MARK	     5 /* a line of trace_marker; only the host writes these */
#define HV_RECORD_WORDS	     6 /* words of a stack; precede the stack and are reserved with it */
#define HV_RECORD_STACK	     7 /* a function was called; includes the stack of the call */
#define HV_RECORD_COMMAND    8 /* a function with a command for the host was called */

/* data of an event's entry; precede the event and are reserved with it */
#define HV_RECORD_DATA	9
#define HV_RECORD_EVENT 10 /* the guest called the callback of an event */

#define HV_RECORD_SECTION 12 /* preemption was disabled or enabled */

#define HV_CALL_FLAGS_SHIFT 8
#define HV_CALL_PID_SHIFT   16
#define HV_CALL_LAZY_SHIFT  48
#define HV_CALL_LAZY_MAX    0x3f
#define HV_CALL_LAZY_ASKED  54

#define HV_TASK_PID_MASK    0x3fffff
#define HV_TASK_TGID_SHIFT  22
#define HV_TASK_COMM7_SHIFT 44 /* the top two bits of comm[7] */

#define HV_RECORD_HIGH	      32 /* start of the upper half of a word */
#define HV_RECORD_DEPTH_SHIFT 48
#define HV_RECORD_DEPTH_MAX   0x1ff

#define HV_DATA_LEN		20
/* per event: (HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN) / HV_DATA_LEN */
#define HV_DATA_RECORDS_MAX	204
#define HV_ENTRY_HEADER_LEN	8
#define HV_DATA_SECOND_SHIFT	32 /* the top two bits of bytes 8 to 15 */
#define HV_DATA_FIRST_SHIFT	34 /* the top two bits of bytes 0 to 7 */
#define HV_EVENT_LEN_SHIFT	16
/* In the length field: results (HV_FETCH_HEAD) follow the entry, aligned to HV_FETCH_ALIGN, and
 * then 8 bytes with the length of the entry alone. */
#define HV_EVENT_RESULTS	0x8000
#define HV_EVENT_RESULTS_END	8
#define HV_EVENT_COMPAT_BIT	32
#define HV_EVENT_INSIDE_BIT	33
/* Set only by the host: by how much the actual preempt count exceeds the recorded one. */
#define HV_EVENT_DEEPER_SHIFT	34
#define HV_EVENT_DEEPER_MAX	15
/* Event id of a probed call; no event type of the kernel uses it. After the common header, the
 * entry holds HV_REGS_WORDS words of 8 bytes: the address of the site, the stack pointer at the
 * call, the word at the stack pointer, and registers (struct hv_arch, find_register). Results of
 * the action group's fetch program can follow (HV_FETCH_HEAD). */
#define HV_EVENT_ID_REGS	0
#define HV_REGS_WORDS		15
#define HV_REGS_SITE		0
#define HV_REGS_STACK		1
#define HV_REGS_STACK_WORD	2
/* Event id of a probed return. The words are as for a call, except that the stack pointer is the
 * caller's after the return, and that: */
#define HV_EVENT_ID_RETURN	0xffff
#define HV_REGS_RETVAL		6 /* the return value */
#define HV_REGS_CALLER		7 /* the return address */
/* Event id of a probed return with the first arguments of the call after its words. The kernel uses
 * this id for context switches, which no probe records. */
#define HV_EVENT_ID_RETURN_ARGS 2
#define HV_RETURN_ARGS		15 /* index of the first argument */
#define HV_NR_RETURN_ARGS	6
/* Event id of a probe inside a function. The words are as for a call, except that the site is the
 * probed instruction and the stack pointer is the one it sees. They are followed by the registers
 * that carry no argument at a function's entry, and by an unused word. The kernel uses this id for
 * its function tracer, which does not record through callbacks. */
#define HV_EVENT_ID_ALL_REGS	1
#define HV_ALL_REGS_WORDS	20
#define HV_WORDS_MAX		21 /* maximum over all of these entries */

#define HV_EXIT_SITE_MASK   0x7fffffff
#define HV_EXIT_PID_SHIFT   32
#define HV_MORE_VALUE_SHIFT 32
#define HV_MORE_TOP_SHIFT   33
#define HV_MORE_HOST_BITS   48

#define HV_WORDS_SECOND_SHIFT 31
#define HV_STACK_RECORDS_MAX  127 /* records of words in one stack, excluding the first */
#define HV_STACK_SECTION_BIT  55  /* with HV_STACK_COMMAND_BIT: end of a section; alone: event */
#define HV_STACK_COMMAND_BIT  56
/* with both bits above, or with HV_STACK_COMMAND_BIT; see the table */
#define HV_STACK_DEEPEST_BIT  61
#define HV_SECTION_ENDS_BIT   48

/* A word of a recorded stack, 48 bits:
 *
 *   0-30   low bits of the value
 *   31     HV_WORD_TEXT: the value is a kernel text address, otherwise a pointer into a stack
 *   32-46  bits 3-17 of the address that contains the word
 *   47     the word is in the second part of the stack
 *
 * If the stack contains the address of the graph's return handler, the record contains the address
 * that the handler will return to, or the handler's own address if the trampoline cannot determine
 * it. */
#define HV_WORD_TEXT	      0x80000000
/* On architectures with frame records, a word contains only the address of a caller, or an
 * interrupted address, with HV_WORD_TEXT. The words start with the function's caller. HV_WORD_WHOLE
 * follows the last word if its function has no caller, so that the stack is complete. */
#define HV_WORD_WHOLE	      0x100000000
#define HV_WORD_ADDRESS_SHIFT 32
#define HV_WORD_ADDRESS_MASK  0x3fff8
#define HV_WORD_SECOND_BIT    47
