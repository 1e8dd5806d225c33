/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the gdb stub's socket, if libvirt has not created one: next to the QMP socket,
 * accessible only to the VMM's user. Other users who can write to that directory may have created
 * the name before, so a name alone gives no access. hold.c creates the socket in it. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Creates PATH, a directory owned by UID and GID (0700), or uses one that they own already. Acts
 * with their permissions, so that a VMM that redirects the path gains nothing; with root's only if
 * root alone can change every directory of the path. Fails with EEXIST and changes nothing if
 * another object has the name, including a link or a file, or with EACCES if they may not create
 * it. */
struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid) hv_must_use;
/* Remove the directory or the socket, if it exists, with the same permissions. */
void hv_stub_dir_remove(const char *path, uid_t uid, gid_t gid);
void hv_stub_file_remove(const char *path, uid_t uid, gid_t gid);
