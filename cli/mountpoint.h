/* Where a guest's tree is mounted: mounting and unmounting by the kernel's own calls, so that
 * neither fusermount nor libfuse is asked, and what /proc/self/mountinfo says.
 * A mount of ours shows as source "tracefs", type "fuse.hvtrace".
 * Leaves to others: serving it (fusefs.h). */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* RUN_DIR/tracing/NAME, or ID for a name that is no file name. The caller frees. */
char *mountpoint_default(const char *run_dir, const char *name, const char *id) hv_must_use;
/* Makes a default one, RUN_DIR and all; takes it away again, if it is one and empty. */
struct hv_err *mountpoint_make(const char *run_dir, const char *dir) hv_must_use;
void mountpoint_remove(const char *run_dir, const char *dir);

/* Nothing of the tree could be mounted at DIR, which must be an empty directory without a mount.
 * What a process of ours that died had mounted there is unmounted first. ENOTSUP: this machine has
 * no FUSE. */
struct hv_err *mountpoint_check(const char *dir) hv_must_use;
/* Mounts; *RET_FD is /dev/fuse, to be served. Without anybody who serves, whoever looks waits. */
struct hv_err *mountpoint_mount(const char *dir, int *ret_fd) hv_must_use;

enum mountpoint_state { MOUNTPOINT_NONE, MOUNTPOINT_OURS, MOUNTPOINT_OTHER };
/* What is mounted at DIR, an absolute path; the topmost. */
enum mountpoint_state mountpoint_look(const char *dir);
/* Unmounts what is ours at DIR, now (EBUSY: somebody uses it) or, LAZY, for everybody who looks
 * from now on; nothing there is fine. Never waits for who serves it. */
enum mountpoint_how { MOUNTPOINT_NOW, MOUNTPOINT_LAZY };
struct hv_err *mountpoint_umount(const char *dir, enum mountpoint_how how) hv_must_use;
/* Unmounts all of ours below RUN_DIR that nobody serves any more. */
void mountpoint_clear_dead(const char *run_dir);
