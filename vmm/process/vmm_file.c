/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/vmm_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define FILES_MAX 8192 /* limit for descriptors to check; a VMM may have a million */

/* Does not query a file system that may be served by the VMM's own program. */
static bool look(int dir, const char *name, struct statx *ret)
{
	return statx(dir, name, AT_STATX_DONT_SYNC | (*name ? 0 : AT_EMPTY_PATH),
		     STATX_TYPE | STATX_INO | STATX_SIZE, ret) == 0;
}

static uint64_t dev_of(const struct statx *st)
{
	return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor; /* as in struct hv_vma */
}

/* FUSE files are rejected: reading a page would wait for the program that serves the file. */
static bool is_fuse(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == FUSE_SUPER_MAGIC;
}

struct hv_err *hv_vmm_file_take(int pidfd, int vmm_fd, struct hv_vmm_file *ret)
{
	HV_AUTO_FD int fd = pidfd_getfd(pidfd, vmm_fd, 0);
	struct statx st;

	if (fd < 0)
		return hv_err_new(errno, "file %d of the VMM: %s", vmm_fd, strerror(errno));
	if ((fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDWR || !look(fd, "", &st) ||
	    !S_ISREG(st.stx_mode) || is_fuse(fd))
		return hv_err_new(EBADF,
				  "file %d of the VMM is not a regular file that it may read and "
				  "write",
				  vmm_fd);
	*ret = (struct hv_vmm_file){hv_take_fd(&fd), vmm_fd, dev_of(&st), st.stx_ino, st.stx_size};
	return NULL;
}

/* Checks the file after taking it: the VMM may have changed the descriptor since its name was
 * read. */
static bool take_if(int pidfd, int vmm_fd, const struct hv_vma *vma, struct hv_vmm_file *ret)
{
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	HV_AUTO_ERR struct hv_err *err = hv_vmm_file_take(pidfd, vmm_fd, &file);

	if (err)
		return false;
	if (file.dev != vma->dev || file.inode != vma->inode) {
		hv_close_at(&file.fd);
		return false;
	}
	*ret = file;
	return true;
}

bool hv_vmm_file_of(pid_t pid, int pidfd, const struct hv_vma *vma, struct hv_vmm_file *ret)
{
	struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	for (unsigned i = 0; dir && !found && i < FILES_MAX && (entry = readdir(dir)); i++) {
		struct statx st;

		if (entry->d_name[0] == '.' || !look(dirfd(dir), entry->d_name, &st) ||
		    dev_of(&st) != vma->dev || st.stx_ino != vma->inode)
			continue;
		found = take_if(pidfd, atoi(entry->d_name), vma, ret);
	}
	if (dir)
		closedir(dir);
	return found;
}
