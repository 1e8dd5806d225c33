/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers mount(2) of a program that sees a guest's tracefs (enter.h): a mount of tracefs or
 * debugfs shows the guest's tree, not the host's. A seccomp filter hands each new mount to a
 * process of root's, the guard, which lives as long as any program under the filter. It leaves
 * mounts of other types, bind mounts, moves and remounts to the kernel. fsopen(2) of the two types
 * is refused with EPERM. Programs of root's can still leave the mount namespace by other ways, such
 * as setns(2): the guard keeps a program from reaching the host's tracing by mistake. */
#pragma once

#include "base/err.h"

/* Puts this process and all that it starts under a guard. DEBUG_DIR: the directory that stands for
 * debugfs in the mount namespace; TRACING_DIR for tracefs. Does nothing under a guard already,
 * which answers by the directories of the caller's namespace. ENOSYS: this kernel has no such
 * filters. */
struct hv_err *mount_guard_start(const char *tracing_dir, const char *debug_dir) hv_must_use;
