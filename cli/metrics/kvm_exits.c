/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/kvm_exits.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "base/text.h"

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
