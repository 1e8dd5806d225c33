/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a root process drops its privileges: the common part of the service's sandbox
 * (broker/sandbox.h) and of the sandbox of `hvtrace run` (minivm/minivm.h). The user is "hvtrace",
 * which the package creates, or "nobody" if that does not exist. The callers know which further
 * system calls they need and which files to open before. */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Drops the user, its groups, capabilities, the file system and the network. Call this as root in a
 * single-threaded process, before it restricts its system calls. */
struct hv_err *hv_rights_leave_root(void) hv_must_use;

struct hv_syscall_if {
	int call; /* as SCMP_SYS() returns it */
	struct scmp_arg_cmp only_if;
};

struct hv_syscalls {
	const int *calls; /* allowed with any arguments */
	size_t nr_calls;
	const struct hv_syscall_if *some;
	size_t nr_some;
	int most_frequent; /* checked first; -1: none */
	bool makes_threads;
};

/* Makes all system calls fail with EPERM except ALLOWED and those that every sandbox needs. None of
 * the latter opens a file by name, accesses another process or a network address, or makes memory
 * executable. BROKER is the only socket on which file descriptors can be passed, unless ALLOWED has
 * others. */
struct hv_err *hv_rights_leave_calls(int broker, const struct hv_syscalls *allowed) hv_must_use;

/* Returns the error "giving up rights: WHAT: " and the text of the errno CODE. */
struct hv_err *hv_rights_failed(const char *what, int code) hv_must_use;
