/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/kernel_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h */
#define STAT_MAX   1024

/* The name, in parentheses, can contain blanks and parentheses. The state, five numbers and the
 * flags follow it (proc_pid_stat(5)). */
bool hv_stat_flags(const char *stat, unsigned *ret)
{
	const char *end = strrchr(stat, ')');

	return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", ret) == 1;
}

bool hv_stat_is_kernel_threads(const char *stat)
{
	unsigned flags;

	return hv_stat_flags(stat, &flags) && flags & PF_KTHREAD;
}

bool hv_is_kernel_thread(pid_t tid)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/stat", (int)tid);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char stat[STAT_MAX + 1];
	ssize_t len = fd < 0 ? -1 : read(fd, stat, STAT_MAX);

	if (len <= 0)
		return false;
	stat[len] = '\0';
	return hv_stat_is_kernel_threads(stat);
}
