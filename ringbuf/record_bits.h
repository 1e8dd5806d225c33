/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clang-format off */
/* The fields of a record in its four words (struct hv_record in ringbuf/abi.h). C and the assembler
 * include this file, so it contains only constants.
 *
 * In the ring, each word of a record is XORed with the key of the record. The key depends on the
 * position of the record (hv_record_key() in ringbuf/ring.h); its top two bits are the low two bits
 * of the lap number. This file describes the words without the key. Their bits 62 and 63 are zero
 * (HV_RECORD_ZEROS). If the reader removes the key of a position and these bits are not zero, the
 * word was not written in the lap of that position.
 *
 * Addresses of kernel text, modules and stubs are in the last 2 GiB: bits 31 to 63 are 1 and are
 * not stored.
 *
 *  kind      word  bits   contents
 *
 *  function  0      0-61  tsc
 *            1      0-30  low bits of the address after the site
 *                  31-61  low 31 bits of the caller's address, inverted. The stub computes the word
 *                         as (site end) ^ (caller << HV_CALLER_SHIFT)
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
 *                           55       an event; the site end is in a stub, the caller is in the
 *                                    event's callback
 *                           both     the end of a kept section; the site end is in a detour, and
 *                                    the recorded stack starts below the function's own frame
 *                                    and includes it
 *                  61     with 56: the deepest stack so far (HV_SLOT_DEEPEST). If 55 is set too,
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
#pragma once

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
 * the slot's fetch program can follow (HV_FETCH_HEAD). */
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
/* Event id of a probed return with the first arguments of the call after its words. The
 * kernel uses this id for context switches, which no probe records. */
#define HV_EVENT_ID_RETURN_ARGS 2
#define HV_RETURN_ARGS		15 /* index of the first argument */
#define HV_NR_RETURN_ARGS	6
/* Event id of a probe inside a function. The words are as for a call, except that the site is the
 * probed instruction and the stack pointer is the one it sees. They are followed by the registers
 * that carry no argument at a function's entry, and by an unused word. The kernel uses this id for
 * its function tracer, which does not record through callbacks. */
#define HV_EVENT_ID_PLACE	1
#define HV_PLACE_WORDS		20
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
 * that the handler will return to, or the handler's own address if the stub cannot determine it. */
#define HV_WORD_TEXT	    0x80000000
/* On architectures with frame records, a word contains only the address of a caller, or an
 * interrupted address, with HV_WORD_TEXT. The words start with the function's caller. HV_WORD_WHOLE
 * follows the last word if its function has no caller, so that the stack is complete. */
#define HV_WORD_WHOLE	    0x100000000
#define HV_WORD_PLACE_SHIFT 32
#define HV_WORD_PLACE_MASK  0x3fff8
#define HV_WORD_SECOND_BIT  47
