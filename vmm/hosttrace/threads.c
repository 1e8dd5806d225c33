/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/hosttrace/threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"
#include "vmm/kernel_thread.h"

#define COMM_LEN 16 /* with the newline that /proc adds, without NUL */

static void add(pid_t tid, pid_t *list, size_t max, size_t *nr)
{
	for (size_t i = 0; i < *nr; i++)
		if (list[i] == tid)
			return;
	if (tid > 0 && *nr < max)
		list[(*nr)++] = tid;
}

/* Whether TID is a kernel thread with the name NAME. */
static bool is_kernels(const char *tid, const char *name)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%s/comm", tid);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char comm[COMM_LEN + 1] = "";

	if (fd < 0 || read(fd, comm, COMM_LEN) <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0 && hv_is_kernel_thread((pid_t)atoi(tid));
}

/* Adds the thread ids in DIR. If NAME is not NULL, adds only kernel threads with that name. */
static void add_of(const char *dir, const char *name, pid_t *list, size_t max, size_t *nr)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    (!name || is_kernels(e->d_name, name)))
			add((pid_t)atoi(e->d_name), list, max, nr);
	if (d)
		closedir(d);
}

void hv_host_trace_add_threads(pid_t pid, pid_t *list, size_t max, size_t *nr)
{
	HV_AUTO_FREE char *tasks = hv_format("/proc/%d/task", (int)pid);
	HV_AUTO_FREE char *vhost = hv_format("vhost-%d", (int)pid);

	if (pid <= 0)
		return;
	add_of(tasks, NULL, list, max, nr);
	add_of("/proc", vhost, list, max, nr);
}
