/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host events that a session can record: tracepoints of the host's kernel, by name. Both sides
 * of a session have this list and refer to events by index. Append new events at the end. */
#pragma once

struct hv_host_event_name {
	const char *system;
	const char *name;
};

#define HV_HOST_EVENTS_MAX 32 /* each has a bit of a mask */

static const struct hv_host_event_name hv_host_event_names[] = {
	{"kvm", "kvm_entry"},	   {"kvm", "kvm_exit"},		{"kvm", "kvm_userspace_exit"},
	{"kvm", "kvm_page_fault"}, {"kvm", "kvm_halt_poll_ns"}, {"kvm", "kvm_vcpu_wakeup"},
	{"kvm", "kvm_inj_virq"},   {"kvm", "kvm_cpuid"},	{"kvm", "kvm_pio"},
	{"kvm", "kvm_mmio"},	   {"kvm", "kvm_msr"},		{"kvm", "kvm_hypercall"},
	{"sched", "sched_switch"}, {"sched", "sched_waking"},	{"sched", "sched_wakeup"},
};

#define HV_NR_HOST_EVENTS (sizeof(hv_host_event_names) / sizeof(hv_host_event_names[0]))

_Static_assert(HV_NR_HOST_EVENTS <= HV_HOST_EVENTS_MAX, "a mask has a bit for each event");
