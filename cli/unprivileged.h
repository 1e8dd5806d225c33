/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up the rights of a process that only reads events and writes text, so that a mistake in it
 * cannot become more: all capabilities, for good, and what programs that it executes would gain.
 * The user stays, so that it can connect to services and open its own files. Leaves to others: when
 * nothing else is needed any more. */
#pragma once

#include "base/err.h"

enum unprivileged {
	UNPRIVILEGED,
	UNPRIVILEGED_MAY_KILL, /* processes of any user: a child may have become somebody else */
};

/* Of the calling thread and those that it makes from now on. Nothing changes for a process without
 * capabilities, but that programs that it executes gain none. */
struct hv_err *unprivileged_become(enum unprivileged what) hv_must_use;
