/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A static key that several tracepoints share in addition to their own keys: while it is off, the
 * guest reaches none of them. The kernel's functions that enable and disable such a tracepoint
 * increment and decrement the key (trace_pagefault_reg()), so it counts the enabled tracepoints.
 * tracer/plug.h changes it. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_common_key {
	struct hv_gva reg, unreg;     /* the tracepoints' functions */
	struct hv_gva key;	      /* a struct static_key */
	struct hv_gva tracepoints[2]; /* all tracepoints with these functions */
};

/* Finds the key of page faults. Fails with ENOENT if this kernel does not have it. */
struct hv_err *hv_common_key_find(const struct hv_kernel *k, struct hv_common_key *ret) hv_must_use;
