/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's tree as a file system, through libfuse: a process of its own between the kernel and the
 * service's socket. What the kernel asks is passed on; nobody who asks waits in a way that a signal
 * cannot end, whatever the service does. Where libfuse was not there at build time, fusefs_none.c
 * is in its place.
 *
 * What differs from tracefs and cannot be otherwise: docs/users/tracefs.md.
 * Leaves to others: mounting (mountpoint.h), becoming the process (mounter.h), what files say. */
#pragma once

#include "base/err.h"
#include "cli/mount/link.h"

/* ENOTSUP with the reason where it was not built. */
struct hv_err *fusefs_available(void) hv_must_use;

/* Serves FUSE_FD, of /dev/fuse and already mounted, until it is unmounted, the service has gone, or
 * STOP_FD is readable. Takes FUSE_FD. */
void fusefs_serve(int fuse_fd, struct link *l, int stop_fd);
