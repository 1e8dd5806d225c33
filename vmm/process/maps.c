/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/maps.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "vmm/process/mounts.h"

/* -- mappings ---------------------------------------------------------------------------------- */

#define PIECE_BYTES (64u << 10)

bool hv_vma_parse(const char *line, struct hv_vma *ret)
{
	uint64_t start, end, off, inode;
	unsigned major, minor;
	int name = 0;
	char perms[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, perms, &off, &major, &minor, &inode, &name) != 7 ||
	    strlen(perms) != 4 || end <= start)
		return false;
	*ret = (struct hv_vma){
		.start = start,
		.end = end,
		.file_off = off,
		.dev = (uint64_t)major << 32 | minor,
		.inode = inode,
		.readable = perms[0] == 'r',
		.writable = perms[1] == 'w',
		.executable = perms[2] == 'x',
		.shared = perms[3] == 's',
		.has_file = inode != 0,
		.name = line + name,
	};
	return true;
}

void hv_maps_deinit(struct hv_maps *m)
{
	free(m->list);
	free(m->text);
	*m = (struct hv_maps){0};
}

static struct hv_err *load(int fd, const char *path, struct hv_text *text)
{
	ssize_t got;

	do {
		char *to = hv_text_room(text, PIECE_BYTES);

		got = read(fd, to, PIECE_BYTES);
		if (got < 0)
			return hv_err_new(errno, "%s: %s", path, strerror(errno));
		hv_text_end(text, to + got);
		if (text->len_bytes > HV_MAPS_MAX_BYTES)
			return hv_err_new(EFBIG, "%s: more than %u bytes", path, HV_MAPS_MAX_BYTES);
	} while (got);
	return NULL;
}

/* Removes entries from START on. The kernel lists a mapping again, with an earlier start, if it was
 * replaced or merged with a lower one during the read. */
static void forget_from(struct hv_maps *m, uint64_t start)
{
	while (m->nr && m->list[m->nr - 1].start >= start)
		m->nr--;
	if (m->nr && m->list[m->nr - 1].end > start)
		m->list[m->nr - 1].end = start;
}

struct hv_err *hv_maps_read_fd(int fd, const char *path, struct hv_maps *ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = load(fd, path, &text);
	struct hv_maps m = {0};
	size_t cap = 0;
	char *line;

	if (err)
		return err;
	m.text = hv_take(text.data);
	for (char *rest = m.text; rest && (line = strsep(&rest, "\n"));) {
		struct hv_vma vma;

		if (!hv_vma_parse(line, &vma))
			continue;
		forget_from(&m, vma.start);
		m.list = hv_grow(m.list, m.nr, &cap, 64, sizeof(*m.list));
		m.list[m.nr++] = vma;
	}
	*ret = m;
	return NULL;
}

struct hv_err *hv_maps_read(pid_t pid, struct hv_maps *ret)
{
	HV_AUTO_FD int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s%s", path, strerror(errno),
				  errno == EACCES ? " (no right to ptrace it: CAP_SYS_PTRACE)"
						  : "");
	return hv_maps_read_fd(fd, path, ret);
}

/* -- files of the VMM -------------------------------------------------------------------------- */

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

static struct hv_err *not_usable(int vmm_fd)
{
	return hv_err_new(EBADF,
			  "file %d of the VMM is not a regular file that it may read and write",
			  vmm_fd);
}

/* Takes a descriptor whose file system has been checked. */
static struct hv_err *take(int pidfd, int vmm_fd, struct hv_vmm_file *ret)
{
	HV_AUTO_FD int fd = pidfd_getfd(pidfd, vmm_fd, 0);
	struct statx st;

	if (fd < 0)
		return hv_err_new(errno, "file %d of the VMM: %s", vmm_fd, strerror(errno));
	if ((fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDWR || !look(fd, "", &st) ||
	    !S_ISREG(st.stx_mode))
		return not_usable(vmm_fd);
	*ret = (struct hv_vmm_file){hv_take_fd(&fd), vmm_fd, dev_of(&st), st.stx_ino, st.stx_size};
	return NULL;
}

/* Checks the file system before the descriptor is taken: closing a copy of a FUSE file waits for
 * its server. *RET is the file's device number. */
static struct hv_err *check_first(pid_t pid, int vmm_fd, uint64_t *ret)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/fd/%d", (int)pid, vmm_fd);
	HV_AUTO_FREE char *name = hv_format("descriptor %d of the VMM", vmm_fd);
	HV_AUTO_MOUNTS struct hv_mounts mounts = {0};
	struct statx st;
	struct hv_err *err;

	if (!look(AT_FDCWD, path, &st))
		return hv_err_new(EBADF, "file %d of the VMM: %s", vmm_fd, strerror(EBADF));
	if (!S_ISREG(st.stx_mode))
		return not_usable(vmm_fd);
	err = hv_mounts_read(pid, &mounts);
	if (!err)
		err = hv_mounts_check(&mounts, dev_of(&st), name);
	*ret = dev_of(&st);
	return err;
}

struct hv_err *hv_vmm_file_take(pid_t pid, int pidfd, int vmm_fd, struct hv_vmm_file *ret)
{
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	uint64_t dev = 0;
	struct hv_err *err = check_first(pid, vmm_fd, &dev);

	if (!err)
		err = take(pidfd, vmm_fd, &file);
	if (err)
		return err;
	if (file.dev != dev) {
		hv_close_at(&file.fd);
		return not_usable(vmm_fd); /* the VMM has replaced it */
	}
	*ret = file;
	return NULL;
}

/* Checks the file after taking it: the VMM may have changed the descriptor since its name was
 * read. */
static bool take_if(int pidfd, int vmm_fd, const struct hv_vma *vma, struct hv_vmm_file *ret)
{
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	HV_AUTO_ERR struct hv_err *err = take(pidfd, vmm_fd, &file);

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
