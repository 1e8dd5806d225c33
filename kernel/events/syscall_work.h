/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel enables the tracepoints of system calls (raw_syscalls): a task executes them while
 * a flag in its task_struct is set. When the first of the two tracepoints gets a probe, the kernel
 * sets the flag of every task and increments a count; when neither has a probe, it clears the flags
 * (syscall_regfunc()). New tasks inherit the flag. tracer/plug.h and tracer/syscall_tasks.h change
 * the flags. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_syscall_work {
	struct hv_gva reg, unreg;     /* the tracepoints' functions */
	struct hv_gva count;	      /* u32 count of these tracepoints with probes */
	struct hv_gva tracepoints[2]; /* sys_enter, sys_exit */
	uint32_t flag_off;	      /* offset in struct task_struct of the byte with the flag */
	uint8_t flag;		      /* mask in that byte */
	uint32_t node_off, next_off;  /* of a task's thread_node, a struct list_head */
	uint32_t prev_off;
};

/* Fails with ENOENT if this kernel uses an unknown mechanism; the message names the missing
 * item. */
struct hv_err *hv_syscall_work_find(const struct hv_kernel *k,
				    struct hv_syscall_work *ret) hv_must_use;
