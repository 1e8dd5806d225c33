/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intercepts mount(2) in programs that see a guest's tracefs (enter.h), so that a mount of tracefs
 * or debugfs shows the guest's tree instead of the host's. A seccomp filter forwards each new mount
 * to a root process, the guard, which lives as long as any program under the filter. It leaves
 * mounts of other types, bind mounts, moves and remounts to the kernel. fsopen(2) of the two types
 * fails with EPERM. Root's programs can still leave the mount namespace in other ways, such as
 * setns(2): the guard only prevents accidental use of the host's tracing. */
#pragma once

#include "base/err.h"

/* Puts this process and its children under a guard. DEBUG_DIR and TRACING_DIR replace debugfs and
 * tracefs in the mount namespace. Does nothing under an existing guard, which uses the directories
 * of the caller's namespace. Fails if this kernel has no such filters. */
struct hv_err *mount_guard_start(const char *tracing_dir, const char *debug_dir) hv_must_use;
