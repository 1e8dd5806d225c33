/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delays hibernation of a guest until the session is detached. The hibernation image on the guest's
 * disk would contain our calls and page-table slots, but the machine that resumes from it has no
 * region. So the kernel is made to wait before it creates the image (arch/x86_64/hibernation.S).
 *
 * cli/service/watch.h notices the wait and detaches. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct hv_change;
struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;

/* Adds to RET_REASON why a guest that hibernates would not wait. Adds nothing if it would wait, or
 * if its kernel cannot hibernate. Also reports a reason while a session's changes are in the
 * guest. */
struct hv_err *hv_hibernation_look(const struct hv_kernel *k,
				   struct hv_text *ret_reason) hv_must_use;

/* Call this when the stubs are mapped. Does nothing if the kernel has no suitable call. EAGAIN: the
 * guest has frozen its tasks, so it may already be creating an image. */
struct hv_err *hv_hibernation_begin(const struct hv_tracee *t) hv_must_use;

/* Returns whether the guest is waiting for hvtrace. A malicious guest can claim this at any
 * time. */
bool hv_hibernation_waits(const struct hv_tracee *t);

/* Plans the changes that undo hv_hibernation_begin(), for the hold that also clears the page-table
 * slots. Drops changes that the guest has overwritten. Returns their number; the caller frees
 * *RET. */
size_t hv_hibernation_undo_plan(const struct hv_tracee *t, struct hv_change **ret);

/* *RET: whether E, an entry of an untrusted journal, is a call that hv_hibernation_begin()
 * changed, and the journal would restore it. */
struct hv_err *hv_hibernation_is_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				      bool *ret) hv_must_use;
