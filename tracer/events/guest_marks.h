/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks of programs in the guest: texts in the arguments of system calls, made with
 * guest-agent/hvtrace-mark.h. Assembles the parts of long texts per thread. The arguments are
 * untrusted: calls that are not marks, and texts with missing parts, are ignored.
 *
 * tree/instance/dynamic/kprobes.h records the calls. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The traced function that receives the arguments. */
#define HV_MARK_FUNCTION   "security_task_prctl"
#define HV_MARK_ARGS	   5
#define HV_MARK_BYTES_MAX  512
/* Maximum number of threads with an incomplete text; the oldest one is dropped. */
#define HV_MARKS_BEGUN_MAX 256

struct hv_guest_marks;

/* A call of the function. TIME_NS and CPU identify it. */
struct hv_mark_call {
	uint64_t time_ns;
	unsigned cpu;
	uint32_t pid;
	uint64_t args[HV_MARK_ARGS];
};

struct hv_guest_marks *hv_guest_marks_new(void);
void hv_guest_marks_free(struct hv_guest_marks *m);

/* Returns the text of the mark that CALL completes, or NULL. Valid until the next call. The same
 * call may be passed several times in a row and gives the same result. */
const char *hv_guest_marks_read(struct hv_guest_marks *m, const struct hv_mark_call *call);
/* Drops incomplete texts. Call it when events were lost before the one at TIME_NS on CPU. May be
 * called several times in a row, and before that event is read. */
void hv_guest_marks_note_lost(struct hv_guest_marks *m, uint64_t time_ns, unsigned cpu);
