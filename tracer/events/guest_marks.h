/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The marks of programs in the guest: texts in the arguments of system calls, which they make by
 * guest-agent/hvtrace-mark.h. Puts the parts of a long text together, for each thread. A program
 * can write anything into its marks; what is no mark, or lacks a part, is none.
 * Leaves to others: how the calls are recorded (tree/instance/dynamic/kprobes.h). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The function that is called with the arguments. */
#define HV_MARK_FUNCTION   "security_task_prctl"
#define HV_MARK_ARGS	   5
#define HV_MARK_BYTES_MAX  512
/* So many threads can have begun a text at a time; who began first loses it. */
#define HV_MARKS_BEGUN_MAX 256

struct hv_guest_marks;

/* A call of the function. TIME_NS and CPU tell it apart from others. */
struct hv_mark_call {
	uint64_t time_ns;
	unsigned cpu;
	uint32_t pid;
	uint64_t args[HV_MARK_ARGS];
};

struct hv_guest_marks *hv_guest_marks_new(void);
void hv_guest_marks_free(struct hv_guest_marks *m);

/* The text, with a NUL, of the mark that CALL ends; NULL: it ends none. It is valid until the next
 * call. The same call may come several times in turn, with the same answer. */
const char *hv_guest_marks_read(struct hv_guest_marks *m, const struct hv_mark_call *call);
/* Forgets the texts that have begun: events were lost before the one at TIME_NS on CPU, and parts
 * may be among them. It may come several times in turn, and before that event is read. */
void hv_guest_marks_note_lost(struct hv_guest_marks *m, uint64_t time_ns, unsigned cpu);
