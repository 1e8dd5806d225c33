/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/root_path.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/prefix.h"

const char *hv_root_path_rest(const char *path, pid_t *ret_pid)
{
	static const char before[] = "/proc/", after[] = "/root";
	size_t nr_digits;
	const char *at;

	if (!hv_starts_with(path, before))
		return NULL;
	at = path + strlen(before);
	nr_digits = strspn(at, "0123456789");
	if (!nr_digits || nr_digits > 9 || !hv_starts_with(at + nr_digits, after))
		return NULL;
	if (at[nr_digits + strlen(after)] != '/' && at[nr_digits + strlen(after)])
		return NULL;
	if (ret_pid)
		*ret_pid = atoi(at);
	at += nr_digits + strlen(after);
	return *at ? at : "/";
}

char *hv_root_path_of(pid_t pid, const char *path)
{
	HV_AUTO_FREE char *cwd = hv_format("/proc/%d/cwd", (int)pid);
	size_t len = strlen(cwd);
	char at[PATH_MAX];
	ssize_t nr;

	if (strncmp(path, cwd, len) != 0 || path[len] != '/')
		return hv_format("/proc/%d/root%s", (int)pid, path);
	nr = readlink(cwd, at, sizeof(at));
	return hv_format("/proc/%d/root%.*s%s", (int)pid, nr > 0 && at[0] == '/' ? (int)nr : 0, at,
			 path + len);
}

struct hv_err *hv_root_path_open(const char *path, int *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	pid_t pid = 0;
	const char *rest = hv_root_path_rest(path, &pid);
	HV_AUTO_FREE char *of_root = NULL;
	HV_AUTO_FD int root = -1;
	int fd;

	if (!rest)
		return hv_err_new(EINVAL, "%s: not a path below /proc/PID/root", path);
	of_root = hv_format("%.*s", (int)(strstr(path, "/root") - path) + 5, path);
	root = open(of_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return hv_err_new(errno, "%s: %s", of_root, strerror(errno));
	fd = (int)syscall(SYS_openat2, root, rest, &how, sizeof(how));
	if (fd < 0)
		return hv_err_new(errno, "%s: in the mount namespace of process %d: %s", path,
				  (int)pid, strerror(errno));
	*ret = fd;
	return NULL;
}

struct hv_err *hv_root_path_open_at(int dir, const char *name, const char *path, int *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	*ret = fd;
	return NULL;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool differs(pid_t pid, const char *what)
{
	HV_AUTO_FREE char *its_path = hv_format("/proc/%d/%s", (int)pid, what);
	HV_AUTO_FREE char *our_path = hv_format("/proc/self/%s", what);
	struct stat its, ours;

	return stat(its_path, &its) == 0 && stat(our_path, &ours) == 0 && !is_same(&its, &ours);
}

bool hv_root_is_elsewhere(pid_t pid)
{
	return differs(pid, "ns/mnt") || differs(pid, "root");
}

bool hv_root_path_is_same(pid_t pid, const char *path)
{
	HV_AUTO_FREE char *inside = hv_root_path_of(pid, path);
	HV_AUTO_FD int fd = -1;
	HV_AUTO_ERR struct hv_err *err = hv_root_path_open(inside, &fd);
	struct stat its, ours;

	return !err && fstat(fd, &its) == 0 && stat(path, &ours) == 0 && is_same(&its, &ours);
}
