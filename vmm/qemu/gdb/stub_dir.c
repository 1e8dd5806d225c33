/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/gdb/stub_dir.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/prefix.h"

static struct hv_err *failed(const char *path)
{
	return hv_err_new(errno, "gdb stub: directory %s: %s", path, strerror(errno));
}

/* Whether an open directory can be one that mkdir(2) has just created: owned by this user, mode
 * 0700, without subdirectories. */
static bool is_fresh(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 07777) == 0700 && st->st_nlink <= 2;
}

/* While it exists, this thread opens, creates and removes files with the permissions of another
 * user (setfsuid(2)). */
struct as_user {
	uid_t uid; /* the previous one */
	gid_t gid;
};

static struct as_user become(uid_t uid, gid_t gid)
{
	struct as_user was = {.gid = (gid_t)setfsgid(gid)};

	was.uid = (uid_t)setfsuid(uid);
	return was;
}

static void become_again(struct as_user *was)
{
	setfsuid(was->uid);
	setfsgid(was->gid);
}
#define AS_USER hv_cleanup(become_again) hv_unused

static bool make_as(const char *path, uid_t uid, gid_t gid)
{
	AS_USER struct as_user was = become(uid, gid);

	return mkdir(path, 0700) == 0;
}

/* Whether only root can redirect the path to PATH's directory. */
static bool is_roots_place(const char *path)
{
	HV_AUTO_FREE char *copy = hv_strdup(path);
	HV_AUTO_FREE char *real = realpath(dirname(copy), NULL);
	struct stat st;

	/* A path through /proc cannot be checked like this. */
	if (hv_starts_with(path, "/proc/"))
		return false;
	/* The directory does not exist, or its path has a symbolic link. */
	if (!real || !hv_starts_with(path, real))
		return false;
	for (char *end = real + strlen(real);;) {
		if (lstat(*real ? real : "/", &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 ||
		    (st.st_mode & 022))
			return false;
		if (end == real)
			return true;
		while (end > real && *end != '/')
			end--;
		*end = '\0';
	}
}

enum maker { MADE_BY_NONE, MADE_BY_USER, MADE_BY_ROOT };

static enum maker make(const char *path, uid_t uid, gid_t gid)
{
	if (make_as(path, uid, gid))
		return MADE_BY_USER;
	if (errno != EACCES)
		return MADE_BY_NONE;
	if (is_roots_place(path))
		return mkdir(path, 0700) == 0 ? MADE_BY_ROOT : MADE_BY_NONE;
	errno = EACCES;
	return MADE_BY_NONE;
}

void hv_stub_dir_remove(const char *path, uid_t uid, gid_t gid)
{
	if (is_roots_place(path)) {
		rmdir(path);
		return;
	}
	AS_USER struct as_user was = become(uid, gid);

	rmdir(path);
}

void hv_stub_file_remove(const char *path, uid_t uid, gid_t gid)
{
	AS_USER struct as_user was = become(uid, gid);
	HV_AUTO_FREE char *dir = hv_strdup(path);
	char *name = strrchr(dir, '/');
	HV_AUTO_FD int fd = -1;

	if (!name)
		return;
	*name++ = '\0';
	/* The VMM may have replaced the directory by a link. */
	fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		unlinkat(fd, name, 0);
}

struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid)
{
	HV_AUTO_FD int fd = -1;
	enum maker maker;
	struct stat st;

	hv_stub_dir_remove(path, uid, gid); /* left by an hvtrace that was killed */
	maker = make(path, uid, gid);
	if (maker == MADE_BY_NONE && errno == EACCES)
		return hv_err_new(EACCES,
				  "gdb stub: directory %s: the VMM's user, %u, may not make it",
				  path, (unsigned)uid);
	if (maker == MADE_BY_NONE && errno != EEXIST)
		return failed(path);
	/* Use a descriptor from here on: the name may refer to another file by now. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return hv_err_new(EEXIST, "gdb stub: %s is there, and is not a directory", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(path);
	if (st.st_uid == uid)
		return NULL;
	if (maker != MADE_BY_ROOT || !is_fresh(&st))
		return hv_err_new(EEXIST,
				  "gdb stub: directory %s is there, and belongs to user %u, not to "
				  "the VMM's, %u",
				  path, (unsigned)st.st_uid, (unsigned)uid);
	return fchown(fd, uid, gid) < 0 ? failed(path) : NULL;
}
