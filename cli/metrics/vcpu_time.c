/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/vcpu_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/prefix.h"

#define THREADS_MAX 65536

/* Reads the first bytes of the file NAME of thread TID, whose directory is below DIR. */
static bool read_file(int dir, const char *tid, const char *name, char *buf, size_t size)
{
	char path[64];
	HV_AUTO_FD int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/%.20s", tid, name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Under TCG with one thread for all vCPUs, QEMU names it "ALL CPUs/TCG". */
static bool is_vcpu(const char *comm)
{
	return hv_starts_with(comm, "CPU ") || hv_starts_with(comm, "ALL CPUs");
}

static bool add_thread(int dir, const char *tid, struct vcpu_time *ret)
{
	char comm[32], times[96];
	uint64_t run_ns, wait_ns;

	if (!read_file(dir, tid, "comm", comm, sizeof(comm)) || !is_vcpu(comm) ||
	    !read_file(dir, tid, "schedstat", times, sizeof(times)) ||
	    sscanf(times, "%" SCNu64 " %" SCNu64, &run_ns, &wait_ns) != 2)
		return false;
	ret->run_ns += run_ns;
	ret->wait_ns += wait_ns;
	return true;
}

bool vcpu_time_read(pid_t vmm, struct vcpu_time *ret)
{
	struct vcpu_time sum = {0};
	bool found = false;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)vmm);
	dir = opendir(path);
	for (unsigned i = 0; dir && i < THREADS_MAX; i++) {
		const struct dirent *entry = readdir(dir);

		if (!entry)
			break;
		if (entry->d_name[0] != '.')
			found |= add_thread(dirfd(dir), entry->d_name, &sum);
	}
	if (dir)
		closedir(dir);
	if (found)
		*ret = sum;
	return found;
}
