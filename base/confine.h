/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Confines a process before it parses untrusted data from a guest, a peer or a file.
 *
 * A root process switches to the user "hvtrace", which the package creates, or "nobody", and drops
 * groups and capabilities. Every process then permanently loses access to the file system (with
 * Landlock, if the kernel has it), new sockets, signals to other processes, execution of programs,
 * and all system calls except those for computing and for using open files.
 *
 * The caller opens what it needs in advance; cli/errand.h opens files later. A session's service
 * uses a stricter sandbox (vmm/broker/sandbox.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Rights that a confined process can keep. */
enum hv_confine_may {
	HV_MAY_START = 1 << 0, /* create threads and child processes, which are confined, too */
	/* Open files for reading that are readable by any user of the host; with Landlock, only
	 * below `readable`. */
	HV_MAY_READ = 1 << 1,
	HV_MAY_LISTEN = 1 << 2, /* accept connections on existing sockets */
	HV_MAY_PROBE = 1 << 3,	/* ask whether a process exists (kill(2) with signal 0) */
};

#define HV_CONFINE_READABLE_MAX 4

struct hv_confinement {
	unsigned may;				       /* of enum hv_confine_may */
	const char *readable[HV_CONFINE_READABLE_MAX]; /* directories; unused entries are NULL */
	/* A directory whose files the process reads as the directory's owner, or -1. Requires root
	 * and HV_MAY_READ. */
	int dir_fd;
	unsigned nr_files;   /* maximum number of open files; 0: unchanged */
	size_t memory_bytes; /* maximum private memory; 0: unchanged */
};
#define HV_CONFINEMENT_NONE                                                                        \
	{                                                                                          \
		.dir_fd = -1                                                                       \
	}

/* Call before hv_confine(). Returns the path that dir_fd, which is at PATH, will have afterwards.
 * It changes if the kernel has no Landlock: then hv_confine() enters a new root directory that
 * contains only dir_fd, and needs CAP_SYS_ADMIN for that. */
const char *hv_confined_path(const char *path);
/* Must be called while the process has one thread. After an error, some rights may be lost, so the
 * process must exit. */
struct hv_err *hv_confine(const struct hv_confinement *c) hv_must_use;
/* Permanently limits the private memory of this process to LEN_BYTES. Shared memory is not counted,
 * and a lower limit is kept. Has no effect in builds with sanitizers, which reserve more than any
 * limit. */
struct hv_err *hv_limit_memory(size_t len_bytes) hv_must_use;

/* -- for sanitizers ---------------------------------------------------------------------------- */

/* The system calls and accesses that confine.c permits only because sanitizers need them. Private
 * to confine.c. Builds with sanitizers use confine_sanitized.c, others confine_plain.c, which
 * permits none. */

extern const int hv_sanitizer_calls[];
extern const size_t hv_nr_sanitizer_calls;
extern const char *const hv_sanitizer_readable; /* a directory, or NULL */
extern const bool hv_sanitizer_maps_code;
extern const unsigned long hv_sanitizer_traces_itself;
