/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Updates task names in records when the guest renames a task. Records contain no name; a task
 * record precedes the records of a task if the vCPU last recorded another task. So a task that is
 * renamed (by exec, prctl, or a write to its comm) needs a new task record. During a session, the
 * kernel calls a stub after it has written a name (arch/x86_64/rename.S), which causes one.
 *
 * events/names.h stores the names on the host. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;

/* Adds to RET_REASON why records keep a task's old name; adds nothing if they do not. Also reports
 * a reason while a session's changes are in the guest. */
struct hv_err *hv_renames_look(const struct hv_kernel *k, struct hv_text *ret_reason) hv_must_use;

/* Call this when the stubs are mapped. Changes nothing if the kernel has no suitable call, or if a
 * kprobe of the guest is there. Returns only errors with HV_ERR_NEEDS_RECOVERY: a session also
 * works with outdated names. */
struct hv_err *hv_renames_begin(const struct hv_tracee *t) hv_must_use;
bool hv_renames_are_followed(const struct hv_tracee *t);

/* Undoes hv_renames_begin(), except where the guest has overwritten it. EBUSY: a kprobe of the
 * guest has copied our call. */
struct hv_err *hv_renames_end(const struct hv_tracee *t) hv_must_use;

/* *RET: whether E, an entry of an untrusted journal, is a call that hv_renames_begin() changed,
 * and the journal would restore it. */
struct hv_err *hv_renames_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				   bool *ret) hv_must_use;
