/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the gdb stub's socket, where no libvirt has made one: beside the QMP socket, for
 * the VMM's user alone. Whoever may write where the QMP socket is may have put something else there
 * under the same name, so nothing is given away by its name.
 * Leaves to others: the socket in it (hold.c). */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Makes PATH, a directory that UID and GID own (0700), or takes one that they own already. EEXIST,
 * and nothing is changed: something else has the name, a link or a file among them. */
struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid) hv_must_use;
