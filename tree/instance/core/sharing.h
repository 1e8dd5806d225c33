/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How instances share one guest. A site calls only one trampoline, and a trampoline writes only the
 * ring of its vCPU. So the guest records the union of what the instances want, and the drain
 * distributes the events.
 *
 *   only the top instance traces, and its buffer has the initial size: no events are moved
 *
 *       guest's rings = the top instance's buffer
 *
 *   other instances trace too, the top instance's buffer must be in host memory, or events are
 *   enabled that the host makes or records (syscalls.h, kprobes.h, events/match.h):
 *
 *                                .- wants? - top.buffers.host
 *       guest's rings -- drain -<
 *                                '- wants? - in.buffers.host
 *
 * If several instances trace, the guest records function_graph without their limits on subtrees,
 * depth, threshold and interrupts. The host tracks open calls (match.h) to find the calls of each
 * instance and their depth in it.
 *
 * The rings become the top instance's buffer again when it is cleared and nothing needs the drain.
 * demux/demux.h selects the events of each instance; buffers.h has the buffers. */
#pragma once

#include "base/switch.h"
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

/* -- recording --------------------------------------------------------------------------------- */

/* Whether an instance records: tracing_on, pauses, and the guest's switch.
 *
 * The guest has one switch. While only the top instance traces, the switch is its tracing_on, and
 * the commands traceon and traceoff set it in the guest, even in a pause, which is a separate
 * switch. Otherwise the guest records whatever any instance wants, and each instance discards the
 * rest (demux.h). */

/* Returns the value of tracing_on. */
unsigned hv_instance_tracing_on(const struct hv_instance *in);
/* Returns whether events are recorded now: tracing_on is set and no pause is active. */
bool hv_instance_records(const struct hv_instance *in);

/* The following use the host's copy of tracing_on, which is current while the instances share the
 * rings; function commands that the guest executes do not update it. Returns whether tracing_on is
 * set. */
bool hv_instance_is_on(const struct hv_instance *in);
/* Returns whether IN takes events that the drain passes now: it is on, and no pause is active. */
bool hv_instance_takes(const struct hv_instance *in);
/* Like hv_instance_takes(), for events on CPU, which tracing_cpumask may exclude. */
bool hv_instance_takes_on(const struct hv_instance *in, unsigned cpu);
/* Copies the top instance's tracing_on from the guest. */
void hv_recording_learn(struct hv_instance *top);

/* Returns whether the host executes function commands (commands.h), instead of the guest. */
bool hv_recording_host_has_commands(const struct hv_instances *all);
void hv_recording_set_host_has_commands(struct hv_instances *all, enum hv_switch to);

/* Sets tracing_on. */
void hv_instance_set_recording(struct hv_instance *in, enum hv_switch to);
/* Like hv_instance_set_recording(), without draining first. For consumers of the drain. */
void hv_instance_switch_recording(struct hv_instance *in, enum hv_switch to);

/* Pause and resume recording. Pauses nest. tracing_on does not change. */
void hv_instance_pause(struct hv_instance *in);
void hv_instance_go_on(struct hv_instance *in);

/* Sets the guest's switch according to the instances' settings. */
void hv_recording_publish(struct hv_instances *all);
