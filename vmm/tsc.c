/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/tsc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/clock.h"
#include "base/prefix.h"

/* -- the host's counter ------------------------------------------------------------------------ */

#define TRIES	     16
/* After the newest sample, extrapolate with the rate of the last RATE_SAMPLES intervals. */
#define RATE_SAMPLES 4

static const struct hv_host_moment *moment(const struct hv_host_time *t, unsigned i)
{
	return &t->moments[(t->first + i) % HV_HOST_TIME_SAMPLES];
}

void hv_host_time_add(struct hv_host_time *t, struct hv_host_moment m)
{
	const struct hv_host_moment *last = t->nr ? moment(t, t->nr - 1) : NULL;

	if (last && (m.ticks <= last->ticks || m.ns <= last->ns))
		return;
	if (t->nr == HV_HOST_TIME_SAMPLES)
		t->first = (t->first + 1) % HV_HOST_TIME_SAMPLES;
	else
		t->nr++;
	t->moments[(t->first + t->nr - 1) % HV_HOST_TIME_SAMPLES] = m;
}

/* Reads the clock between two reads of the counter, several times, and keeps the try with the
 * shortest interval. */
void hv_host_time_sample(struct hv_host_time *t)
{
	struct hv_host_moment best = {0};
	uint64_t least = UINT64_MAX, before, after;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t ns;

		if (!hv_host_ticks(&before))
			return;
		ns = hv_now_ns();
		hv_host_ticks(&after);
		if (after - before >= least)
			continue;
		least = after - before;
		best = (struct hv_host_moment){before + least / 2, ns};
	}
	hv_host_time_add(t, best);
}

/* Returns the time at TICKS on the line through A and B. A is the earlier one. */
static uint64_t on_line(const struct hv_host_moment *a, const struct hv_host_moment *b,
			uint64_t ticks)
{
	__int128 distance = (__int128)ticks - (__int128)a->ticks;

	return a->ns +
	       (uint64_t)(distance * (__int128)(b->ns - a->ns) / (__int128)(b->ticks - a->ticks));
}

bool hv_host_time_at(const struct hv_host_time *t, uint64_t ticks, uint64_t *ret_ns)
{
	unsigned nr_before, from;

	if (t->nr < 2)
		return false;
	nr_before = HV_BISECT(i, t->nr, moment(t, i)->ticks <= ticks);
	if (nr_before == t->nr) {
		from = t->nr > RATE_SAMPLES ? t->nr - 1 - RATE_SAMPLES : 0;
		/* Continue from the newest sample at that rate. */
		*ret_ns =
			moment(t, t->nr - 1)->ns +
			on_line(moment(t, from), moment(t, t->nr - 1), ticks) -
			on_line(moment(t, from), moment(t, t->nr - 1), moment(t, t->nr - 1)->ticks);
		return true;
	}
	from = nr_before ? nr_before - 1 : 0;
	*ret_ns = on_line(moment(t, from), moment(t, from + 1), ticks);
	return true;
}

/* -- a guest's counter ------------------------------------------------------------------------- */

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
