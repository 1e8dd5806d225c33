/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/session_info.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/alloc.h"

#define TRIES_MAX 8   /* sessions that may end while one looks at their directory */
#define EXITING	  0x4 /* PF_EXITING, include/linux/sched.h; also set for a zombie */

void rundir_info_deinit(struct rundir_info *info)
{
	free(info->path);
	free(info->id);
	free(info->name);
	free(info->spec);
	free(info->uri);
	free(info->btf);
	free(info->btf_release);
	free(info->ended);
	*info = (struct rundir_info){0};
}

/* Returns the fields 9 (flags) and 22 (start time) of the process's stat in proc(5), or false if it
 * has ended. The process name may contain any character and ends at the last parenthesis. */
static bool read_stat(pid_t pid, unsigned *ret_flags, unsigned long long *ret_start)
{
	char path[32], text[1024];
	const char *at;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	at = strrchr(text, ')');
	return at && sscanf(at + 1,
			    " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
			    " %*d %*d %llu",
			    ret_flags, ret_start) == 2;
}

uint64_t session_info_start_of(pid_t pid)
{
	unsigned long long start;
	unsigned flags;

	return read_stat(pid, &flags, &start) ? start : 0;
}

/* If the directory is still locked, its broker is about to recover (service/broker.h). */
static bool service_has_ended(const struct rundir_info *info)
{
	unsigned long long start;
	unsigned flags;

	return info->service_pid &&
	       (!read_stat(info->service_pid, &flags, &start) || flags & EXITING);
}

bool rundir_vmm_has_ended(const struct rundir_info *info)
{
	uint64_t start = info->vmm_pid ? session_info_start_of(info->vmm_pid) : 0;

	return info->vmm_pid && (!start || (info->vmm_start && start != info->vmm_start));
}

enum domain_state domain_state(const struct rundir_info *info)
{
	if (!info)
		return DOMAIN_FREE;
	if (info->live && (info->recovers || service_has_ended(info)))
		return DOMAIN_RECOVERING;
	if (info->live)
		return info->listens ? DOMAIN_ATTACHED : DOMAIN_ATTACHING;
	if (info->ended && !info->has_left)
		return DOMAIN_FREE;
	return rundir_vmm_has_ended(info) ? DOMAIN_GONE : DOMAIN_LEFT;
}

static bool path_of(const char *dir, const char *file, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s/%s", dir, file) < PATH_MAX;
}

static bool is_trusted(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid()) &&
	       !(st->st_mode & S_IWOTH) && st->st_size <= SESSION_INFO_BYTES_MAX;
}

/* Returns the open info, or -1. */
static int open_info(const char *dir)
{
	char path[PATH_MAX];

	return path_of(dir, "info", path)
		       ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
		       : -1;
}

static struct json_object *parse(int fd)
{
	char text[SESSION_INFO_BYTES_MAX + 1];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0 || !is_trusted(&st))
		return NULL;
	n = read(fd, text, SESSION_INFO_BYTES_MAX);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return json_tokener_parse(text);
}

struct json_object *session_info_object(const char *dir)
{
	HV_AUTO_FD int fd = open_info(dir);

	return parse(fd);
}

/* Returns whether the info FD was removed or replaced. The file system does not reuse the inode
 * number of an open file. */
static bool is_replaced(const char *dir, int fd)
{
	struct stat before, now;
	char path[PATH_MAX];

	return path_of(dir, "info", path) && fstat(fd, &before) == 0 &&
	       (stat(path, &now) != 0 || now.st_ino != before.st_ino ||
		now.st_dev != before.st_dev);
}

static bool lock_is_held(const char *dir, pid_t service_pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	HV_AUTO_FD int fd = -1;
	char path[PATH_MAX];

	if (!path_of(dir, "lock", path))
		return false;
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* Only root can open the lock file. For other users, the session is live if the service's
	 * process exists. */
	if (fd < 0)
		return errno == EACCES && service_pid > 0 &&
		       (kill(service_pid, 0) == 0 || errno == EPERM);
	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool listens(const char *dir)
{
	char path[PATH_MAX];

	return path_of(dir, "sock", path) && access(path, F_OK) == 0;
}

/* Without a string KEY, *RET becomes NULL. Returns false if there is no memory. */
static bool dup_member(struct json_object *o, const char *key, char **ret)
{
	struct json_object *member;
	const char *text;

	*ret = NULL;
	if (!json_object_object_get_ex(o, key, &member) ||
	    !json_object_is_type(member, json_type_string))
		return true;
	text = json_object_get_string(member);
	if (!text || strlen(text) != (size_t)json_object_get_string_len(member))
		return true;
	*ret = lib_strdup(text);
	return *ret != NULL;
}

static pid_t pid_member(struct json_object *o, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(o, key, &member) ? json_object_get_int(member) : 0;
}

static uint64_t number_member(struct json_object *o, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(o, key, &member) ? json_object_get_uint64(member) : 0;
}

static bool is_true(struct json_object *o, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(o, key, &member) && json_object_get_boolean(member);
}

/* Returns false if there is no memory. */
static bool fill(struct json_object *o, const char *dir, struct rundir_info *info)
{
	info->vmm_pid = pid_member(o, "vmm_pid");
	info->service_pid = pid_member(o, "service_pid");
	info->vmm_start = number_member(o, "vmm_start");
	info->btf_bytes = number_member(o, "btf_bytes");
	info->btf_proved = is_true(o, "btf_proved");
	info->recovers = is_true(o, "recovers");
	info->has_left = is_true(o, "left");
	info->live = lock_is_held(dir, info->service_pid);
	info->listens = listens(dir);
	info->path = lib_strdup(dir);
	return info->path && dup_member(o, "id", &info->id) && dup_member(o, "name", &info->name) &&
	       dup_member(o, "spec", &info->spec) && dup_member(o, "uri", &info->uri) &&
	       dup_member(o, "btf", &info->btf) &&
	       dup_member(o, "btf_release", &info->btf_release) &&
	       dup_member(o, "ended", &info->ended);
}

/* EAGAIN: the session ended while its files were read. */
static int read_once(const char *dir, struct rundir_info *ret)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	HV_AUTO_FD int fd = open_info(dir);
	struct json_object *o = parse(fd);
	bool has_memory;

	if (!o)
		return ENOENT;
	has_memory = fill(o, dir, &info);
	json_object_put(o);
	if (!has_memory)
		return ENOMEM;
	/* A session that ends removes or replaces its info before it gives up its lock. */
	if (!info.live && is_replaced(dir, fd))
		return EAGAIN;
	if (!info.id || !info.name || !info.spec || strcmp(info.id, strrchr(dir, '/') + 1) != 0)
		return ENOENT;
	*ret = info;
	info = (struct rundir_info){0};
	return 0;
}

int session_info_read(const char *dir, struct rundir_info *ret)
{
	int error = EAGAIN;

	for (unsigned i = 0; error == EAGAIN && i < TRIES_MAX; i++)
		error = read_once(dir, ret);
	return error == EAGAIN ? ENOENT : error;
}

bool session_info_names(const struct rundir_info *info, const char *spec, const char *uri)
{
	char by_pid[32];

	if (uri && info->uri && strcmp(uri, info->uri) != 0)
		return false;
	snprintf(by_pid, sizeof(by_pid), "pid:%d", (int)info->vmm_pid);
	return strcmp(spec, info->name) == 0 || strcmp(spec, info->id) == 0 ||
	       strcmp(spec, info->spec) == 0 || strcmp(spec, by_pid) == 0;
}
