/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a process of root's gives up its rights: what the sandbox of the service (warden/sandbox.h)
 * and the one of a VMM of our own (minivm/sandbox.h) have in common. The user is "hvtrace" if there
 * is one (the package makes it), else "nobody".
 * Leaves to others: which system calls a sandbox needs besides, what must be opened before. */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Gives up the user, its groups, capabilities, the file system, the network. To be called by root,
 * in the only thread of the process, before it limits its system calls. */
struct hv_err *hv_rights_leave_root(void) hv_must_use;

struct hv_syscall_if {
	int call; /* as SCMP_SYS() has it */
	struct scmp_arg_cmp only_if;
};

struct hv_syscalls {
	const int *calls; /* whatever the arguments */
	size_t nr_calls;
	const struct hv_syscall_if *some;
	size_t nr_some;
	int most_frequent; /* which is looked at first; -1: none is */
	bool makes_threads;
};

/* Refuses all system calls, by EPERM, but those of ALLOWED and those that every sandbox needs, none
 * of which names a file, another process or a network address, or makes memory executable. WARDEN
 * is the only socket at which files can be passed on. */
struct hv_err *hv_rights_leave_calls(int warden, const struct hv_syscalls *allowed) hv_must_use;

/* "giving up rights: WHAT: ", and what CODE, of errno, means. */
struct hv_err *hv_rights_failed(const char *what, int code) hv_must_use;
