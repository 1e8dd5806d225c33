/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a guest from hibernating while anything of ours is in it. The image that it writes to its
 * disk would have our calls and page-table slots, and the machine that resumes from it does not
 * have the region. So the kernel is made to wait on its way to the image
 * (arch/x86_64/hibernation.S) until the session is detached. Leaves to others: noticing the wait in
 * time and detaching (cli/service/watch.h). */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct hv_change;
struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;

/* Adds to RET_REASON why a guest that hibernates is not made to wait; adds nothing if it is, or if
 * its kernel cannot hibernate. If a session's changes are in the guest, it finds a reason. */
struct hv_err *hv_hibernation_look(const struct hv_kernel *k,
				   struct hv_text *ret_reason) hv_must_use;

/* Called when the stubs are mapped. Does nothing if the kernel has no such place. EAGAIN: the guest
 * has frozen its tasks, so it may be making an image already. */
struct hv_err *hv_hibernation_begin(const struct hv_tracee *t) hv_must_use;

/* Whether the guest waits for us. A hostile guest can say so at any time. */
bool hv_hibernation_waits(const struct hv_tracee *t);

/* The changes that put back what hv_hibernation_begin() did, for the hold that also empties the
 * page-table slots. Changes that the guest has overwritten are forgotten. Returns their number; the
 * caller frees *RET. */
size_t hv_hibernation_undo_plan(const struct hv_tracee *t, struct hv_change **ret);

/* *RET: E, an entry of an untrusted journal, is about such a call, and the journal would restore
 * it. */
struct hv_err *hv_hibernation_is_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				      bool *ret) hv_must_use;
