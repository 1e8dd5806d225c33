/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the process that serves a mounted tree: a client of the service that unmounts and exits
 * when the service ends. fusefs.h serves requests; mountpoint.h mounts. */
#pragma once

#include "cli/client.h"

/* Serves FUSE_FD, which is mounted at AT in this process's mount namespace, until that namespace or
 * the service ends. Serves from the namespace OUTSIDE_FD, so as not to keep the other one alive.
 * Takes the connection and FUSE_FD. */
struct hv_err *mounter_serve_private(struct client *c, int fuse_fd, const char *at,
				     int outside_fd) hv_must_use;

/* Does all steps for a verb. DIR NULL is the default directory for the domain. The caller frees
 * *RET_DIR. */
struct hv_err *mounter_mount(const char *run_dir, const char *spec, const char *libvirt_uri,
			     const char *dir, char **ret_dir) hv_must_use;
