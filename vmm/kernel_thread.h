/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a thread of the host is the kernel's own. Its name says nothing, since any program can
 * call itself so. Needs no rights where /proc shows every process. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* False also if TID has gone. */
bool hv_is_kernel_thread(pid_t tid);

/* The same, by the text of its /proc/TID/stat. */
bool hv_stat_is_kernel_threads(const char *stat);

/* The flags (PF_*) that STAT, the text of a /proc/TID/stat, has. False: it has none. */
bool hv_stat_flags(const char *stat, unsigned *ret);
