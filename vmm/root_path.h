/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths in the mount namespace of another process: "/proc/PID/root/REST" is what PID calls "/REST".
 * REST is resolved as that process resolves it: no symbolic link and no ".." leads out of its root
 * (openat2(2)). Does not check that PID is the process that is meant. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Returns "/REST" of such a path, which points into PATH, or "/". NULL: PATH has another form.
 * *RET_PID may be NULL. */
const char *hv_root_path_rest(const char *path, pid_t *ret_pid);
/* Returns the path of that form for PATH, which process PID uses: an absolute one, or
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
