/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/rundir.h"

#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <linux/limits.h>
#include <linux/xattr.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/text.h"

#define REASON_BYTES_MAX 1024 /* the service chooses it and may be compromised */

static const char *const rundir_files[] = {"sock",     "pid",	   "log",	RUNDIR_MOUNTS,
					   "btf.new",  RUNDIR_BTF, "facts.new", RUNDIR_FACTS,
					   "info.new", "info",	   "lock"};

char *rundir_path(const char *dir, const char *file)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_printf(&t, "%s/%s", dir, file);
	return hv_text_take(&t);
}

static bool is_safe_name(const char *id)
{
	return id[0] && id[0] != '.' && !strchr(id, '/');
}

static struct hv_err *make_dir(const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return NULL;
	return hv_err_new(errno, "%s: cannot be made: %s", path, strerror(errno));
}

/* Unlike flock, an OFD lock can be tested without acquiring it, so a test never makes an attach
 * fail. Only root can open the lock file, because every process that opens it could lock it. */
static bool lock_take(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* The directory's owner may have removed the file between our open and our lock. */
static bool is_same_file(int fd, const char *path)
{
	struct stat by_fd;
	struct stat by_path;

	return fstat(fd, &by_fd) == 0 && stat(path, &by_path) == 0 &&
	       by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

static void unlink_in(const char *dir, const char *file)
{
	HV_AUTO_FREE char *path = rundir_path(dir, file);

	unlink(path);
}

static struct hv_err *take_once(const char *path, bool *ret_taken, int *ret_fd)
{
	HV_AUTO_FREE char *lock = rundir_path(path, "lock");
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = make_dir(path);

	if (err)
		return err;
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno != ENOENT)
		return hv_err_new(errno, "%s: %s", lock, strerror(errno));
	if (fd >= 0 && !lock_take(fd))
		return hv_err_new(EBUSY, "%s: a service is running there", path);
	*ret_taken = fd >= 0 && is_same_file(fd, lock);
	if (*ret_taken)
		*ret_fd = hv_take_fd(&fd);
	return NULL;
}

void rundir_forget(struct rundir *d)
{
	hv_close_at(&d->lock_fd);
	free(d->path);
	*d = (struct rundir)RUNDIR_NONE;
}

bool rundir_is_ours(const struct rundir *d)
{
	HV_AUTO_FREE char *lock = d->path ? rundir_path(d->path, "lock") : NULL;

	return lock && is_same_file(d->lock_fd, lock);
}

/* Users who may read FROM may also read TO (service/access.h). */
static void copy_access(const char *from, const char *to)
{
	char acl[XATTR_SIZE_MAX];
	ssize_t len = getxattr(from, XATTR_NAME_POSIX_ACL_ACCESS, acl, sizeof(acl));

	if (len > 0)
		setxattr(to, XATTR_NAME_POSIX_ACL_ACCESS, acl, (size_t)len, 0);
}

/* Replaces the file atomically. */
static bool put_info(const char *dir, json_object *o)
{
	HV_AUTO_FREE char *path = rundir_path(dir, "info"), *new = rundir_path(dir, "info.new");

	/* session_info_object() rejects larger files */
	if (strlen(json_object_to_json_string(o)) > SESSION_INFO_BYTES_MAX ||
	    json_object_to_file(new, o) != 0)
		return false;
	copy_access(path, new);
	return rename(new, path) == 0;
}

/* REASON may be NULL. */
static void leave(struct rundir *d, const char *reason)
{
	json_object *o = session_info_object(d->path);
	int len = reason ? (int)strnlen(reason, REASON_BYTES_MAX) : 0;

	if (o) {
		if (reason)
			json_object_object_add(o, "ended", json_object_new_string_len(reason, len));
		json_object_object_add(o, "left", json_object_new_boolean(d->has_left));
		json_object_object_del(o, "recovers");
		put_info(d->path, o);
		json_object_put(o);
	}
	unlink_in(d->path, "sock");
	unlink_in(d->path, "pid");
	unlink_in(d->path, "lock");
	rundir_forget(d);
}

void rundir_remove(struct rundir *d)
{
	if (!rundir_is_ours(d)) {
		rundir_forget(d);
		return;
	}
	if (d->has_left) {
		leave(d, NULL);
		return;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(rundir_files); i++)
		unlink_in(d->path, rundir_files[i]);
	rmdir(d->path);
	rundir_forget(d);
}

void rundir_leave(struct rundir *d, const char *reason)
{
	if (rundir_is_ours(d))
		leave(d, reason);
	else
		rundir_forget(d);
}

struct hv_err *rundir_write_info(const struct rundir *d, const struct rundir_info *info)
{
	json_object *o = json_object_new_object();
	bool is_written;

	json_object_object_add(o, "id", json_object_new_string(info->id));
	json_object_object_add(o, "name", json_object_new_string(info->name));
	json_object_object_add(o, "spec", json_object_new_string(info->spec));
	if (info->uri)
		json_object_object_add(o, "uri", json_object_new_string(info->uri));
	if (info->btf && info->btf_release && info->btf_bytes) {
		json_object_object_add(o, "btf", json_object_new_string(info->btf));
		json_object_object_add(o, "btf_release", json_object_new_string(info->btf_release));
		json_object_object_add(o, "btf_bytes", json_object_new_uint64(info->btf_bytes));
		json_object_object_add(o, "btf_proved", json_object_new_boolean(info->btf_proved));
	}
	json_object_object_add(o, "vmm_pid", json_object_new_int(info->vmm_pid));
	json_object_object_add(o, "vmm_start",
			       json_object_new_uint64(session_info_start_of(info->vmm_pid)));
	json_object_object_add(o, "service_pid", json_object_new_int(info->service_pid));
	if (info->recovers)
		json_object_object_add(o, "recovers", json_object_new_boolean(true));
	is_written = put_info(d->path, o);
	json_object_put(o);
	return is_written ? NULL : hv_err_new(EIO, "%s/info: cannot be written", d->path);
}

static bool read_info(const char *dir, struct rundir_info *ret)
{
	int error = session_info_read(dir, ret);

	if (error == ENOMEM)
		abort();
	return !error;
}

bool rundir_read_info(const struct rundir *d, struct rundir_info *ret)
{
	return read_info(d->path, ret);
}

/* Derives has_left from the info of the service that died. */
static void note_left(struct rundir *d)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};

	if (!read_info(d->path, &info))
		return;
	d->has_left = (info.has_left || !info.ended) && !rundir_vmm_has_ended(&info);
}

/* Returns whether the file of a session that died stays when another process takes the
 * directory. */
static bool stays(const struct rundir *d, const char *file)
{
	bool is_for_recovery = !strcmp(file, RUNDIR_BTF) || !strcmp(file, RUNDIR_FACTS);

	return !strcmp(file, "lock") || !strcmp(file, "info") || (d->has_left && is_for_recovery);
}

struct hv_err *rundir_take(const char *run_dir, const char *id, struct rundir *ret)
{
	HV_AUTO_FREE char *path = rundir_path(run_dir, id);
	bool taken = false;
	int fd = -1;
	struct hv_err *err;

	if (!is_safe_name(id))
		return hv_err_new(EINVAL, "id '%s' cannot be a file's name", id);
	err = make_dir(run_dir);
	if (err)
		return err;
	for (unsigned i = 0; i < 100 && !taken; i++) {
		err = take_once(path, &taken, &fd);
		if (err)
			return err;
	}
	if (!taken)
		return hv_err_new(EAGAIN, "%s: another process keeps removing it", path);
	*ret = (struct rundir){.path = hv_take(path), .lock_fd = fd};
	note_left(ret);
	for (size_t i = 0; i < HV_ARRAY_LEN(rundir_files); i++)
		if (!stays(ret, rundir_files[i]))
			unlink_in(ret->path, rundir_files[i]);
	return NULL;
}

static void close_dir_at(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

struct hv_err *rundir_list(const char *run_dir, struct rundir_info **ret, size_t *ret_nr)
{
	hv_cleanup(close_dir_at) DIR *dir = opendir(run_dir);
	struct rundir_info *list = NULL;
	struct dirent *entry;
	size_t nr = 0;

	if (!dir && errno != ENOENT)
		return hv_err_new(errno, "%s: %s", run_dir, strerror(errno));
	while (dir && (entry = readdir(dir))) {
		HV_AUTO_FREE char *path = rundir_path(run_dir, entry->d_name);
		struct rundir_info info;

		if (entry->d_name[0] == '.' || !read_info(path, &info))
			continue;
		list = hv_realloc_array(list, nr + 1, sizeof(*list));
		list[nr++] = info;
	}
	*ret = list;
	*ret_nr = nr;
	return NULL;
}

void rundir_list_free(struct rundir_info *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		rundir_info_deinit(&list[i]);
	free(list);
}

bool rundir_is_dead_machine(const struct rundir_info *info)
{
	/* only such a machine has its name as its id */
	return !info->live && !info->ended && strcmp(info->id, info->name) == 0 &&
	       rundir_vmm_has_ended(info);
}

void rundir_remove_dead(const char *run_dir, const struct rundir_info *info)
{
	AUTO_RUNDIR struct rundir dir = RUNDIR_NONE;

	hv_err_free(rundir_take(run_dir, info->id, &dir));
	dir.has_left = false;
}

struct hv_err *rundir_find(const char *run_dir, const char *spec, const char *uri, bool *ret_found,
			   struct rundir_info *ret)
{
	struct rundir_info *list;
	size_t best = SIZE_MAX;
	size_t nr;
	struct hv_err *err = rundir_list(run_dir, &list, &nr);

	if (err)
		return err;
	for (size_t i = 0; i < nr; i++)
		if (session_info_names(&list[i], spec, uri) && (best == SIZE_MAX || list[i].live))
			best = i;
	*ret_found = best != SIZE_MAX;
	if (*ret_found) {
		*ret = list[best];
		list[best] = (struct rundir_info){0};
	}
	rundir_list_free(list, nr);
	return NULL;
}
