/* How instances share the one guest. Its sites call one stub each and its stubs write one ring a
 * vCPU, so the guest records what any instance wants, and the drain gives each instance its own.
 *
 *   only the top traces, and its buffer has its first size: nothing is moved
 *
 *       guest's rings = the top's buffer
 *
 *   others trace too, or the top's buffer has to be in host memory:
 *
 *                                .- wants? - top.buffers.host
 *       guest's rings -- drain -<
 *                                '- wants? - in.buffers.host
 *
 * The rings become the top's buffer again when it is cleared and nothing needs the drain any more.
 * Leaves to others: the buffers themselves (buffers.h), commands of functions (obey.h). */
#pragma once

#include "tree/instance/instance.h"

/* Whether the guest's rings are shared now. */
static inline bool hv_share_is(const struct hv_instances *all)
{
	return all->drain != NULL;
}

/* IN, a new instance, gets the events it wants while the rings are shared, until it is removed. */
void hv_share_add(struct hv_instance *in);
void hv_share_remove(struct hv_instance *in);

/* What IN's trace and trace_pipe read now, with all that was recorded until now. Borrowed; it may
 * be another one after a change, while cursors stay with the one they were made for. */
struct hv_buffer *hv_instance_buffer(struct hv_instance *in);
/* IN's buffer is in host memory from now on and keeps what it has. ENOMEM. */
struct hv_err *hv_instance_need_host(struct hv_instance *in) hv_must_use;
/* Resizes the part of one vCPU, or of all (HV_ALL_CPUS), of the buffer and of the snapshot. They
 * keep what is in them, or the newest of it. ENOMEM: they are as before. */
struct hv_err *hv_instance_resize(struct hv_instance *in, int cpu, uint64_t size_bytes) hv_must_use;
/* Moves what is in the buffer, of one vCPU or of all (HV_ALL_CPUS), into the snapshot, in place of
 * what was there. Makes the snapshot if there is none. ENOMEM. */
struct hv_err *hv_instance_take_snapshot(struct hv_instance *in, int cpu) hv_must_use;
/* Empties the part of one vCPU, or of all (HV_ALL_CPUS), of the buffer. */
void hv_instance_clear(struct hv_instance *in, int cpu);
/* Empties the buffer and the snapshot. What comes into them from now on has times of CLOCK, which
 * is IN's alone. */
void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock);
