/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A static key that tracepoints have in common, beside their own: while it is off, the guest does
 * not come to any of them. The kernel's functions that switch such a tracepoint on and off count
 * the key up and down (trace_pagefault_reg()), so its count is that of its tracepoints that are on.
 * Leaves to others: changing it (tracer/plug.h). */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_common_key {
	struct hv_gva reg, unreg;     /* the tracepoints' functions */
	struct hv_gva key;	      /* a struct static_key */
	struct hv_gva tracepoints[2]; /* all that have these functions */
};

/* The key of page faults. ENOENT: this kernel has none. */
struct hv_err *hv_common_key_find(const struct hv_kernel *k, struct hv_common_key *ret) hv_must_use;
