/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/kvm_exits.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define MACHINES_MAX 65536

/* A machine's directory is "PID-FD". */
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
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || nr++)
			continue;
		path = hv_format("%s/%s/exits", debugfs, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return nr == 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

bool kvm_exits_read(int fd, uint64_t *ret)
{
	char text[32];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%" SCNu64, ret) == 1;
}
