/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"

#define MODE 0600

/* Finds the directory that contains the file FD, after all links. */
static bool directory_of(int fd, struct stat *ret)
{
	char link[64], path[PATH_MAX];
	ssize_t len;
	char *slash;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	slash[slash == path] = '\0';
	return stat(path, ret) == 0;
}

/* Like may_create_in_sticky() (fs/namei.c), but independent of fs.protected_regular. */
static bool is_planted(int fd)
{
	struct stat file, dir;

	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid == geteuid())
		return false;
	return directory_of(fd, &dir) && dir.st_mode & S_ISVTX &&
	       dir.st_mode & (S_IWGRP | S_IWOTH) && file.st_uid != dir.st_uid;
}

struct hv_err *output_open(const char *path, enum output_links links, int *ret_fd, bool *ret_new)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | (links == OUTPUT_FOLLOWS_NONE ? O_NOFOLLOW : 0);
	HV_AUTO_FD int fd = open(path, flags | O_EXCL, MODE);
	bool is_new = fd >= 0;

	/* O_CREAT again, because the kernel's rules for sticky directories require it */
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags, MODE);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (!is_new && is_planted(fd))
		return hv_err_new(EACCES,
				  "%s: belongs to another user, in a directory where everybody can "
				  "create files: give another name",
				  path);
	*ret_fd = hv_take_fd(&fd);
	*ret_new = is_new;
	return NULL;
}
