/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims prevent the guest from removing modules that contain changes of hvtrace.
 *
 * A claim raises a module's use count by an amount that no other user adds. The journal has an
 * entry for each claim, so that a claim survives if hvtrace is killed, and no other module's memory
 * is changed when claims are released. Claims of earlier versions of hvtrace have no entry: they
 * are found by their bit, unless the types of the kernel are from a BTF file without a build id. To
 * the guest's root the module is in use, as when the guest's perf records its events.
 *
 * event_tracer.h decides which modules to claim and when to release them. */
#pragma once

#include "kernel/sites/modules.h"

struct hv_tracee;

/* The amount that a claim adds to a module's count, and the changed byte of the count. Without a
 * claim this bit is never set, and the rest of a count is at most HV_MODULE_USES_MAX. */
#define HV_MODULE_CLAIM	     (1u << 29)
#define HV_MODULE_CLAIM_BYTE 3
#define HV_MODULE_USES_MAX   (1u << 20)

struct hv_journal_entry;

/* Claims MODULE of the tracee's kernel. Sets *RET_NEW to whether it was unclaimed before. EBUSY:
 * the guest is loading or removing it. ENOTSUP: the value there is no count of an unclaimed
 * module. */
struct hv_err *hv_module_claim(struct hv_tracee *t, const struct hv_module *module,
			       bool *ret_new) hv_must_use;

/* Finds up to MAX modules that this session has claimed. RET has room for MAX names, borrowed from
 * the tracee's list of modules. Returns the number found. */
size_t hv_module_claims_read(const struct hv_tracee *t, size_t max, const char **ret);

/* Releases the claims in the journal, which after hv_patcher_adopt() include those of an earlier
 * session, except where KEEPS(CTX) returns true. KEEPS NULL: no exceptions. */
struct hv_err *hv_module_claims_take_out(struct hv_tracee *t,
					 bool (*keeps)(void *ctx, const struct hv_module *module),
					 void *ctx) hv_must_use;

/* For a recovery: sets *RET to whether ENTRY of a journal is a claim of a listed module. */
struct hv_err *hv_module_claims_are_ours(const struct hv_tracee *t,
					 const struct hv_journal_entry *entry,
					 bool *ret) hv_must_use;
