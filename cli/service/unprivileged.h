/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work on a guest that parses what it wrote, in a child without rights (vmm/warden/sandbox.h). The
 * child has the guest by questions (near.h), which this process answers (far.h), and nothing else:
 * no file, no terminal. What it has to say it sends.
 * Leaves to others: the work, and what is made of what the child says, which may be the guest's
 * words. */
#pragma once

#include "base/text.h"
#include "vmm/guest.h"
#include "vmm/warden/channel.h"
#include "vmm/warden/rules.h"

#define UNPRIVILEGED_FIRST 512 /* the kinds of the child's messages */

struct hv_far;

struct unprivileged {
	const char *comm;      /* of the child */
	enum hv_adopts adopts; /* as for hv_far_new() */
	/* In the child. It sends messages at SOCKET, the last one without waiting for an answer. */
	void (*work)(struct hv_guest *guest, int socket, void *ctx);
	/* Here. Returns whether it was the last message. */
	bool (*heard)(const struct hv_message *m, void *ctx);
	void *ctx;
};

/* FAR: of the guest; NULL: one is made. ECHILD: the child died, or took too long. */
struct hv_err *unprivileged_run(struct hv_guest *guest, struct hv_far *far,
				const struct unprivileged *d) hv_must_use;
