/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identifies kernel threads of the host. Names do not identify them, because any program can choose
 * its name. Needs no privileges if /proc shows every process. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* False also if TID has ended. */
bool hv_is_kernel_thread(pid_t tid);

/* Like hv_is_kernel_thread(), from the contents of its /proc/TID/stat. */
bool hv_stat_is_kernel_threads(const char *stat);

/* Returns the flags (PF_*) in STAT, the contents of a /proc/TID/stat, or false if STAT has no
 * flags. */
bool hv_stat_flags(const char *stat, unsigned *ret);
