/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An instance of our own in the host's tracefs, which records events of a guest's vCPU threads: by
 * the host's time stamp counter, and of those threads only. Its name says whose guest it is, so
 * that it is found and removed whoever died (hv_host_trace_remove). Needs root.
 * Leaves to others: reading its pages (tracer/host_tracer.h), who may ask for what (far.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

/* Finds where the host's tracefs is mounted. ENOENT: nowhere. */
struct hv_err *hv_host_tracefs(const char **ret) hv_must_use;

/* Adds the text of the format of each event of hv_host_event_names, in their order, each with a
 * NUL. One that this host does not have is empty. ENOENT: it has none of kvm's, or no clock by
 * which its events could be compared with the guest's. */
struct hv_err *hv_host_trace_formats(const char *tracefs, struct hv_text *ret) hv_must_use;

/* Makes the instance of the guest ID unless it is there, and has it record the events of MASK (a
 * bit for each of hv_host_event_names) of the threads TIDS. On errors there is no instance. ENOENT:
 * this host does not have an event of MASK. */
struct hv_err *hv_host_trace_switch(const char *tracefs, const char *id, uint32_t mask,
				    const pid_t *tids, size_t nr_tids) hv_must_use;
/* Opens trace_pipe_raw of up to MAX of the host's CPUs, from the one of number FIRST on, for reads
 * that do not wait. *RET_NEXT: the CPU after the last one; 0: these were all. */
struct hv_err *hv_host_trace_open(const char *tracefs, const char *id, unsigned first, int *ret_fds,
				  size_t max, size_t *ret_nr, unsigned *ret_next) hv_must_use;

/* Removes the instance of the guest ID, if there is one. Its files must be closed in all processes.
 * EBUSY: they are not; it does not record any more. */
struct hv_err *hv_host_trace_remove(const char *tracefs, const char *id) hv_must_use;
/* The same wherever tracefs is; does nothing if it is nowhere. */
void hv_host_trace_clean(const char *id);
