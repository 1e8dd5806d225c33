/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recovery: undoing what a session that died left in a guest. It parses what the guest wrote (its
 * kernel, the journal), so a child without rights does it, and this process does for the child what
 * needs rights, as the warden does for a service (vmm/warden/far.h).
 * Leaves to others: who asks for it (the verb recover, the warden of a service that died). */
#pragma once

#include "base/text.h"
#include "vmm/guest.h"

struct hv_far;

struct recovery {
	struct hv_text report; /* what was done, in lines; to be freed */
	bool found;	       /* changes were found */
};

/* FAR: of the session that died, which knows what was there before; NULL: it is not known, so the
 * journal is believed. Tries for some seconds if that may help. SAY, which may be NULL, is told
 * what it waits for. */
struct hv_err *recovery_run(struct hv_guest *guest, struct hv_far *far, struct recovery *r,
			    void (*say)(void *ctx, const char *line), void *ctx) hv_must_use;
