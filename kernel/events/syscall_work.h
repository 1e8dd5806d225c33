/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel makes tasks pass by the tracepoints of system calls (raw_syscalls): a task does so
 * while a flag of it is set. When the first of the two tracepoints gets a probe, the kernel sets
 * the flag of every task and counts that tracepoint; when none has a probe any more, it takes the
 * flags back (syscall_regfunc()). A new task inherits the flag. Leaves to others: changing any of
 * it (tracer/plug.h, tracer/syscall_tasks.h). */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_syscall_work {
	struct hv_gva reg, unreg;     /* the tracepoints' functions */
	struct hv_gva count;	      /* of the tracepoints that have probes: 32 bits */
	struct hv_gva tracepoints[2]; /* sys_enter, sys_exit */
	uint32_t flag_off;	      /* in struct task_struct: of the byte with the flag */
	uint8_t flag;		      /* of that byte */
	uint32_t node_off, next_off;  /* of a task's thread_node, a struct list_head */
	uint32_t prev_off;
};

/* ENOENT: this kernel does it in a way that is not known; the message says what was not found. */
struct hv_err *hv_syscall_work_find(const struct hv_kernel *k,
				    struct hv_syscall_work *ret) hv_must_use;
