/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mounts and unmounts a guest's tree with the kernel's own system calls, without fusermount and
 * libfuse, and finds mounts in /proc/self/mountinfo. A mount of hvtrace has the source "tracefs"
 * and the type "fuse.hvtrace". Which session's tree is mounted where, whoever mounts it notes in
 * the session's directory (rundir.h), as the path and the number of the file system's device.
 * Leaves to others: serving the tree (fusefs.h). */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Returns RUN_DIR/tracing/NAME, with ID in place of a NAME that cannot be a file's name. The caller
 * frees it. */
char *mountpoint_default(const char *run_dir, const char *name, const char *id) hv_must_use;
/* mountpoint_make() makes the directory DIR and those above it if it is a default one, below
 * RUN_DIR. mountpoint_remove() removes it if it is a default one and empty. */
struct hv_err *mountpoint_make(const char *run_dir, const char *dir) hv_must_use;
void mountpoint_remove(const char *run_dir, const char *dir);

/* Checks that a tree can be mounted at DIR, which must be an empty directory without a mount.
 * Unmounts a mount that a process of hvtrace left when it died. ENOTSUP: this machine has no
 * FUSE. */
struct hv_err *mountpoint_check(const char *dir) hv_must_use;
/* Mounts. *RET_FD is /dev/fuse; the caller serves it. Until it does, every process that looks into
 * DIR waits. */
struct hv_err *mountpoint_mount(const char *dir, int *ret_fd) hv_must_use;

enum mountpoint_state { MOUNTPOINT_NONE, MOUNTPOINT_OURS, MOUNTPOINT_OTHER };
/* Returns what is mounted at DIR, an absolute path. If several mounts are there, the topmost
 * counts. */
enum mountpoint_state mountpoint_look(const char *dir);
/* Unmounts a mount of hvtrace at DIR; no mount there is fine. MOUNTPOINT_NOW: EBUSY if a process
 * uses it. MOUNTPOINT_LAZY: no process finds it from now on. Never waits for the process that
 * serves it. */
enum mountpoint_how { MOUNTPOINT_NOW, MOUNTPOINT_LAZY };
struct hv_err *mountpoint_umount(const char *dir, enum mountpoint_how how) hv_must_use;
/* Notes in SESSION, a directory of rundir.h, that its tree is mounted at DIR. */
struct hv_err *mountpoint_note(const char *session, const char *dir) hv_must_use;
/* Returns whether the mount that is at DIR now was noted in SESSION. */
bool mountpoint_is_noted(const char *session, const char *dir);
/* Calls FN for each mount that was noted in SESSION and is there. */
void mountpoint_for_each_noted(const char *session, void (*fn)(void *ctx, const char *dir),
			       void *ctx);
/* Unmounts all mounts of hvtrace below RUN_DIR that no process serves any more. */
void mountpoint_clear_dead(const char *run_dir);
