/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's tree as a file system, based on libfuse: a process between the kernel and the service's
 * socket. It forwards the kernel's requests. A signal can always end a program's wait, even if the
 * service hangs. Builds without libfuse use fusefs_none.c.
 *
 * docs/users/tracefs.md lists the unavoidable differences from tracefs. mountpoint.h mounts the
 * tree; mounter.h starts the process. */
#pragma once

#include "base/err.h"

struct link;

/* ENOTSUP with the reason in builds without libfuse. */
struct hv_err *fusefs_available(void) hv_must_use;

/* Serves FUSE_FD, an open /dev/fuse that is already mounted, until it is unmounted, the service
 * disconnects, or STOP_FD is readable. Takes FUSE_FD. */
void fusefs_serve(int fuse_fd, struct link *l, int stop_fd);
