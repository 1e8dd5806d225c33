/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/kvm_tsc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prefix.h"

/* Finds the process's directory "PID-FD". The caller frees *RET. */
static struct hv_err *find_machine(const char *debugfs, pid_t pid, char **ret)
{
	char prefix[16];
	DIR *dir = opendir(debugfs);
	const struct dirent *entry;
	unsigned nr = 0;

	if (!dir)
		return hv_err_new(ENOENT, "%s: %s", debugfs, strerror(errno));
	snprintf(prefix, sizeof(prefix), "%d-", (int)pid);
	*ret = NULL;
	while ((entry = readdir(dir))) {
		if (!hv_starts_with(entry->d_name, prefix) || nr++)
			continue;
		*ret = hv_format("%s/%s", debugfs, entry->d_name);
	}
	closedir(dir);
	if (nr == 1)
		return NULL;
	free(hv_take(*ret));
	return nr ? hv_err_new(ENOTUNIQ, "%s: process %d has %u virtual machines", debugfs,
			       (int)pid, nr)
		  : hv_err_new(ENOENT, "%s: no virtual machine of process %d", debugfs, (int)pid);
}

/* Reads a number that may have a sign. */
static struct hv_err *read_number(const char *machine, unsigned vcpu, const char *name,
				  uint64_t *ret)
{
	HV_AUTO_FREE char *path = hv_format("%s/vcpu%u/%s", machine, vcpu, name);
	HV_AUTO_FD int fd = -1;
	char text[32], *end;
	ssize_t n;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return hv_err_new(errno == ENOENT ? ENOENT : EIO, "%s: %s", path, strerror(errno));
	text[n] = 0;
	*ret = text[0] == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	if (end == text || (*end && *end != '\n'))
		return hv_err_new(EPROTO, "%s: not a number", path);
	return NULL;
}

struct hv_err *hv_kvm_tsc(const char *debugfs, pid_t pid, unsigned vcpu, struct hv_tsc *ret)
{
	HV_AUTO_FREE char *machine = NULL;
	struct hv_tsc tsc = {.ratio = 1};
	uint64_t frac_bits = 0;
	struct hv_err *err = find_machine(debugfs, pid, &machine);

	if (!err)
		err = read_number(machine, vcpu, "tsc-offset", &tsc.offset);
	if (err)
		return err;
	/* These files exist only if the hardware can scale the counter. */
	err = read_number(machine, vcpu, "tsc-scaling-ratio", &tsc.ratio);
	if (!err)
		err = read_number(machine, vcpu, "tsc-scaling-ratio-frac-bits", &frac_bits);
	if (err && err->code == ENOENT) {
		hv_err_free(err);
		*ret = (struct hv_tsc){.ratio = 1, .offset = tsc.offset};
		return NULL;
	}
	if (!err && (!tsc.ratio || frac_bits > 63))
		err = hv_err_new(EPROTO, "%s: vCPU %u: TSC ratio %llu >> %llu is not possible",
				 machine, vcpu, (unsigned long long)tsc.ratio,
				 (unsigned long long)frac_bits);
	if (err)
		return err;
	tsc.frac_bits = (unsigned)frac_bits;
	*ret = tsc;
	return NULL;
}
