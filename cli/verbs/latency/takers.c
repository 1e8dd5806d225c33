/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/takers.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "vmm/kernel_thread.h"
#include "vmm/process/process.h"
#include "vmm/qemu/options.h"

#define VHOST "vhost-" /* kernel threads that work for a VMM: "vhost-PID", with the VMM's pid */

bool latency_is_vmm(const char *program)
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

static void look(struct hv_taker *t, uint64_t vmm_pid)
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
		t->kind = p.nr_args && latency_is_vmm(p.args[0]) ? HV_TAKER_VM : HV_TAKER_HOST;
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
		look(taker, vmm_pid);
	}
}
