/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How instances share one guest. A site calls only one stub, and a stub writes only the ring of its
 * vCPU. So the guest records the union of what the instances want, and the drain distributes the
 * events.
 *
 *   only the top instance traces, and its buffer has the initial size: no events are moved
 *
 *       guest's rings = the top instance's buffer
 *
 *   other instances trace too, the top instance's buffer must be in host memory, or events are
 *   enabled that the host makes or records (syscalls.h, kprobes.h, host_events.h):
 *
 *                                .- wants? - top.buffers.host
 *       guest's rings -- drain -<
 *                                '- wants? - in.buffers.host
 *
 * If several instances trace, the guest records function_graph without their limits on subtrees,
 * depth, threshold and interrupts. The host tracks open calls (open_calls.h) to find the calls of
 * each instance and their depth in it.
 *
 * The rings become the top instance's buffer again when it is cleared and nothing needs the drain.
 * demux/demux.h selects the events of each instance; buffers.h has the buffers. */
#pragma once

#include "tree/instance/core/instance.h"

/* Starts the drain unless it runs. Call it before a change that makes an instance other than the
 * top one trace. ENOMEM. */
struct hv_err *hv_instances_begin_sharing(struct hv_instances *all) hv_must_use;

/* Returns the buffer that IN's trace and trace_pipe read, with all events recorded until now.
 * Borrowed. A change may replace the buffer; existing cursors keep the old one. */
struct hv_buffer *hv_instance_buffer(struct hv_instance *in);
/* Moves IN's buffer with its events to host memory, unless it is there already. ENOMEM. */
struct hv_err *hv_instance_need_host(struct hv_instance *in) hv_must_use;
/* Resizes the buffer and the snapshot of CPU or of all vCPUs (HV_ALL_CPUS). They keep the newest
 * events that fit. ENOMEM: both are unchanged. */
struct hv_err *hv_instance_resize(struct hv_instance *in, int cpu, uint64_t size_bytes) hv_must_use;
/* Moves the events of the buffer, of CPU or of all vCPUs (HV_ALL_CPUS), to the snapshot, replacing
 * its contents. Creates the snapshot if there is none. ENOMEM. */
struct hv_err *hv_instance_take_snapshot(struct hv_instance *in, int cpu) hv_must_use;
/* Clears the buffer of CPU or of all vCPUs (HV_ALL_CPUS). */
void hv_instance_clear(struct hv_instance *in, int cpu);
/* Sets the page size, a power of two from HV_PAGE_BYTES_MIN to HV_PAGE_BYTES_MAX. A change clears
 * the buffer and the snapshot, and enlarges vCPU buffers that have less than HV_PAGES_MIN new
 * pages. ENOMEM: only some of the buffers may be enlarged. */
struct hv_err *hv_instance_use_pages(struct hv_instance *in, uint32_t page_bytes) hv_must_use;
/* Clears the buffer and the snapshot, and selects the clock for future events. Other instances keep
 * their clocks. */
void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock);
