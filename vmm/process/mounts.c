/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "base/text.h"

/* -- mountinfo --------------------------------------------------------------------------------- */

#define LINE_MAX_BYTES (1u << 20) /* three paths and options, each of at most some pages */
#define PIECE_BYTES    (64u << 10)

/* "36 35 98:0 /root /mount\040point rw,noatime master:1 - ext3 /dev/root rw,errors=continue". The
 * kernel escapes blanks and newlines in names that users choose. The optional fields, "master:1",
 * end with "-". */
bool hv_mount_parse(const char *line, struct hv_mount *ret)
{
	struct hv_mount m = {0};
	unsigned major, minor;
	const char *type;
	size_t len;

	if (sscanf(line, "%*u %*u %u:%u /", &major, &minor) != 2)
		return false;
	type = strstr(line, " - ");
	if (!type)
		return false;
	type += strlen(" - ");
	len = strcspn(type, " \n");
	if (!len)
		return false;
	memcpy(m.type, type, len < HV_MOUNT_TYPE_MAX ? len : HV_MOUNT_TYPE_MAX);
	m.dev = (uint64_t)major << 32 | minor;
	*ret = m;
	return true;
}

static void add(struct hv_mounts *m, const struct hv_mount *mount)
{
	m->list = hv_grow(m->list, m->nr, &m->cap, 64, sizeof(*m->list));
	m->list[m->nr++] = *mount;
}

/* Adds the complete lines of TEXT and removes them from it. */
static struct hv_err *add_lines(struct hv_mounts *m, struct hv_text *text, const char *path)
{
	char *line = text->data, *end;
	struct hv_mount mount;

	while ((end = memchr(line, '\n', text->len_bytes - (size_t)(line - text->data)))) {
		*end = '\0';
		if (m->nr == HV_MOUNTS_MAX)
			return hv_err_new(EFBIG, "%s: more than %u mounts", path, HV_MOUNTS_MAX);
		if (hv_mount_parse(line, &mount))
			add(m, &mount);
		line = end + 1;
	}
	text->len_bytes -= (size_t)(line - text->data);
	memmove(text->data, line, text->len_bytes);
	if (text->len_bytes > LINE_MAX_BYTES)
		return hv_err_new(EFBIG, "%s: a line of more than %u bytes", path, LINE_MAX_BYTES);
	return NULL;
}

struct hv_err *hv_mounts_add_fd(struct hv_mounts *m, int fd, const char *path)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = NULL;
	ssize_t got = 1;

	while (!err && got > 0) {
		char *to = hv_text_room(&text, PIECE_BYTES);

		got = read(fd, to, PIECE_BYTES);
		if (got < 0)
			return hv_err_new(errno, "%s: %s", path, strerror(errno));
		hv_text_end(&text, to + got);
		err = add_lines(m, &text, path);
	}
	return err;
}

static struct hv_err *add_of(struct hv_mounts *m, const char *process)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%s/mountinfo", process);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	return hv_mounts_add_fd(m, fd, path);
}

/* -- file systems that are not mounted at a path ----------------------------------------------- */

#define HUGE_PAGES "/sys/kernel/mm/hugepages"

/* Adds the file system of a memory file. FLAGS as for memfd_create(2). */
static void add_memory(struct hv_mounts *m, unsigned flags, const char *type)
{
	HV_AUTO_FD int fd = memfd_create("hvtrace-device", MFD_CLOEXEC | flags);
	struct hv_mount mount = {0};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return; /* files of this kind are then refused */
	mount.dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	memcpy(mount.type, type, strlen(type));
	add(m, &mount);
}

/* The kernel has a file system for the huge pages of each size, "hugepages-2048kB". */
static void add_huge_pages(struct hv_mounts *m)
{
	DIR *dir = opendir(HUGE_PAGES);
	struct dirent *entry;
	unsigned long kib;

	while (dir && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "hugepages-%lukB", &kib) != 1 || !kib)
			continue;
		add_memory(m, MFD_HUGETLB | (unsigned)__builtin_ctzl(kib << 10) << MFD_HUGE_SHIFT,
			   "hugetlbfs");
	}
	if (dir)
		closedir(dir);
}

/* -- all of them ------------------------------------------------------------------------------- */

static int by_dev(const void *a, const void *b)
{
	const struct hv_mount *x = a, *y = b;

	return (x->dev > y->dev) - (x->dev < y->dev);
}

void hv_mounts_sort(struct hv_mounts *m)
{
	if (m->nr)
		qsort(m->list, m->nr, sizeof(*m->list), by_dev);
}

struct hv_err *hv_mounts_read(pid_t pid, struct hv_mounts *ret)
{
	HV_AUTO_FREE char *process = hv_format("%d", (int)pid);
	HV_AUTO_MOUNTS struct hv_mounts m = {0};
	struct hv_err *err = add_of(&m, process);

	if (!err)
		err = add_of(&m, "self");
	if (err)
		return err;
	add_memory(&m, 0, "tmpfs");
	add_huge_pages(&m);
	hv_mounts_sort(&m);
	*ret = m;
	m = (struct hv_mounts){0};
	return NULL;
}

void hv_mounts_deinit(struct hv_mounts *m)
{
	free(m->list);
	*m = (struct hv_mounts){0};
}

/* Users can name their FUSE file systems ("fuse.sshfs"), and mount FUSE and overlay in a user
 * namespace. */
static bool can_wait(const char *type)
{
	return !strncmp(type, "fuse", strlen("fuse")) || !strcmp(type, "virtiofs") ||
	       !strcmp(type, "overlay");
}

struct hv_err *hv_mounts_check(const struct hv_mounts *m, uint64_t dev, const char *name)
{
	const char *type = NULL;

	for (size_t i = HV_BISECT(at, m->nr, m->list[at].dev < dev);
	     i < m->nr && m->list[i].dev == dev && (!type || !can_wait(type)); i++)
		type = m->list[i].type;
	if (!type)
		return hv_err_new(ENODEV,
				  "the file '%.200s' is on an unknown file system (device %u:%u), "
				  "whose server could block hvtrace; use a memory file, hugetlbfs "
				  "or tmpfs",
				  name, (unsigned)(dev >> 32), (unsigned)dev);
	if (can_wait(type))
		return hv_err_new(ENOTSUP,
				  "the file '%.200s' is on a file system of type %s, whose server "
				  "could block hvtrace; use a memory file, hugetlbfs or tmpfs",
				  name, type);
	return NULL;
}
