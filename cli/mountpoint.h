/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mounts and unmounts a guest's tree with plain system calls, without fusermount and libfuse, and
 * finds mounts in /proc/self/mountinfo. hvtrace's mounts have the source "tracefs" and the type
 * "fuse.hvtrace". The process that mounts a session's tree notes the path and the device number in
 * the session's directory (rundir.h). fusefs.h serves the tree. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Returns RUN_DIR/tracing/NAME, or RUN_DIR/tracing/ID if NAME is not a valid file name. The caller
 * frees it. */
char *mountpoint_default(const char *run_dir, const char *name, const char *id) hv_must_use;
/* For default mount points, which are below RUN_DIR: mountpoint_make() creates DIR and its parents,
 * and mountpoint_remove() removes DIR if it is empty. Other directories stay unchanged. */
struct hv_err *mountpoint_make(const char *run_dir, const char *dir) hv_must_use;
void mountpoint_remove(const char *run_dir, const char *dir);

/* Checks that DIR is an empty directory without a mount. Unmounts a mount that a process of hvtrace
 * left when it died. ENOTSUP: this machine has no FUSE. */
struct hv_err *mountpoint_check(const char *dir) hv_must_use;
/* Mounts DIR. *RET_FD is /dev/fuse, which the caller serves. Until it does, every process that
 * accesses DIR blocks. */
struct hv_err *mountpoint_mount(const char *dir, int *ret_fd) hv_must_use;

enum mountpoint_state { MOUNTPOINT_NONE, MOUNTPOINT_OURS, MOUNTPOINT_OTHER };
/* Returns the kind of the topmost mount at DIR, an absolute path. */
enum mountpoint_state mountpoint_look(const char *dir);
/* Returns false if the topmost mount at DIR is not hvtrace's. */
bool mountpoint_device(const char *dir, dev_t *ret);
/* Unmounts hvtrace's mount at DIR; succeeds without a mount. MOUNTPOINT_NOW: EBUSY while a process
 * uses it. MOUNTPOINT_LAZY: detaches it from the path now. Never waits for the process that serves
 * the mount. */
enum mountpoint_how { MOUNTPOINT_NOW, MOUNTPOINT_LAZY };
struct hv_err *mountpoint_umount(const char *dir, enum mountpoint_how how) hv_must_use;
/* Records in SESSION, a directory of rundir.h, that its tree is mounted at DIR. */
struct hv_err *mountpoint_note(const char *session, const char *dir) hv_must_use;
/* Returns whether the current mount at DIR was noted in SESSION. */
bool mountpoint_is_noted(const char *session, const char *dir);
/* Calls FN for each mount that was noted in SESSION and still exists. */
void mountpoint_for_each_noted(const char *session, void (*fn)(void *ctx, const char *dir),
			       void *ctx);
/* Unmounts all mounts of hvtrace below RUN_DIR whose serving process has ended. */
void mountpoint_clear_dead(const char *run_dir);
