/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/host_counts.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "base/text.h"

/* -- VM exits --------------------------------------------------------------------------------- */

#define MACHINES_MAX 65536

/* The name of a VM's directory is "PID-FD". */
int kvm_exits_open(const char *debugfs, pid_t vmm)
{
	HV_AUTO_FREE char *prefix = hv_format("%d-", (int)vmm);
	HV_AUTO_FREE char *path = NULL;
	DIR *dir = opendir(debugfs);
	unsigned nr = 0;

	for (unsigned i = 0; dir && i < MACHINES_MAX; i++) {
		const struct dirent *entry = readdir(dir);

		if (!entry)
			break;
		if (!hv_starts_with(entry->d_name, prefix) || nr++)
			continue;
		path = hv_format("%s/%s", debugfs, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return nr == 1 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* The file returns its number once per open and cannot be rewound (simple_attr_open()), so this
 * opens it for each read. An open file would also keep the VM alive in KVM; an open directory does
 * not. */
bool kvm_exits_read(int dir, uint64_t *ret)
{
	HV_AUTO_FD int fd = openat(dir, "exits", O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%" SCNu64, ret) == 1;
}

/* -- time of vCPUs ---------------------------------------------------------------------------- */

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
