/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place inside a function for a probe: the instruction there, and those behind it that have to
 * move, so that a jump can be written over them. What is proven, by walking through the function
 * from its start, by the tables of the kernel and of the function's module, and where several
 * instructions move, by a look for whatever leads into them in all text:
 *
 * - an instruction begins there, and all of them can be executed elsewhere (arch, find_movable);
 * - nothing leads into their middle: no jump, no way out of an exception, no static key;
 * - the kernel does not change or need them there itself: no site of ftrace, static key or static
 *   call, nothing that may fault and go on elsewhere, nothing on its list of what has no kprobes.
 *
 * Whether a task is in the middle of them is for others to see (tracer/detours.h), as are kprobes
 * of the guest's own (patcher/probed.h). Everything is hostile. */
#pragma once

#include "arch/detour.h"
#include "base/err.h"

struct hv_kernel;

struct hv_probe_place {
	struct hv_gva at;
	struct hv_gva site; /* of its function */
	size_t len_bytes;   /* of all instructions that move */
	unsigned nr;	    /* how many these are */
	unsigned begins;    /* bit N: one of them begins N bytes behind AT */
	uint8_t insns[HV_DETOUR_INSN_MAX];
};

/* Bytes of the kernel's own where ours are now. */
struct hv_own_bytes {
	struct hv_gva at;
	size_t len_bytes;
	uint8_t bytes[8];
};

/* OURS: what the guest's text has from us, NR_OURS. Errors are as the kernel's own probes have
 * them: EILSEQ, no instruction begins there, or one that raises an exception, where
 * the kernel's own say so; EINVAL, the kernel has no probes there, in its own
 * words. EOPNOTSUPP: the kernel would have one, and the message says why this has not. */
struct hv_err *hv_probe_place_read(const struct hv_kernel *k, struct hv_gva at,
				   const struct hv_own_bytes *ours, size_t nr_ours,
				   struct hv_probe_place *ret) hv_must_use;

#define HV_PROBE_REFUSED "Failed to register probe event"
