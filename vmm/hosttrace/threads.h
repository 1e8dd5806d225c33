/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a VMM that are no vCPUs: its main thread, I/O threads and workers, and the
 * kernel's threads of vhost that work for it. Since 6.4 (commit f9010dbdce91) these are threads of
 * the VMM; before, they are the kernel's own, and named after it. Needs no rights where /proc shows
 * every process. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Adds the threads that work for the VMM PID to LIST, which has *NR of at most MAX, without those
 * that are in it. Who has begun or ended meanwhile may be missing or there. */
void hv_host_trace_add_threads(pid_t pid, pid_t *list, size_t max, size_t *nr);
