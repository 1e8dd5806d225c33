/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How instances share the one guest. A site calls only one stub, and a stub writes only the ring of
 * its vCPU. So the guest records what any instance wants, and the drain gives each instance its own
 * events.
 *
 *   only the top traces, and its buffer has its first size: nothing is moved
 *
 *       guest's rings = the top's buffer
 *
 *   other instances trace, too, or the top's buffer has to be in host memory, or events are on
 *   that the host makes or has itself (syscalls.h, kprobes.h, host_events.h):
 *
 *                                .- wants? - top.buffers.host
 *       guest's rings -- drain -<
 *                                '- wants? - in.buffers.host
 *
 * The guest records function_graph for several instances without the limits of any of them:
 * subtrees, depth, threshold, interrupts. The host finds out which calls each of them wants, by the
 * calls that are open (open_calls.h), and gives them the depth that they have among these.
 *
 * The rings become the top's buffer again when it is cleared and nothing needs the drain.
 * Leaves to others: which events each instance gets (demux/demux.h), the buffers themselves
 * (buffers.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* From now on the host gives each instance what it wants, if it does not do so yet.
 * Callers do this before a change after which another instance than the top traces. ENOMEM. */
struct hv_err *hv_instances_begin_sharing(struct hv_instances *all) hv_must_use;

/* Returns the buffer that IN's trace and trace_pipe read, with everything that was recorded until
 * now. Borrowed. A change may replace the buffer; cursors keep the one for which they were made. */
struct hv_buffer *hv_instance_buffer(struct hv_instance *in);
/* Moves IN's buffer with its contents into host memory, unless it is there. ENOMEM. */
struct hv_err *hv_instance_need_host(struct hv_instance *in) hv_must_use;
/* Resizes the part of one vCPU, or of all (HV_ALL_CPUS), in the buffer and in the snapshot. They
 * keep their contents, or as many of the newest events as fit. ENOMEM: they are as before. */
struct hv_err *hv_instance_resize(struct hv_instance *in, int cpu, uint64_t size_bytes) hv_must_use;
/* Moves the contents of the buffer, of one vCPU or of all (HV_ALL_CPUS), into the snapshot and
 * replaces its contents. Makes the snapshot if there is none. ENOMEM. */
struct hv_err *hv_instance_take_snapshot(struct hv_instance *in, int cpu) hv_must_use;
/* Empties the part of one vCPU, or of all (HV_ALL_CPUS), of the buffer. */
void hv_instance_clear(struct hv_instance *in, int cpu);
/* Sets the length of pages, which is a power of two from HV_PAGE_BYTES_MIN to HV_PAGE_BYTES_MAX. If
 * it changes, empties the buffer and the snapshot, and makes vCPUs' parts larger that have less
 * than HV_PAGES_MIN of the new pages. ENOMEM: only some of the parts may be larger. */
struct hv_err *hv_instance_use_pages(struct hv_instance *in, uint32_t page_bytes) hv_must_use;
/* Empties the buffer and the snapshot, and chooses the clock for what is recorded from now on.
 * Other instances keep their clocks. */
void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock);
