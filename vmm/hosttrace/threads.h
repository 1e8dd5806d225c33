/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a VMM other than vCPUs: its main thread, I/O threads and workers, and the kernel's
 * vhost threads that work for it. Since 6.4 (commit f9010dbdce91) the latter are threads of the
 * VMM; before, they are kernel threads named after it. Needs no privileges if /proc shows every
 * process. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Appends the threads that work for the VMM PID to LIST, which has *NR of at most MAX entries,
 * without duplicates. Threads that start or end during the call may or may not be included. */
void hv_host_trace_add_threads(pid_t pid, pid_t *list, size_t max, size_t *nr);
