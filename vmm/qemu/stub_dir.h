/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the gdb stub's socket, where no libvirt has made one: beside the QMP socket, for
 * the VMM's user alone. Whoever may write where the QMP socket is may have put something else there
 * under the same name, so nothing is given away by its name.
 * Leaves to others: the socket in it (hold.c). */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Makes PATH, a directory that UID and GID own (0700), or takes one that they own already. It is
 * made with their rights, so that a VMM that leads the path elsewhere gains nothing; with root's
 * only where nobody but root can change any directory of the path. EEXIST, and nothing is changed:
 * something else has the name, a link or a file among them. EACCES: they may not make it. */
struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid) hv_must_use;
/* Remove the directory, or the socket, if they are there, with the same rights. */
void hv_stub_dir_remove(const char *path, uid_t uid, gid_t gid);
void hv_stub_file_remove(const char *path, uid_t uid, gid_t gid);
