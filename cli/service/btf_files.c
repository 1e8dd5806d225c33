/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/btf_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "vmm/warden/channel.h"

#define RELEASE_MAX_BYTES 64 /* __NEW_UTS_LEN */
#define PACKAGED	  2

static const char *const packaged[PACKAGED] = {"/usr/share/hvtrace/btf", "/var/lib/hvtrace/btf"};

/* Whether RELEASE can be part of a file name. */
static bool is_name(const char *release)
{
	size_t len = strlen(release);

	if (!len || len > RELEASE_MAX_BYTES || *release == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)release[i]) && !strchr(".-_+~", release[i]))
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

/* Leaves *RET_FD at -1 if DIR or the file does not exist. */
static struct hv_err *open_in(const char *dir, const char *release, int *ret_fd, char **ret_path)
{
	HV_AUTO_FD int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	HV_AUTO_FREE char *name = hv_format("%s.btf", release);
	HV_AUTO_FREE char *path = hv_format("%s/%s", dir, name);
	struct hv_err *err;

	if (at < 0 && errno == ENOENT)
		return NULL;
	if (at < 0)
		return hv_err_new(errno, "%s: %s", dir, strerror(errno));
	err = check_owner(at, dir, S_IFDIR);
	if (err)
		return err;
	/* Opening a FIFO would wait for a writer. */
	fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 && errno == ELOOP)
		return hv_err_new(ELOOP, "%s: is a symbolic link: replace it by a file", path);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	err = check_owner(fd, path, S_IFREG);
	if (err)
		return err;
	*ret_fd = hv_take_fd(&fd);
	*ret_path = hv_take(path);
	return NULL;
}

/* The user named this file. */
static struct hv_err *open_given(const char *path, int *ret_fd, char **ret_path)
{
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return hv_err_new(errno == ENOENT ? EINVAL : errno, "%s: %s", path,
				  strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return hv_err_new(EINVAL, "%s: is not a regular file", path);
	*ret_fd = hv_take_fd(&fd);
	*ret_path = hv_strdup(path);
	return NULL;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct hv_err *btf_files_open(const char *given, const char *release, int *ret_fd, char **ret_path)
{
	const char *const *dirs = given ? &given : packaged;
	size_t nr = given ? 1 : PACKAGED;
	struct hv_err *err = NULL;

	if (given && !is_directory(given))
		return open_given(given, ret_fd, ret_path);
	if (!is_name(release))
		return hv_err_new(ENOENT, "the kernel's release cannot be the name of a file");
	*ret_fd = -1;
	for (size_t i = 0; !err && *ret_fd < 0 && i < nr; i++)
		err = open_in(dirs[i], release, ret_fd, ret_path);
	if (err || *ret_fd >= 0)
		return err;
	if (given)
		return hv_err_new(ENOENT, "no file %s.btf in %s", release, given);
	return hv_err_new(ENOENT, "no file %s.btf in %s or %s", release, packaged[0], packaged[1]);
}

struct hv_err *btf_files_ask(int socket, unsigned kind, const char *release, int *ret_fd,
			     char **ret_path)
{
	struct hv_message question = {
		.kind = kind, .bytes = (uint8_t *)release, .len_bytes = strlen(release)};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = hv_channel_ask(socket, &question, &answer);

	if (err)
		return err;
	if (!answer.nr_fds)
		return hv_err_new(EMFILE, "the BTF file cannot be passed");
	*ret_fd = hv_take_fd(&answer.fds[0]);
	*ret_path = hv_strdup((const char *)answer.bytes);
	return NULL;
}

struct hv_err *btf_files_answer(const char *given, const struct hv_message *question,
				struct hv_message *ret)
{
	HV_AUTO_FD int fd = -1;
	char *path = NULL;
	struct hv_err *err = btf_files_open(given, (const char *)question->bytes, &fd, &path);

	if (err)
		return err;
	ret->bytes = (uint8_t *)path;
	ret->len_bytes = strlen(path);
	hv_message_add_fd(ret, fd);
	return NULL;
}
