/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets records follow the names of tasks. A record has no name: a task record precedes the records
 * of a task when another task was recorded on that vCPU last. So a task that gets another name (by
 * exec, prctl, or a write to its comm) needs a new task record. While a session lasts, the kernel
 * calls a stub after it has written a name (arch/x86_64/rename.S), which sees to that.
 * Leaves to others: the names on the host (events/names.h). */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;

/* The function that the stub goes on to; some kernels have none. */
#define HV_RENAMES_CALLEE "perf_event_comm"

/* Adds to RET_REASON why the records of a task keep the name that it had; adds nothing if they do
 * not. If a session's changes are in the guest, it finds a reason. */
struct hv_err *hv_renames_look(const struct hv_kernel *k, struct hv_text *ret_reason) hv_must_use;

/* Called when the stubs are mapped. Changes nothing if the kernel has no such place, or one of the
 * guest's own kprobes is there. Errors with HV_ERR_NEEDS_RECOVERY only: without this, names are
 * those that tasks had, and a session can do without. */
struct hv_err *hv_renames_begin(const struct hv_tracee *t) hv_must_use;
/* Whether it was done. */
bool hv_renames_are_followed(const struct hv_tracee *t);

/* Puts back what hv_renames_begin() did. What the guest has overwritten is its own. EBUSY: one of
 * the guest's own kprobes has copied our call. */
struct hv_err *hv_renames_end(const struct hv_tracee *t) hv_must_use;

/* *RET: E, an entry of an untrusted journal, is about such a call, and the journal would restore
 * it. */
struct hv_err *hv_renames_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				   bool *ret) hv_must_use;
