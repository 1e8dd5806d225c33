/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF files of guest kernels that contain no BTF: the user's file or directory (--btf), or the
 * packaged directories. The privileged process opens them before it opens the guest, copies at most
 * one file into a sealed memfd (kernel/core/btf_copy.h), and passes only that copy to the
 * unprivileged process. So neither that process nor the owner of a path can choose what is opened
 * later. The release, which names the file in a directory, is the guest's and untrusted. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

#define BTF_FILES_DIRS_MAX 2

struct hv_btf_given;
struct hv_message;

extern const char *const btf_files_packaged[BTF_FILES_DIRS_MAX];

struct btf_files {
	struct {
		char *path; /* owned */
		int fd;	    /* owned: O_PATH; -1: there is none, or it cannot be used */
	} dirs[BTF_FILES_DIRS_MAX];
	size_t nr_dirs;
	bool is_given;		/* the user named the directory, so it must have the file */
	struct hv_text skipped; /* packaged directories that cannot be used, and why */
	char *release; /* owned: the only release whose file may be requested; NULL: no request yet */
	/* The copy; -1: no file was copied. */
	int copy;
	char *path; /* owned; of the file that was copied */
	uint64_t copy_bytes;
	bool is_proved; /* a session has proved that it is of the guest's build */
	bool is_loaded; /* btf_files_load() set the copy, and no request has used it yet */
};
#define BTF_FILES_NONE                                                                             \
	{                                                                                          \
		.copy = -1                                                                         \
	}

/* Opens GIVEN, the user's file or directory, and copies the file; or opens the NR directories
 * PACKAGED if GIVEN is NULL. Each file and directory must be owned by root or this user and be
 * writable by its owner only. A file must be regular, must not be reached through a link of procfs,
 * and must not be on a pseudo file system such as procfs or sysfs. */
struct hv_err *btf_files_open(struct btf_files *f, const char *given, const char *const *packaged,
			      size_t nr) hv_must_use;
/* Uses the copy of LEN_BYTES in FILE instead, which a session stored with btf_files_store(). EIO:
 * FILE has another length. PATH is the file that the session had copied, and RELEASE is its
 * kernel's. After a reboot the guest may have another kernel: if the first request is for another
 * release, the file of that release is looked for in the open directories. */
struct hv_err *btf_files_load(struct btf_files *f, const char *file, uint64_t len_bytes,
			      const char *path, const char *release) hv_must_use;
/* Writes the copy to FILE, which appears when it is complete. */
struct hv_err *btf_files_store(const struct btf_files *f, const char *file) hv_must_use;
/* Returns whether FILE contains exactly the copy. */
bool btf_files_equal(const struct btf_files *f, const char *file);
void btf_files_close(struct btf_files *f);
#define AUTO_BTF_FILES hv_cleanup(btf_files_close)

/* Copies the file for RELEASE unless a file was copied. ENOENT: no packaged directory has the file;
 * the message lists them. EINVAL: the user's directory lacks it. EPERM: another release was
 * requested before. */
struct hv_err *btf_files_find(struct btf_files *f, const char *release) hv_must_use;

/* Returns whether a copy was passed on. */
static inline bool btf_files_are_used(const struct btf_files *f)
{
	return f->copy >= 0 && f->release;
}
/* Forgets what was requested until now, except a file that was proved: the process that requested
 * it may have been under the guest's control. */
void btf_files_renew(struct btf_files *f);

/* Both ends of a request for the file, whose kind is the caller's. _ask() is for
 * hv_btf_files.open. */
struct hv_err *btf_files_ask(int socket, unsigned kind, const char *release,
			     struct hv_btf_given *ret) hv_must_use;
struct hv_err *btf_files_answer(struct btf_files *f, const struct hv_message *question,
				struct hv_message *ret) hv_must_use;
