/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clang-format off */
/* Where the parts of a record are in its four words (struct hv_record in ringbuf/abi.h). C and the
 * assembler include this file, so it has constants only.
 *
 * In the ring each word of a record is combined (xor) with the record's key. The key follows from
 * the position of the record (hv_record_key() in ringbuf/ring.h), and its top two bits are the low
 * two bits of the lap's number. This file describes the words without the key. They have zeros in
 * bits 62 and 63 (HV_RECORD_ZEROS). If the reader combines a word with the key of a position and
 * finds other bits there, the word was not written in the lap of that position.
 *
 * An address of kernel text, module or stub is in the last 2 GiB: its bits 31 to 63 are 1 and need
 * no room.
 *
 *  kind      word  bits   what
 *
 *  function  0      0-61  tsc
 *            1      0-30  low bits of the address that follows the site
 *                  31-61  low 31 bits of the caller's address, inverted. The stub makes the word
 *                         of both addresses: (site end) ^ (caller << HV_CALLER_SHIFT)
 *            2      0-7   migration-disable count, low byte; 0: the kernel does not count
 *                   8-15  the byte of the thread flags that has those for rescheduling
 *                  16-47  pid
 *                  48-53  lazy-preemption count of a kernel that has lazy preemption of its own;
 *                         HV_CALL_LAZY_MAX: that or more
 *                  54     in such a kernel: a lazy reschedule is requested
 *            3      0-31  preempt count as the CPU keeps it
 *                  32-47  low half of the CPU flags
 *                  48-56  of no meaning: more of the CPU flags may be there
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
 *            2      0-31  low half of the address that follows the site
 *                  32-61  pid
 *            3      0-56  as entry, at the time of the return
 *
 *  more      0      0-61  tsc of the exit that follows
 *            1      0-61  low bits of the value that the function returned
 *            2      0-31  overrun
 *                  32     word 1 has a value
 *                  33-34  top two bits of that value
 *            3      0-47  for how many ns of the call the host did not run the vCPU
 *
 *  words            the first of several:
 *            0      0-61  tsc of the stack that follows
 *            1      0-61  low bits of the address of the slot that has the caller's return
 *                         address: the recorded stack begins there
 *            2      0-30  low bits of the frame pointer
 *                  31-58  bits 3 to 30 of the address at which the second part of the stack
 *                         begins; 0: there is no second part
 *            3      0-31  how many records of words follow
 *                   the others:
 *            0      0-61  as the first
 *            1, 2   0-47  a word of the stack (HV_WORD_*), or 0: no word
 *            3      0-47  likewise
 *                  48-54  number of this record, counted from 1
 *
 *  stack            as function, but
 *            3     48-54  how many records of words precede it, without the first
 *                  56     no tracer's option asked for the stack, but a command, or:
 *                  55     with 56: it is of the end of a section that was kept. The site end is in
 *                         a detour. The recorded stack begins below the function's own part.
 *                         Alone: it is of an event. The site end is in a stub, the caller in the
 *                         event's probe
 *                  61     with 56: the task's stack is deeper than it ever was. With 55, too:
 *                         nobody else asked for the stack. Without 55: a command did
 *
 *  command          as function, but
 *            3     48-54  0
 *                  56     1
 *
 *  data             part of an event's entry, as its probe has filled it: HV_DATA_LEN bytes, or
 *                   fewer and then bytes of no meaning. The first HV_ENTRY_HEADER_LEN bytes of the
 *                   entry, which all events have in common, are in no record
 *            0      0-61  tsc of the event that follows
 *            1      0-61  bytes 0 to 7, without their top two bits
 *            2      0-61  bytes 8 to 15, likewise
 *            3      0-31  bytes 16 to 19
 *                  32-33  top two bits of bytes 8 to 15
 *                  34-35  top two bits of bytes 0 to 7
 *                  48-56  number of this record, counted from 0
 *
 *  event     0      0-61  tsc
 *            1      0-15  id of its type; HV_EVENT_ID_REGS: the registers of a call
 *                  16-30  length of its entry in bytes
 *                  31     results of the event's program follow the entry, and count in the length
 *                         (HV_EVENT_RESULTS)
 *                  32     the task is in a system call of another ABI than the kernel's own
 *                  33     the kernel records this event with the preempt count inside its probe.
 *                         Only the host sets it, in its own memory
 *            2            as function
 *            3            as function, but
 *                  48-56  how many records of data precede it
 *
 *  section          as function, of a section's end in a detour, but
 *            1            a caller whose low 31 bits are 0 is not known
 *            3     48     0: preemption is off from here on; 1: up to here
 *
 *  mark      0      0-61  tsc
 *            1      0-61  number of the text, which the host keeps
 *
 * All other bits are 0. */
/* clang-format on */
#pragma once

#define HV_RECORD_ZEROS 0xc000000000000000 /* bits that are 0 in every word of a record */
#define HV_LAP_BITS	2		   /* how many: as many as a key has for the lap */
#define HV_WORD_BITS	62		   /* the other bits of a word */

#define HV_CALLER_SHIFT 31 /* of the caller's address in word 1 of a call */

#define HV_RECORD_KIND_SHIFT 57
#define HV_RECORD_KIND_MASK  0xf
#define HV_RECORD_FUNCTION   0 /* a function was called */
#define HV_RECORD_TASK	     1 /* precedes the first record of another task on this vCPU */
#define HV_RECORD_ENTRY	     2 /* graph: a function was called */
#define HV_RECORD_EXIT	     3 /* graph: a function returned */
#define HV_RECORD_MORE	     4 /* the rest of an exit; precedes it and is reserved with it */
#define HV_RECORD_MARK	     5 /* a line of trace_marker; only the host writes these */
#define HV_RECORD_WORDS	     6 /* words of a stack; precede it and are reserved with it */
#define HV_RECORD_STACK	     7 /* a function was called, and the stack of that call */
#define HV_RECORD_COMMAND    8 /* a function was called that has a command for the host */

#define HV_RECORD_DATA	9  /* of an event's entry; precede it and are reserved with it */
#define HV_RECORD_EVENT 10 /* the guest's kernel called the probe of an event */

#define HV_RECORD_SECTION 12 /* preemption was switched off or on */

#define HV_CALL_FLAGS_SHIFT 8
#define HV_CALL_PID_SHIFT   16
#define HV_CALL_LAZY_SHIFT  48
#define HV_CALL_LAZY_MAX    0x3f
#define HV_CALL_LAZY_ASKED  54

#define HV_TASK_PID_MASK    0x3fffff
#define HV_TASK_TGID_SHIFT  22
#define HV_TASK_COMM7_SHIFT 44 /* the top two bits of comm[7] */

#define HV_RECORD_HIGH	      32 /* where the upper half of a word begins */
#define HV_RECORD_DEPTH_SHIFT 48
#define HV_RECORD_DEPTH_MAX   0x1ff

#define HV_DATA_LEN 20
#define HV_DATA_RECORDS_MAX                                                                        \
	204 /* of one event: (HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN) / HV_DATA_LEN */
#define HV_ENTRY_HEADER_LEN	8
#define HV_DATA_SECOND_SHIFT	32 /* the top two bits of bytes 8 to 15 */
#define HV_DATA_FIRST_SHIFT	34 /* the top two bits of bytes 0 to 7 */
#define HV_EVENT_LEN_SHIFT	16
/* Of the 16 bits of the length: behind the entry, from a multiple of HV_FETCH_ALIGN on, are results
 * (HV_FETCH_HEAD), and then eight bytes: the length of the entry without all this. */
#define HV_EVENT_RESULTS	0x8000
#define HV_EVENT_RESULTS_END	8
#define HV_EVENT_COMPAT_BIT	32
#define HV_EVENT_INSIDE_BIT	33
/* Only the host sets it: by how much the preempt count is higher than the record says. */
#define HV_EVENT_DEEPER_SHIFT	34
#define HV_EVENT_DEEPER_MAX	15
/* No type of the kernel's has this id. The entry is HV_REGS_WORDS words of 8 bytes behind what all
 * entries have: the address of the site, the stack pointer with which the function was called, what
 * is there, and registers (struct hv_arch, find_register). Results of the slot's program may follow
 * (HV_FETCH_HEAD). */
#define HV_EVENT_ID_REGS	0
#define HV_REGS_WORDS		15
#define HV_REGS_SITE		0
#define HV_REGS_STACK		1
#define HV_REGS_STACK_WORD	2
/* Likewise of a return. The words are those of a call, but the stack is as the caller finds it, and
 * there are besides: */
#define HV_EVENT_ID_RETURN	0xffff
#define HV_REGS_RETVAL		6 /* what was returned */
#define HV_REGS_CALLER		7 /* where the function has returned to */
/* Likewise, and behind the words the first arguments of the call. The id is that of the kernel's
 * switches of tasks, which no probe records. */
#define HV_EVENT_ID_RETURN_ARGS 2
#define HV_RETURN_ARGS		15 /* the first one */
#define HV_NR_RETURN_ARGS	6
/* Likewise of a place inside a function. The words are those of a call, but the site is the place,
 * and the stack is as the instruction there finds it. Registers that have no meaning at a
 * function's entry follow, and a word of no meaning. The id is that of the kernel's function
 * tracer, which records nothing by a probe. */
#define HV_EVENT_ID_PLACE	1
#define HV_PLACE_WORDS		20
#define HV_WORDS_MAX		21 /* of any of these entries */

#define HV_EXIT_SITE_MASK   0x7fffffff
#define HV_EXIT_PID_SHIFT   32
#define HV_MORE_VALUE_SHIFT 32
#define HV_MORE_TOP_SHIFT   33
#define HV_MORE_HOST_BITS   48

#define HV_WORDS_SECOND_SHIFT 31
#define HV_STACK_RECORDS_MAX  127 /* records of words in one stack, without the first */
#define HV_STACK_SECTION_BIT  55  /* with the next: of a section's end; alone: of an event */
#define HV_STACK_COMMAND_BIT  56
#define HV_STACK_DEEPEST_BIT  61 /* with both, or with that of a command only: see above */
#define HV_SECTION_ENDS_BIT   48

/* A word of a stack, 48 bits: 0-30 the low bits of its value, 31 (HV_WORD_TEXT) whether that is an
 * address of kernel text rather than a pointer into a stack, 32-46 bits 3-17 of the address where
 * the word is, 47 whether it is in the second part of the stack. Where the stack has the address of
 * the graph's return handler, the record has the address that the handler will return to, or the
 * handler's own when the stub cannot tell. */
#define HV_WORD_TEXT	    0x80000000
/* Where functions keep frame records, a word is a caller's address, or one that was interrupted,
 * with HV_WORD_TEXT and nothing else. They are in order, the function's caller first. Behind the
 * last one is HV_WORD_WHOLE if nobody called it. */
#define HV_WORD_WHOLE	    0x100000000
#define HV_WORD_PLACE_SHIFT 32
#define HV_WORD_PLACE_MASK  0x3fff8
#define HV_WORD_SECOND_BIT  47
