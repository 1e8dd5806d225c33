/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's tree as a file system, based on libfuse: a process between the kernel and the service's
 * socket, the server. It forwards the kernel's requests. A signal can always end a program's wait,
 * even if the service hangs. The server gives up all rights before it reads from the service, and
 * has a helper for the rest (mount_errands.h). Builds without libfuse use fusefs_none.c.
 *
 * docs/users/tracefs.md lists the unavoidable differences from tracefs. mountpoint.h mounts the
 * tree; mounter.h starts the process. */
#pragma once

#include "base/err.h"

struct link;
struct mounted;

/* ENOTSUP with the reason in builds without libfuse. */
struct hv_err *fusefs_available(void) hv_must_use;

/* Serves FUSE_FD, an open /dev/fuse that is mounted as M, until it is unmounted, the service
 * disconnects, or STOP_FD is readable. Then unmounts it. Takes FUSE_FD. This process, which must
 * have one thread, loses its rights. */
void fusefs_serve(int fuse_fd, struct link *l, int stop_fd, const struct mounted *m);
