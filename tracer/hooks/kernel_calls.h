/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Direct calls in the kernel's code, other than sites, that lead to a trampoline during a session:
 * how they are redirected, and the calls for renamed tasks and for hibernation. The trampoline acts
 * like the original function for its caller.
 *
 * kernel/code/text_search.h finds calls, guest_ftrace.h and event_calls.h redirect others, patcher/
 * writes. One thread. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"
#include "kernel/code/text_search.h"
#include "patcher/patcher.h"

struct hv_change;
struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;

/* -- redirecting a call ------------------------------------------------------------------------ */

/* Plans the change that makes CALL lead to TO. *RET_PLANNED is false, and *RET unchanged, if the
 * guest has changed the code, if the instruction crosses a page so that no single write can change
 * it, or if TO is out of reach. */
struct hv_err *hv_redirect_plan(const struct hv_tracee *t, const struct hv_call *call,
				struct hv_gva to, enum hv_change_kind kind, struct hv_change *ret,
				bool *ret_planned) hv_must_use;

/* Sets *RET to whether E, an entry of an untrusted journal, is a redirected call: it leads into the
 * range of T now, and the journal would make it lead into FUNCTIONS with the same instruction. The
 * bytes in the guest become E's new ones. */
struct hv_err *hv_redirect_is_ours(const struct hv_tracee *t, struct hv_gva_range functions,
				   struct hv_journal_entry *e, bool *ret) hv_must_use;

/* -- names of tasks ---------------------------------------------------------------------------- */

/* Updates task names in records when the guest renames a task. Records contain no name; a task
 * record precedes the records of a task if the vCPU last recorded another task. So a task that is
 * renamed (by exec, prctl, or a write to its comm) needs a new task record. During a session, the
 * kernel calls a trampoline after it has written a name (arch/x86_64/rename.S), which causes one.
 * events/names.h stores the names on the host. */

/* Adds to RET_REASON why records keep a task's old name; adds nothing if they do not. Also reports
 * a reason while a session's changes are in the guest. */
struct hv_err *hv_renames_look(const struct hv_kernel *k, struct hv_text *ret_reason) hv_must_use;

/* Call this when the trampolines are mapped. Changes nothing if the kernel has no suitable call, or
 * if a kprobe of the guest is there. Returns only errors with HV_ERR_NEEDS_RECOVERY: a session also
 * works with outdated names. */
struct hv_err *hv_renames_begin(const struct hv_tracee *t) hv_must_use;
bool hv_renames_are_followed(const struct hv_tracee *t);

/* Undoes hv_renames_begin(), except where the guest has overwritten it. EBUSY: a kprobe of the
 * guest has copied our call. */
struct hv_err *hv_renames_end(const struct hv_tracee *t) hv_must_use;

/* Sets *RET to whether E, an entry of an untrusted journal, is a call that hv_renames_begin()
 * changed, and the journal would restore it. */
struct hv_err *hv_renames_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				   bool *ret) hv_must_use;

/* -- hibernation ------------------------------------------------------------------------------- */

/* Delays hibernation of a guest until the session is detached. The hibernation image on the guest's
 * disk would contain our calls and page-table entries, but the machine that resumes from it has no
 * region. So the kernel is made to wait before it creates the image (arch/x86_64/hibernation.S).
 * cli/service/watch.h notices the wait and detaches. */

/* Adds to RET_REASON why a guest that hibernates would not wait. Adds nothing if it would wait, or
 * if its kernel cannot hibernate. Also reports a reason while a session's changes are in the
 * guest. */
struct hv_err *hv_hibernation_look(const struct hv_kernel *k,
				   struct hv_text *ret_reason) hv_must_use;

/* Call this when the trampolines are mapped. Does nothing if the kernel has no suitable call.
 * EAGAIN: the guest has frozen its tasks, so it may already be creating an image. */
struct hv_err *hv_hibernation_begin(const struct hv_tracee *t) hv_must_use;

/* Returns whether the guest is waiting for hvtrace. A malicious guest can claim this at any
 * time. */
bool hv_hibernation_waits(const struct hv_tracee *t);

/* Plans the changes that undo hv_hibernation_begin(), for the hold that also clears the page-table
 * entries. Drops changes that the guest has overwritten. Returns their number; the caller frees
 * *RET. */
size_t hv_hibernation_undo_plan(const struct hv_tracee *t, struct hv_change **ret);

/* Sets *RET to whether E, an entry of an untrusted journal, is a call that hv_hibernation_begin()
 * changed, and the journal would restore it. */
struct hv_err *hv_hibernation_is_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				      bool *ret) hv_must_use;
