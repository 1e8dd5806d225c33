/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup of a task, read from the kernel's memory (task, css_set, cgroup, kernfs_node). Everything
 * read is untrusted and changes during the read: walks are bounded. */
#pragma once

#include "base/addr.h"

struct hv_kernel_core;

/* Returns the path of TASK, as it is below the root of the hierarchy of cgroup v2. If a task is in the
 * root there, returns its path in the first hierarchy of version 1 in which it is not in the root.
 * Returns NULL if the path cannot be read, or this kernel's types do not show it. The caller frees
 * it. */
char *hv_cgroup_path(const struct hv_kernel_core *core, struct hv_gva task);
