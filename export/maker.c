/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"

#define FILE_MODE 0600
#define DIR_MODE  0700

static int open_below(int dir, const char *name, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* Opens the parent directory of NAME. Stores NAME's last component in *RET_LAST. */
static int open_parent(int dir, const char *name, const char **ret_last)
{
	const char *slash = strrchr(name, '/');
	HV_AUTO_FREE char *parent = slash ? hv_format("%.*s", (int)(slash - name), name) : NULL;

	*ret_last = slash ? slash + 1 : name;
	if (!**ret_last || strcmp(*ret_last, ".") == 0 || strcmp(*ret_last, "..") == 0) {
		errno = EINVAL;
		return -1;
	}
	return open_below(dir, parent ? parent : ".", O_PATH | O_DIRECTORY, 0);
}

static int make_file(void *ctx, const char *name, int *ret_fd)
{
	int fd = open_below(*(const int *)ctx, name, O_RDWR | O_CREAT | O_EXCL, FILE_MODE);

	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

static int make_dir(void *ctx, const char *name, int *ret_fd)
{
	const char *last;
	HV_AUTO_FD int parent = open_parent(*(const int *)ctx, name, &last);
	struct stat st;
	int fd;

	if (parent < 0)
		return errno;
	if (mkdirat(parent, last, DIR_MODE) != 0) {
		if (errno == EEXIST && fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return S_ISDIR(st.st_mode) ? EEXIST : ENOTDIR;
		return errno;
	}
	fd = open_below(parent, last, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

static int put_file(void *ctx, const char *name, const void *bytes, size_t len_bytes)
{
	const char *last;
	HV_AUTO_FD int parent = open_parent(*(const int *)ctx, name, &last);
	HV_AUTO_FREE char *part = hv_format("%s.new", last);
	HV_AUTO_FD int fd = -1;
	ssize_t n;

	if (parent < 0)
		return errno;
	fd = open_below(parent, part, O_WRONLY | O_CREAT | O_TRUNC, FILE_MODE);
	if (fd < 0)
		return errno;
	n = write(fd, bytes, len_bytes);
	if (n < 0)
		return errno;
	if ((size_t)n != len_bytes)
		return ENOSPC;
	return renameat(parent, part, parent, last) == 0 ? 0 : errno;
}

static int remove_file(void *ctx, const char *name)
{
	const char *last;
	HV_AUTO_FD int parent = open_parent(*(const int *)ctx, name, &last);

	return parent >= 0 && unlinkat(parent, last, 0) == 0 ? 0 : errno;
}

struct hv_maker hv_maker_of(const int *fd)
{
	return (struct hv_maker){
		.ctx = (void *)fd,
		.make_file = make_file,
		.make_dir = make_dir,
		.put_file = put_file,
		.remove_file = remove_file,
	};
}
