/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves that a thread may make system calls: reads all seccomp filters of the thread and decides
 * about each call as the kernel will. The kernel gives filters only to a tracer with CAP_SYS_ADMIN
 * and without a filter of its own (ptrace(2), PTRACE_SECCOMP_GET_FILTER). */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "vmm/inject/filter.h"
#include "vmm/inject/threads.h"

/* What is known about a thread's filters if they cannot be read. */
enum hv_unread_filters {
	HV_UNREAD_REFUSE,
	HV_UNREAD_ALLOW_ONE, /* one filter, which is known to allow the calls of call.h */
};

struct hv_filters; /* the filters of a thread, oldest first */

/* Reads the filters of a thread that the caller has stopped. *RET is NULL if the thread has none;
 * otherwise the caller frees it with free(). Fails with EPERM if it has filters that cannot be
 * read, or that exceed the kernel's own limits. */
struct hv_err *hv_filters_read(pid_t tid, enum hv_unread_filters unread,
			       struct hv_filters **ret) hv_must_use;
/* Fails with EPERM, naming call, thread and filter, unless all FILTERS of thread TID allow all
 * CALLS. FILTERS may be NULL. */
struct hv_err *hv_filters_check(const struct hv_filters *filters, pid_t tid,
				const struct hv_filter_call *calls, size_t nr) hv_must_use;

/* Returns the largest number of seccomp filters that a thread of process PID has. If the kernel
 * does not report the number, counts any filters of a thread as one. UINT_MAX: it has too many
 * threads to read them all (hv_process_threads_max). */
unsigned hv_process_nr_filters(pid_t pid);
