/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server of a mount, which parses a service's answers and has no rights, asks its helper
 * for: to start inspectors (inspector.h) and to unmount. The helper (cli/errand.h) keeps root's
 * rights, has neither /dev/fuse nor the service's socket, and reads only the kind of a request. Its
 * data is fixed when it starts.
 *
 *   service <--socket--> the server <--/dev/fuse--> the kernel
 *                        no rights
 *                            |  \--requests of fixed size--> the inspector
 *                            `--kind of a request--> the helper --starts--^
 */
#pragma once

#include "cli/errand.h"
#include "cli/mount/inspector.h"

/* The helper's capabilities: SYS_ADMIN to unmount, the others for the inspectors that it starts. */
#define MOUNT_HELPER_NEEDS (HV_CAP(SYS_ADMIN) | INSPECTOR_NEEDS)

struct mounted {
	const char *run_dir;
	const char *dir; /* mount point; NULL: the mount ends with its namespace */
	dev_t device;	 /* number of the mount */
};

/* Starts the helper. M must stay until errand_end(). */
struct hv_err *mount_errands_begin(struct errand *e, const struct mounted *m) hv_must_use;
/* Kills the inspector that the last call started, and starts another one. Fails (INSPECTOR_NONE)
 * until the one before has ended, so that there are at most two. */
struct inspector mount_errand_inspect(struct errand *e);
/* Returns whether the last inspector runs or waits for a processor. */
bool mount_errand_inspector_runs(struct errand *e);
/* Unmounts the tree lazily, if it is still the mount at its mount point, and removes a mount point
 * that hvtrace made. */
void mount_errand_unmount(struct errand *e);
