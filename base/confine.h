/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Confines a process before it reads what a guest, a peer or a stranger's file says. A process of
 * root's becomes the user "hvtrace" (the package makes it) or "nobody", without groups and
 * capabilities. Any process then loses, for good: the file system (Landlock, where the kernel has
 * it), new sockets, signals to other processes, programs, and all system calls but those that
 * compute and use files that are open.
 * Leaves to others: what must be opened before, and who opens files for it later (cli/errand.h).
 * The service of a session has a stricter sandbox (vmm/warden/sandbox.h). */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* What a process may do besides. */
enum hv_confine_may {
	HV_MAY_START = 1 << 0,	/* threads and child processes, which are confined as well */
	HV_MAY_READ = 1 << 1,	/* open files for reading that any user of the host can read; where
				 * the kernel has Landlock, only files below READABLE */
	HV_MAY_LISTEN = 1 << 2, /* accept connections at sockets that it has */
};

#define HV_CONFINE_READABLE_MAX 4

struct hv_confinement {
	unsigned may;				       /* of enum hv_confine_may */
	const char *readable[HV_CONFINE_READABLE_MAX]; /* directories; NULL: no more */
	/* A directory whose files a process of root's reads with the rights of the directory's
	 * owner, at the path that hv_confined_path() returns; -1: there is none. Used with
	 * HV_MAY_READ. */
	int dir_fd;
	unsigned nr_files;   /* that can be open at a time; 0: the limit stays as it is */
	size_t memory_bytes; /* of its own; 0: the limit stays as it is */
};
#define HV_CONFINEMENT_NONE                                                                        \
	{                                                                                          \
		.dir_fd = -1                                                                       \
	}

/* Where a process finds the directory PATH, which is dir_fd, once it is confined: without Landlock,
 * in a root of its own that has nothing else, which needs CAP_SYS_ADMIN. */
const char *hv_confined_path(const char *path);
/* The process has one thread. After an error it may have lost some of its rights, and must end. */
struct hv_err *hv_confine(const struct hv_confinement *c) hv_must_use;
/* Limits what this process allocates to LEN_BYTES, for good; memory that it shares does not count.
 * A lower limit stays. Sanitizers reserve more than any limit, so test builds have none. */
struct hv_err *hv_limit_memory(size_t len_bytes) hv_must_use;
