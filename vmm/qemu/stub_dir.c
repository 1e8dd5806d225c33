/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/stub_dir.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hv_err *failed(const char *path)
{
	return hv_err_new(errno, "gdb stub: directory %s: %s", path, strerror(errno));
}

/* Of an open directory, as mkdir(2) has just made it: of this user, and empty but for "." and "..".
 */
static bool is_fresh(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 07777) == 0700 && st->st_nlink <= 2;
}

struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid)
{
	HV_AUTO_FD int fd = -1;
	struct stat st;
	bool is_made;

	rmdir(path); /* of an hvtrace that was killed here */
	is_made = mkdir(path, 0700) == 0;
	if (!is_made && errno != EEXIST)
		return failed(path);
	/* A name is not changed by its name: it may lead to another file by now. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return hv_err_new(EEXIST, "gdb stub: %s is there, and is not a directory", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(path);
	if (st.st_uid == uid && st.st_gid == gid)
		return NULL;
	if (!is_made || !is_fresh(&st))
		return hv_err_new(EEXIST,
				  "gdb stub: directory %s is there, and belongs to user %u, not to "
				  "the VMM's, %u",
				  path, (unsigned)st.st_uid, (unsigned)uid);
	return fchown(fd, uid, gid) < 0 ? failed(path) : NULL;
}
