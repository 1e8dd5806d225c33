/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/neighbours.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/text.h"
#include "vmm/process/process.h"
#include "vmm/qemu/options.h"

/* -- threads that had a vCPU's CPU ------------------------------------------------------------- */

#define VHOST "vhost-" /* kernel threads that work for a VMM: "vhost-PID", with the VMM's pid */

/* Whether PROGRAM, a path, is a program whose only purpose is to be a VMM on KVM. */
static bool is_vmm(const char *program)
{
	static const char *const names[] = {"qemu-system-", "qemu-kvm", "kvm", "cloud-hypervisor",
					    "firecracker",  "crosvm",	"lkvm"};
	const char *name = strrchr(program, '/');

	name = name ? name + 1 : program;
	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(name, names[i], len) == 0 && (names[i][len - 1] == '-' || !name[len]))
			return true;
	}
	return false;
}

/* Reads QEMU's -name, which libvirt sets. */
static void take_domain(struct hv_taker *t, const struct hv_process *p)
{
	HV_AUTO_FREE char *name = NULL;
	const char *value;

	if (!hv_process_arg(p, "-name", 0, &value))
		return;
	name = hv_option_value(value, "guest", "guest");
	if (name)
		snprintf(t->domain, sizeof(t->domain), "%s", name);
}

static void look_at_taker(struct hv_taker *t, uint64_t vmm_pid)
{
	struct hv_process p = {0};
	struct hv_err *err = NULL;
	pid_t pid = 0;
	int owner;

	err = hv_process_of_thread((pid_t)t->task.pid, &pid);
	if (!err && (uint64_t)pid != vmm_pid)
		err = hv_process_open(pid, &p);
	/* Any program can use this name, so only kernel threads are believed. */
	if (!err && p.pid && sscanf(t->task.comm, VHOST "%d", &owner) == 1 &&
	    hv_is_kernel_thread((pid_t)t->task.pid)) {
		pid = owner;
		hv_process_close(&p);
		if ((uint64_t)pid != vmm_pid)
			err = hv_process_open(pid, &p);
	}
	if (!err && (uint64_t)pid == vmm_pid)
		t->kind = HV_TAKER_OWN;
	if (!err && t->kind != HV_TAKER_OWN)
		t->kind = p.nr_args && is_vmm(p.args[0]) ? HV_TAKER_VM : HV_TAKER_HOST;
	if (t->kind == HV_TAKER_VM)
		take_domain(t, &p);
	hv_process_close(&p);
	hv_err_free(err);
}

void latency_takers_look(struct hv_takers *t, uint64_t vmm_pid)
{
	for (size_t i = 0; i < t->nr; i++) {
		struct hv_taker *taker = &t->list[i];

		if (taker->was_looked_at || taker->taken_ns < HV_NS_PER_MS)
			continue;
		taker->was_looked_at = true;
		look_at_taker(taker, vmm_pid);
	}
}

/* -- processes that used the host's CPUs ------------------------------------------------------- */

#define PROCESSES_MAX 16384
#define TEXT_LEN      1024
#define PPM	      1000000
#define BUSY_PPM      50000

void latency_neighbours_deinit(struct latency_neighbours *n)
{
	free(n->list);
	*n = (struct latency_neighbours){0};
}

/* Parses proc_pid_stat(5) after the name, which may contain any characters: the state is the first
 * field; utime, stime and starttime are the 12th, 13th and 20th. */
static bool parse(const char *text, struct latency_neighbour *ret, struct hv_stall_task *ret_task)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t utime, stime;
	char comm[HV_STALL_COMM_LEN];

	if (!name || !end || end < name ||
	    sscanf(end + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %" SCNu64,
		   &utime, &stime, &ret->start) != 3)
		return false;
	snprintf(comm, sizeof(comm), "%.*s", (int)(end - name - 1), name + 1);
	*ret_task = hv_stall_task(ret->pid, comm);
	ret->ticks = utime + stime;
	return true;
}

static bool look(const char *pid, struct latency_neighbour *ret, struct hv_stall_task *ret_task)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%s/stat", pid);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[TEXT_LEN];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	ret->pid = (uint32_t)strtoul(pid, NULL, 10);
	return parse(text, ret, ret_task);
}

static int by_pid(const void *a, const void *b)
{
	const struct latency_neighbour *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void latency_neighbours_begin(struct latency_neighbours *n)
{
	DIR *dir = opendir("/proc");
	size_t cap = 0;

	n->begin_ns = hv_now_ns();
	for (struct dirent *e; dir && n->nr < PROCESSES_MAX && (e = readdir(dir));) {
		struct latency_neighbour one;
		struct hv_stall_task task;

		if (!isdigit((unsigned char)e->d_name[0]) || !look(e->d_name, &one, &task))
			continue;
		n->list = hv_grow(n->list, n->nr, &cap, 256, sizeof(*n->list));
		n->list[n->nr++] = one;
	}
	if (dir)
		closedir(dir);
	if (n->nr)
		qsort(n->list, n->nr, sizeof(*n->list), by_pid);
}

static bool is_guest(uint32_t pid)
{
	struct hv_process p = {0};
	struct hv_err *err = hv_process_open((pid_t)pid, &p);
	bool is = !err && p.nr_args && is_vmm(p.args[0]);

	hv_process_close(&p);
	hv_err_free(err);
	return is;
}

static void compare(struct latency_neighbours *n, const struct latency_neighbour *before,
		    double window_ticks)
{
	struct latency_neighbour now;
	struct hv_stall_task task;
	HV_AUTO_FREE char *pid = hv_format("%" PRIu32, before->pid);
	uint64_t ppm;

	if (!look(pid, &now, &task) || now.start != before->start || now.ticks <= before->ticks)
		return;
	ppm = (uint64_t)((double)(now.ticks - before->ticks) * PPM / window_ticks);
	if (ppm < BUSY_PPM)
		return;
	n->nr_guests += is_guest(now.pid);
	if (ppm > n->busiest_ppm) {
		n->busiest_ppm = ppm;
		n->busiest = task;
	}
}

void latency_neighbours_end(struct latency_neighbours *n, uint64_t vmm_pid)
{
	double seconds = (double)(hv_now_ns() - n->begin_ns) / HV_NS_PER_S;
	double window_ticks = seconds * (double)sysconf(_SC_CLK_TCK);

	for (size_t i = 0; i < n->nr && window_ticks >= 1; i++)
		if (n->list[i].pid != vmm_pid && n->list[i].pid != (uint32_t)getpid())
			compare(n, &n->list[i], window_ticks);
}
