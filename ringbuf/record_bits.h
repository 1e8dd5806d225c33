/* Where the parts of a record are in its four words (struct hv_record in ringbuf/abi.h). C and the
 * assembler include this file, so it has constants only.
 *
 * Bit 63 of every word is the lap bit. For the record at position p of its ring it is
 * !((p / nr_slots) & 1). Memory that was never written therefore reads as "not yet written", and
 * when a late writer has overwritten some words of a record, its lap bits disagree.
 *
 * Each kind of record uses the other bits as follows:
 *
 * function  word 0  0-62 tsc
 *           word 1  0-31 low half of the site's address, 32-62 low 31 bits of the caller's address
 *                   (bit 31 of an address in the kernel image or in a module is always 1)
 *           word 2  0-31 pid, 32-47 thread flags, 48-55 migration-disable count. A kernel with
 *                   lazy preemption of its own: 56-61 lazy-preemption count (63: that or more),
 *                   62 a lazy reschedule is requested
 *           word 3  0-31 preempt count as the CPU keeps it, 32-47 low half of the CPU flags,
 *                   48-51 kind
 * task      word 0  0-62 tsc
 *           word 1  0-62 comm[0..7] without the top bit of comm[7]
 *           word 2  0-62 comm[8..15] (comm[15] is NUL)
 *           word 3  0-31 pid, 32-46 low 15 bits of the tgid, 47 top bit of comm[7], 48-51 kind,
 *                   52-58 high 7 bits of the tgid (22 bits are enough for PID_MAX_LIMIT)
 * entry     as function, and
 *           word 3  52-62 low 11 bits of the depth
 * exit      word 0  0-62 tsc of the return
 *           word 1  0-31 low half of the site's address, 32-62 ticks since the call, low 31 bits
 *           word 2  0-31 pid, 32-62 ticks since the call, next 31 bits
 *           word 3  as entry, at the time of the return
 * more      word 0  0-62 tsc of the exit that follows
 *           word 1  0-62 low 63 bits of the value that the function returned
 *           word 2  0-31 overrun
 *           word 3  0-31 pid, 46 word 1 has a value, 47 bit 63 of that value, 48-51 kind
 * words     word 0  0-62 tsc of the stack that follows
 *           in the first of several:
 *           word 1  0-62 address of the slot that holds the caller's return address: the recorded
 *                   stack begins there
 *           word 2  0-30 low bits of the frame pointer, 31-61 low bits of the address at which the
 *                   second part of the stack begins; 0: there is no second part
 *           word 3  0-31 how many records of words follow, 48-51 kind
 *           in the others:
 *           word 1, 2, 3  0-47 a word of the stack (HV_WORD_*), or 0: no word
 *           word 3  48-51 kind, 52-62 number of this record, counted from 1
 * stack     as function, and
 *           word 3  52-58 how many records of words precede it, without the first, 62 a command
 *                   asked for the stack
 * command   as function, and
 *           word 3  62 is 1
 * mark      word 0  0-62 tsc
 *           word 1  0-62 number of the text, which the host keeps
 *           word 3  48-51 kind
 */
#pragma once

#define HV_LAP_BIT 63

#define HV_RECORD_KIND_SHIFT 48
#define HV_RECORD_FUNCTION   1 /* a function was called */
#define HV_RECORD_TASK	     2 /* precedes the first record of another task on this vCPU */
#define HV_RECORD_ENTRY	     3 /* graph: a function was called */
#define HV_RECORD_EXIT	     4 /* graph: a function returned */
#define HV_RECORD_MORE	     5 /* the rest of an exit; precedes it and is reserved with it */
#define HV_RECORD_MARK	     6 /* a line of trace_marker; only the host writes these */
#define HV_RECORD_WORDS	     7 /* words of a stack; precede it and are reserved with it */
#define HV_RECORD_STACK	     8 /* a function was called, and the stack of that call */
#define HV_RECORD_COMMAND    9 /* a function was called that has a command for the host */

#define HV_CALL_LAZY_SHIFT 56
#define HV_CALL_LAZY_MAX   0x3f
#define HV_CALL_LAZY_ASKED 62

#define HV_TASK_COMM7_SHIFT 47
#define HV_TASK_TGID_SHIFT  32
#define HV_TASK_TGID_LOW    15 /* bits */
#define HV_TASK_TGID_SHIFT2 52
#define HV_TASK_TGID_HIGH   7 /* bits */

#define HV_RECORD_DEPTH_SHIFT 52
#define HV_RECORD_DEPTH_MAX   0x7ff

#define HV_MORE_VALUE63_SHIFT 47
#define HV_MORE_VALUE_SHIFT   46

#define HV_STACK_RECORDS_MAX 127 /* records of words in one stack, without the first */
#define HV_STACK_COMMAND_BIT 62

/* A word of a stack, 48 bits: 0-30 the low bits of its value, 31 (HV_WORD_TEXT) whether that is an
 * address of kernel text rather than a pointer into a stack, 32-46 bits 3-17 of the address where
 * the word is, 47 whether it is in the second part of the stack. Where the stack has the address of
 * the graph's return handler, the record has the address that the handler will return to, or the
 * handler's own when the stub cannot tell. */
#define HV_WORD_TEXT	    0x80000000
#define HV_WORD_PLACE_SHIFT 32
#define HV_WORD_PLACE_MASK  0x3fff8
#define HV_WORD_SECOND_BIT  47
