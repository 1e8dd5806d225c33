/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims prevent the guest from removing modules that contain changes of hvtrace.
 *
 * A claim raises a module's use count by an amount that no other user adds. So the guest alone
 * stores whether a module is claimed: this survives if hvtrace is killed, and claims can be
 * released without a journal. To the guest's root the module is in use, as when the guest's perf
 * records its events.
 *
 * event_tracer.h decides which modules to claim and when to release them. */
#pragma once

#include "kernel/sites/modules.h"

struct hv_tracee;

/* The amount that a claim adds to a module's count, and the changed byte of the count. Without a
 * claim this bit is never set. */
#define HV_MODULE_CLAIM	     (1u << 29)
#define HV_MODULE_CLAIM_BYTE 3

/* Claims MODULE of the tracee's kernel. Sets *RET_NEW to whether it was unclaimed before. EBUSY:
 * the guest is loading or removing it. */
struct hv_err *hv_module_claim(struct hv_tracee *t, const struct hv_module *module,
			       bool *ret_new) hv_must_use;

/* Finds up to MAX modules that are claimed now, by any process of hvtrace. RET has room for MAX
 * names, borrowed from the tracee's list of modules. Returns the number found. */
size_t hv_module_claims_read(const struct hv_tracee *t, size_t max, const char **ret);

/* Releases the claims on all modules, including claims of other processes, except where KEEPS(CTX)
 * returns true. KEEPS NULL: no exceptions. */
struct hv_err *hv_module_claims_take_out(struct hv_tracee *t,
					 bool (*keeps)(void *ctx, const struct hv_module *module),
					 void *ctx) hv_must_use;
