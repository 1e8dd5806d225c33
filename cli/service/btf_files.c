/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/btf_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernel/core/btf_copy.h"
#include "kernel/core/core.h"
#include "vmm/broker/channel.h"

#define RELEASE_MAX_BYTES 64 /* __NEW_UTS_LEN */
#define PART_BYTES	  65536

const char *const btf_files_packaged[BTF_FILES_DIRS_MAX] = {"/usr/share/hvtrace/btf",
							    "/var/lib/hvtrace/btf"};

/* Returns whether RELEASE can be part of a file name, in any locale. */
static bool is_name(const char *release)
{
	static const char others[] = ".-_+~";
	size_t len = strlen(release);

	if (!len || len > RELEASE_MAX_BYTES || *release == '.')
		return false;
	for (const char *at = release; *at; at++)
		if (!(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') &&
		    !(*at >= '0' && *at <= '9') && !strchr(others, *at))
			return false;
	return true;
}

/* Takes the file only if no other user could have written it. */
static struct hv_err *check_owner(int fd, const char *path, mode_t type)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if ((st.st_mode & S_IFMT) != type)
		return hv_err_new(EACCES, "%s: is not a %s", path,
				  type == S_IFDIR ? "directory" : "regular file");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return hv_err_new(EACCES, "%s: belongs to uid %u: it must belong to root", path,
				  (unsigned)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return hv_err_new(EACCES,
				  "%s: other users than its owner may write to it: `chmod go-w` "
				  "changes that",
				  path);
	return NULL;
}

/* Refuses pseudo file systems: the kernel generates their files, some of which are secret or have
 * no end. */
static struct hv_err *check_file_system(int fd, const char *path)
{
	static const uint64_t refused[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,	DEBUGFS_MAGIC,	     TRACEFS_MAGIC,
		SECURITYFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
		PSTOREFS_MAGIC,	    EFIVARFS_MAGIC,	SELINUX_MAGIC,	     SMACK_MAGIC,
		DEVPTS_SUPER_MAGIC, NSFS_MAGIC,		BINFMTFS_MAGIC,	     RDTGROUP_SUPER_MAGIC,
	};
	struct statfs st;

	if (fstatfs(fd, &st) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < HV_ARRAY_LEN(refused); i++)
		if ((uint64_t)st.f_type == refused[i])
			return hv_err_new(EACCES,
					  "%s: is not stored in a file system: give a copy of it",
					  path);
	return NULL;
}

static void drop_copy(struct btf_files *f)
{
	hv_close_at(&f->copy);
	f->copy = -1;
	free(hv_take(f->path));
}

/* Copies the file that AT, opened with O_PATH, refers to. It is opened for reading only after the
 * checks, because the open of a device can have effects. */
static struct hv_err *take_file(struct btf_files *f, int at, const char *path)
{
	HV_AUTO_FREE char *link = hv_format("/proc/self/fd/%d", at);
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = check_owner(at, path, S_IFREG);

	if (!err)
		err = check_file_system(at, path);
	if (err)
		return err;
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	err = hv_btf_copy_make(fd, &f->copy, &f->copy_bytes);
	if (!err)
		f->path = hv_strdup(path);
	return hv_err_in(err, "%s", path);
}

/* Leaves f->copy at -1 if the file does not exist. */
static struct hv_err *take_from(struct btf_files *f, size_t dir, const char *release)
{
	HV_AUTO_FREE char *name = hv_format("%s.btf", release);
	HV_AUTO_FREE char *path = hv_format("%s/%s", f->dirs[dir].path, name);
	HV_AUTO_FD int fd = -1;
	struct stat st;

	if (f->dirs[dir].fd < 0)
		return NULL;
	fd = openat(f->dirs[dir].fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return hv_err_new(ELOOP, "%s: is a symbolic link: replace it by a file", path);
	return take_file(f, fd, path);
}

static void forget_loaded(struct btf_files *f)
{
	drop_copy(f);
	free(hv_take(f->release));
	f->is_loaded = false;
	f->is_proved = false;
}

struct hv_err *btf_files_find(struct btf_files *f, const char *release)
{
	HV_AUTO_TEXT struct hv_text tried = {0};
	struct hv_err *err = NULL;

	if (f->is_loaded && strcmp(f->release, release) != 0) {
		if (!f->nr_dirs)
			return hv_err_new(ENOENT,
					  "the BTF of the session that died is of Linux %s, not %s",
					  f->release, release);
		/* The guest has rebooted. The directories may have a file of its new kernel. */
		forget_loaded(f);
	}
	f->is_loaded = false;
	if (f->release && strcmp(f->release, release) != 0)
		return hv_err_new(EPERM, "BTF of another release than %s", f->release);
	if (!f->release)
		f->release = hv_strdup(release);
	if (f->copy >= 0)
		return NULL;
	if (!is_name(release))
		return hv_err_new(ENOENT, "the kernel's release cannot be the name of a file");
	for (size_t i = 0; !err && f->copy < 0 && i < f->nr_dirs; i++) {
		hv_text_printf(&tried, "%s%s", i ? " or " : "", f->dirs[i].path);
		err = take_from(f, i, release);
	}
	if (err || f->copy >= 0)
		return err;
	return hv_err_new(f->is_given ? EINVAL : ENOENT, "no file %s.btf in %s%s", release,
			  tried.data ? tried.data : "no directory",
			  f->skipped.data ? f->skipped.data : "");
}

static void add_dir(struct btf_files *f, const char *path, int fd)
{
	f->dirs[f->nr_dirs].path = hv_strdup(path);
	f->dirs[f->nr_dirs++].fd = fd;
}

/* A packaged directory that cannot be used prevents no attach. */
static void open_packaged(struct btf_files *f, const char *path)
{
	HV_AUTO_FD int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (fd >= 0)
		err = check_owner(fd, path, S_IFDIR);
	else if (errno != ENOENT)
		err = hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (err) {
		hv_text_printf(&f->skipped, "; not used: %s", err->message);
		hv_close_at(&fd);
		fd = -1;
	}
	add_dir(f, path, hv_take_fd(&fd));
}

/* Follows links as the user who named the file did, but not those of procfs, which lead to files of
 * other processes. */
static struct hv_err *open_given(struct btf_files *f, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	HV_AUTO_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct hv_err *err;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return hv_err_new(errno == ENOENT ? EINVAL : errno, "%s: %s", path,
				  strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return take_file(f, fd, path);
	f->is_given = true;
	err = check_owner(fd, path, S_IFDIR);
	if (!err)
		add_dir(f, path, hv_take_fd(&fd));
	return err;
}

struct hv_err *btf_files_open(struct btf_files *f, const char *given, const char *const *packaged,
			      size_t nr)
{
	if (given)
		return hv_err_in(open_given(f, given), "--btf");
	for (size_t i = 0; i < nr && i < BTF_FILES_DIRS_MAX; i++)
		open_packaged(f, packaged[i]);
	return NULL;
}

void btf_files_renew(struct btf_files *f)
{
	if (f->is_proved)
		return;
	free(hv_take(f->release));
	if (f->nr_dirs)
		drop_copy(f);
}

void btf_files_close(struct btf_files *f)
{
	for (size_t i = 0; i < f->nr_dirs; i++) {
		free(f->dirs[i].path);
		hv_close_at(&f->dirs[i].fd);
	}
	hv_text_deinit(&f->skipped);
	free(f->release);
	drop_copy(f);
	*f = (struct btf_files)BTF_FILES_NONE;
}

/* -- the session's copy ------------------------------------------------------------------------ */

static struct hv_err *copy_bytes(int from, int to, uint64_t max)
{
	HV_AUTO_FREE uint8_t *part = hv_alloc(PART_BYTES);
	uint64_t off = 0;
	ssize_t n;

	while ((n = pread(from, part, PART_BYTES, (off_t)off)) > 0) {
		if ((off += (uint64_t)n) > max)
			return hv_err_new(EFBIG, "is too large");
		errno = ENOSPC; /* of a short write */
		if (write(to, part, (size_t)n) != n)
			return hv_err_new(errno, "cannot be written: %s", strerror(errno));
	}
	return n < 0 ? hv_err_new(errno, "%s", strerror(errno)) : NULL;
}

struct hv_err *btf_files_store(const struct btf_files *f, const char *file)
{
	HV_AUTO_FREE char *new = hv_format("%s.new", file);
	HV_AUTO_FD int fd = -1;
	struct hv_err *err;

	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s", new, strerror(errno));
	err = copy_bytes(f->copy, fd, HV_BTF_COPY_BYTES_MAX);
	if (!err && rename(new, file) != 0)
		err = hv_err_new(errno, "%s", strerror(errno));
	if (err)
		unlink(new);
	return hv_err_in(err, "%s", file);
}

bool btf_files_equal(const struct btf_files *f, const char *file)
{
	HV_AUTO_FREE uint8_t *part = hv_alloc(PART_BYTES), *other = hv_alloc(PART_BYTES);
	HV_AUTO_FD int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t off = 0;
	ssize_t n = -1;

	while (f->copy >= 0 && fd >= 0 && (n = pread(fd, part, PART_BYTES, (off_t)off)) > 0) {
		if (pread(f->copy, other, (size_t)n, (off_t)off) != n ||
		    memcmp(part, other, (size_t)n) != 0)
			return false;
		off += (uint64_t)n;
	}
	return !n && off == f->copy_bytes;
}

static struct hv_err *load(struct btf_files *f, const char *file, uint64_t len_bytes)
{
	HV_AUTO_FD int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct hv_err *err;
	struct stat st;

	if (fd < 0)
		return hv_err_new(errno, "%s", strerror(errno));
	f->copy = memfd_create("hvtrace-btf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (f->copy < 0)
		return hv_err_new(errno, "its copy: %s", strerror(errno));
	err = copy_bytes(fd, f->copy, HV_BTF_COPY_BYTES_MAX);
	if (!err)
		err = hv_btf_copy_seal(f->copy);
	if (err || fstat(f->copy, &st) != 0)
		return err ? err : hv_err_new(errno, "its copy: %s", strerror(errno));
	f->copy_bytes = (uint64_t)st.st_size;
	if (f->copy_bytes == len_bytes)
		return NULL;
	return hv_err_new(EIO, "it was changed: it has %llu bytes, not %llu",
			  (unsigned long long)f->copy_bytes, (unsigned long long)len_bytes);
}

struct hv_err *btf_files_load(struct btf_files *f, const char *file, uint64_t len_bytes,
			      const char *path, const char *release)
{
	struct btf_files new = BTF_FILES_NONE;
	struct hv_err *err = load(&new, file, len_bytes);

	if (err) {
		btf_files_close(&new);
		return hv_err_in(err, "%s", file);
	}
	new.path = hv_strdup(path);
	new.release = hv_strdup(release);
	new.is_loaded = true;
	memcpy(new.dirs, f->dirs, sizeof(new.dirs));
	new.nr_dirs = f->nr_dirs;
	f->nr_dirs = 0;
	new.skipped = f->skipped;
	f->skipped = (struct hv_text){0};
	btf_files_close(f);
	*f = new;
	return NULL;
}

/* -- the request ------------------------------------------------------------------------------- */

struct hv_err *btf_files_ask(int socket, unsigned kind, const char *release,
			     struct hv_btf_given *ret)
{
	struct hv_message question = {
		.kind = kind, .bytes = (uint8_t *)release, .len_bytes = strlen(release)};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = hv_channel_ask(socket, &question, &answer);

	if (err)
		return err;
	if (answer.nr_fds != 1 || answer.fds[0] < 0)
		return hv_err_new(EMFILE, "the BTF file cannot be passed");
	*ret = (struct hv_btf_given){
		.fd = hv_take_fd(&answer.fds[0]),
		.path = hv_strdup((const char *)answer.bytes),
		.is_proved = answer.args[0] != 0,
	};
	return NULL;
}

struct hv_err *btf_files_answer(struct btf_files *f, const struct hv_message *question,
				struct hv_message *ret)
{
	struct hv_err *err = btf_files_find(f, (const char *)question->bytes);

	if (err)
		return err;
	ret->args[0] = f->is_proved;
	ret->bytes = (uint8_t *)hv_strdup(f->path);
	ret->len_bytes = strlen(f->path);
	hv_message_add_fd(ret, f->copy);
	return NULL;
}
