/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF files of guest kernels that contain no BTF: the user's file or directory (--btf), or the
 * packaged directories. The process that has the rights opens the file, and passes it to the
 * unprivileged process that reads it (kernel/btf_file.h). The release, which names the file in a
 * directory, is the guest's and untrusted. */
#pragma once

#include "base/err.h"

struct hv_message;

/* Opens the file for RELEASE. GIVEN is the user's file or directory; NULL: the packaged
 * directories. In a directory the file is RELEASE.btf, as BTFHub names it. Such a file must be
 * regular, be owned by root or this user, and be writable by its owner only, like the directory.
 * ENOENT: there is no file, and the message lists where it was looked for. *RET_PATH is the
 * caller's. */
struct hv_err *btf_files_open(const char *given, const char *release, int *ret_fd,
			      char **ret_path) hv_must_use;

/* Both ends of a request for the file, whose kind is the caller's. _ask() is for
 * hv_btf_files.open. */
struct hv_err *btf_files_ask(int socket, unsigned kind, const char *release, int *ret_fd,
			     char **ret_path) hv_must_use;
struct hv_err *btf_files_answer(const char *given, const struct hv_message *question,
				struct hv_message *ret) hv_must_use;
