/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the host that a session can record: their names, and the tracefs instance on the host
 * that records them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

/* -- names of events --------------------------------------------------------------------------- */

/* The host events that a session can record: tracepoints of the host's kernel, by name. Both sides
 * of a session have this list and refer to events by index. Append new events at the end. */

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

/* -- the instance ------------------------------------------------------------------------------ */

/* A tracefs instance on the host that records events of a guest's vCPU threads only, with the
 * host's time stamp counter. Its name contains the guest's id, so that it can be found and removed
 * after any process has died (hv_host_trace_remove). Needs root. tracer/host_tracer.h reads its
 * pages; server.h checks requests. */

/* Returns the mount point of the host's tracefs. Fails with ENOENT if it is not mounted. */
struct hv_err *hv_host_tracefs(const char **ret) hv_must_use;

/* Appends the format of each event of hv_host_event_names, in their order, each with a NUL. Formats
 * of events that this host lacks are empty. Fails with ENOENT if it has no kvm events, or no clock
 * that allows a comparison with the guest's events. */
struct hv_err *hv_host_trace_formats(const char *tracefs, struct hv_text *ret) hv_must_use;

/* Creates the instance of the guest ID if necessary, and makes it record the events of MASK (a bit
 * for each of hv_host_event_names) of the threads TIDS. On error there is no instance. Fails with
 * ENOENT if this host lacks an event of MASK. */
struct hv_err *hv_host_trace_switch(const char *tracefs, const char *id, uint32_t mask,
				    const pid_t *tids, size_t nr_tids) hv_must_use;
/* Opens trace_pipe_raw of up to MAX host CPUs, starting with CPU FIRST, for non-blocking reads.
 * *RET_NEXT is the next CPU, or 0 after the last. */
struct hv_err *hv_host_trace_open(const char *tracefs, const char *id, unsigned first, int *ret_fds,
				  size_t max, size_t *ret_nr, unsigned *ret_next) hv_must_use;

/* Removes the instance of the guest ID, if it exists. Its files must be closed in all processes.
 * Fails with EBUSY if they are not; the instance then no longer records. */
struct hv_err *hv_host_trace_remove(const char *tracefs, const char *id) hv_must_use;
/* Like hv_host_trace_remove(), but finds tracefs; does nothing if it is not mounted. */
void hv_host_trace_clean(const char *id);

/* -- threads of a VMM -------------------------------------------------------------------------- */

/* The threads of a VMM other than vCPUs: its main thread, I/O threads and workers, and the kernel's
 * vhost threads that work for it. Since 6.4 (commit f9010dbdce91) the latter are threads of the
 * VMM; before, they are kernel threads named after it. Needs no privileges if /proc shows every
 * process. */

/* Appends the threads that work for the VMM PID to LIST, which has *NR of at most MAX entries,
 * without duplicates. Threads that start or end during the call may or may not be included. */
void hv_host_trace_add_threads(pid_t pid, pid_t *list, size_t max, size_t *nr);
