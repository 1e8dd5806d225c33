/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becoming the process that serves a mounted tree: a client of the service which goes, and
 * unmounts, when the service does.
 * Leaves to others: what is served (fusefs.h), where (mountpoint.h). */
#pragma once

#include "cli/client.h"

/* Serves FUSE_FD, mounted in this process's mount namespace, for as long as that lives and the
 * service does; from OUTSIDE_FD, another namespace, so as not to keep it alive. Takes the
 * connection and FUSE_FD. */
struct hv_err *mounter_serve_private(struct client *c, int fuse_fd, int outside_fd) hv_must_use;

/* All of it for a verb: DIR NULL is the default for DOMAIN. *RET_DIR: the caller frees. */
struct hv_err *mounter_mount(const char *run_dir, const char *spec, const char *libvirt_uri,
			     const char *dir, char **ret_dir) hv_must_use;
