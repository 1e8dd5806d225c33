/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths in the mount namespace of another process: "/proc/PID/root/REST" is "/REST" as seen by PID.
 * REST is resolved as that process resolves it: no symbolic link and no ".." leads out of its root
 * (openat2(2)). The caller must check that PID is still the intended process. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Returns "/REST" of such a path, as a pointer into PATH, or "/". Returns NULL if PATH has another
 * form. *RET_PID may be NULL. */
const char *hv_root_path_rest(const char *path, pid_t *ret_pid);
/* Returns a path of that form for PATH as used by process PID: an absolute path, or
 * "/proc/PID/cwd/FILE". The caller frees it. */
char *hv_root_path_of(pid_t pid, const char *path);
/* Opens PATH, which has that form, with O_PATH. The caller closes *RET. */
struct hv_err *hv_root_path_open(const char *path, int *ret) hv_must_use;
/* Opens NAME below the directory DIR with O_PATH, and follows no symbolic link. PATH is for
 * messages.
 */
struct hv_err *hv_root_path_open_at(int dir, const char *name, const char *path,
				    int *ret) hv_must_use;
/* Whether process PID has another mount namespace or another root directory than this process. */
bool hv_root_is_elsewhere(pid_t pid);
/* Whether PATH is the same file for process PID as for this process. */
bool hv_root_path_is_same(pid_t pid, const char *path);
