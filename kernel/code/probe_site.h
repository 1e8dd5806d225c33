/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe inside a function: the instruction at its address, and the following instructions that
 * have to move so that a jump can be written over them. hv_probe_site_read() proves, by decoding
 * the function from its start, from the tables of the kernel and of the module, and, if several
 * instructions move, by searching all text for jumps into them:
 * - an instruction begins at the address, and all of them can be executed elsewhere (arch,
 *   find_movable);
 * - nothing leads into their middle: no jump, no exception fixup, no static key;
 * - the kernel neither patches nor needs them there: no ftrace site, static key or static call, no
 *   faulting instruction with a fixup, no address on its list of functions without kprobes.
 *
 * tracer/probe_sites/detours.h checks that no task is in the middle of them; patcher/probed.h
 * checks the guest's kprobes. All input is untrusted. */
#pragma once

#include "arch/detour.h"
#include "base/err.h"

struct hv_kernel;

struct hv_probe_site {
	struct hv_gva at;
	struct hv_gva site; /* the ftrace site of its function */
	size_t len_bytes;   /* total of all instructions that move */
	unsigned nr;	    /* number of these instructions */
	unsigned begins;    /* bit N: one of them begins at AT + N */
	uint8_t insns[HV_DETOUR_INSN_MAX];
};

/* Original kernel bytes that hvtrace has replaced. */
struct hv_own_bytes {
	struct hv_gva at;
	size_t len_bytes;
	uint8_t bytes[8];
};

/* OURS lists NR_OURS changes of hvtrace in the guest's text. Errors match those of the kernel's own
 * probes: EILSEQ if no instruction begins at AT, or if it raises an exception and the kernel
 * rejects that; EINVAL, with the kernel's wording, if the kernel allows no probe there. EOPNOTSUPP
 * if the kernel would allow the probe; the message gives hvtrace's reason. */
struct hv_err *hv_probe_site_read(const struct hv_kernel *k, struct hv_gva at,
				  const struct hv_own_bytes *ours, size_t nr_ours,
				  struct hv_probe_site *ret) hv_must_use;

#define HV_PROBE_REFUSED "Failed to register probe event"
