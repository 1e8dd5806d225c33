/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/guard.h"
#include "base/text.h"

/* -- a process --------------------------------------------------------------------------------- */

#define CMDLINE_MAX_BYTES (4u << 20)
#define PID_NS_MAX	  33 /* nested namespaces: the kernel's MAX_PID_NS_LEVEL plus the initial one */

size_t hv_process_threads_max = 65536;

static struct hv_err *read_proc(pid_t pid, const char *file, struct hv_text *ret)
{
	HV_AUTO_FD int fd = -1;
	char path[64], buf[4096];
	ssize_t nr;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return hv_err_new(ESRCH, "process %d: no such process", (int)pid);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	while ((nr = read(fd, buf, sizeof(buf))) > 0 && ret->len_bytes < CMDLINE_MAX_BYTES)
		hv_text_add_bytes(ret, buf, (size_t)nr);
	if (nr < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	hv_text_add_bytes(ret, "", 0);
	return NULL;
}

static void split_args(const struct hv_text *cmdline, struct hv_process *p)
{
	for (size_t at = 0; at < cmdline->len_bytes; at += strlen(cmdline->data + at) + 1) {
		p->args = hv_realloc_array(p->args, p->nr_args + 2, sizeof(*p->args));
		p->args[p->nr_args++] = hv_strdup(cmdline->data + at);
		p->args[p->nr_args] = NULL;
	}
}

/* Reads the N-th number after KEY in the text of /proc/PID/status. */
static bool status_number(const char *status, const char *key, unsigned n, unsigned long *ret)
{
	const char *at = strstr(status, key);
	char *end;

	if (!at)
		return false;
	at += strlen(key);
	for (unsigned i = 0; i <= n; i++) {
		*ret = strtoul(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	return true;
}

/* The caller frees the text. */
static char *rights_of(const char *status)
{
	static const char *const keys[] = {"\nUid:", "\nGid:", "\nCapPrm:"};
	struct hv_text t = {0};

	hv_text_add(&t, "");
	for (size_t i = 0; i < HV_ARRAY_LEN(keys); i++) {
		const char *line = strstr(status, keys[i]);

		if (line)
			hv_text_add_bytes(&t, line, 1 + strcspn(line + 1, "\n"));
	}
	return t.data;
}

struct hv_err *hv_process_check_rights(const struct hv_process *p)
{
	HV_AUTO_TEXT struct hv_text status = {0};
	HV_AUTO_FREE char *now = NULL;
	struct hv_err *err = read_proc(p->pid, "status", &status);

	if (err)
		return err;
	now = rights_of(status.data);
	return strcmp(now, p->rights) == 0
		       ? NULL
		       : hv_err_new(
				 EPERM,
				 "process %d has other rights than when hvtrace found it: it may "
				 "have executed another program",
				 (int)p->pid);
}

struct hv_err *hv_process_open(pid_t pid, struct hv_process *ret)
{
	HV_AUTO_TEXT struct hv_text cmdline = {0};
	HV_AUTO_TEXT struct hv_text status = {0};
	struct hv_err *err = read_proc(pid, "cmdline", &cmdline);
	unsigned long uid, gid;

	if (!err)
		err = read_proc(pid, "status", &status);
	if (err)
		return err;
	if (!status_number(status.data, "\nUid:", 1, &uid) ||
	    !status_number(status.data, "\nGid:", 1, &gid))
		return hv_err_new(EPROTO, "/proc/%d/status: no Uid or Gid", (int)pid);
	*ret = (struct hv_process){.pid = pid, .uid = (uid_t)uid, .gid = (gid_t)gid};
	ret->rights = rights_of(status.data);
	split_args(&cmdline, ret);
	return NULL;
}

void hv_process_close(struct hv_process *p)
{
	for (size_t i = 0; i < p->nr_args; i++)
		free(p->args[i]);
	free(p->args);
	free(p->rights);
	*p = (struct hv_process){0};
}

struct hv_err *hv_process_of_thread(pid_t tid, pid_t *ret)
{
	HV_AUTO_TEXT struct hv_text status = {0};
	struct hv_err *err = read_proc(tid, "status", &status);
	unsigned long tgid;

	if (err)
		return err;
	if (!status_number(status.data, "\nTgid:", 0, &tgid))
		return hv_err_new(EPROTO, "/proc/%d/status: no Tgid", (int)tid);
	*ret = (pid_t)tgid;
	return NULL;
}

struct hv_err *hv_process_each_thread(pid_t pid, bool (*fn)(void *ctx, pid_t tid), void *ctx)
{
	struct hv_err *err = NULL;
	struct dirent *entry;
	bool goes_on = true;
	size_t seen = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	while (!err && goes_on && (entry = readdir(dir)))
		if (seen++ == hv_process_threads_max)
			err = hv_err_new(E2BIG, "%s: more than %zu threads", path,
					 hv_process_threads_max);
		else if (entry->d_name[0] != '.')
			goes_on = fn(ctx, atoi(entry->d_name));
	closedir(dir);
	return err;
}

bool hv_process_has_thread(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return pid > 0 && tid > 0 && access(path, F_OK) == 0;
}

long hv_thread_status(pid_t pid, pid_t tid, const char *key)
{
	HV_AUTO_FREE char *file = hv_format("task/%d/status", (int)tid);
	HV_AUTO_FREE char *line = hv_format("\n%s", key);
	HV_AUTO_TEXT struct hv_text status = {0};
	HV_AUTO_ERR struct hv_err *err = read_proc(pid, file, &status);
	unsigned long value = 0;

	if (err)
		return -1;
	return status_number(status.data, line, 0, &value) ? (long)value : 0;
}

/* Returns a thread's id in its own pid namespace, or 0 if it is unknown. It is the last number in
 * NSpid, which lists the ids in this process's namespace and in each nested one (proc(5)). */
static pid_t own_id(const char *status, unsigned *ret_nr)
{
	unsigned long id = 0, next;

	for (*ret_nr = 0; *ret_nr < PID_NS_MAX; (*ret_nr)++) {
		if (!status_number(status, "\nNSpid:", *ret_nr, &next))
			break;
		id = next;
	}
	return (pid_t)id;
}

/* Whether process PID has different ids in its own pid namespace. */
static bool has_own_ids(pid_t pid)
{
	HV_AUTO_TEXT struct hv_text status = {0};
	HV_AUTO_ERR struct hv_err *err = read_proc(pid, "status", &status);
	unsigned nr = 0;

	if (!err)
		own_id(status.data, &nr);
	return nr > 1;
}

struct thread_ids {
	pid_t here;
	pid_t own;
};

struct thread_list {
	pid_t pid;
	struct thread_ids *list;
	size_t nr;
	size_t cap;
};

static bool add_thread(void *ctx, pid_t tid)
{
	HV_AUTO_FREE char *file = hv_format("task/%d/status", (int)tid);
	HV_AUTO_TEXT struct hv_text status = {0};
	struct thread_list *l = ctx;
	HV_AUTO_ERR struct hv_err *err = read_proc(l->pid, file, &status);
	unsigned nr_ids;

	if (err)
		return true; /* the thread has ended */
	l->list = hv_grow(l->list, l->nr, &l->cap, 16, sizeof(*l->list));
	l->list[l->nr++] = (struct thread_ids){tid, own_id(status.data, &nr_ids)};
	return true;
}

static bool find_id(const struct thread_ids *list, size_t nr, pid_t *id)
{
	for (size_t i = 0; *id > 0 && i < nr; i++) {
		if (list[i].own != *id)
			continue;
		*id = list[i].here;
		return true;
	}
	return false;
}

unsigned hv_process_find_threads(pid_t pid, pid_t *ids, unsigned nr)
{
	struct thread_list threads = {.pid = pid};
	unsigned i = 0;

	if (!has_own_ids(pid)) {
		while (i < nr && hv_process_has_thread(pid, ids[i]))
			i++;
		return i;
	}
	/* Threads that were not read are not found. */
	hv_err_free(hv_process_each_thread(pid, add_thread, &threads));
	while (i < nr && find_id(threads.list, threads.nr, &ids[i]))
		i++;
	free(threads.list);
	return i;
}

size_t hv_process_arg(const struct hv_process *p, const char *option, size_t from,
		      const char **ret_value)
{
	for (size_t i = from; i < p->nr_args; i++) {
		const char *arg = p->args[i];

		if (strcmp(arg, option) && !(arg[0] == '-' && !strcmp(arg + 1, option)))
			continue;
		if (ret_value)
			*ret_value = i + 1 < p->nr_args ? p->args[i + 1] : "";
		return i + 1;
	}
	return 0;
}

bool hv_process_has_file(const struct hv_process *p, const char *target_part)
{
	char dir_path[64], target[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(dir_path, sizeof(dir_path), "/proc/%d/fd", (int)p->pid);
	dir = opendir(dir_path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (len <= 0)
			continue;
		target[len] = '\0';
		found = strstr(target, target_part);
	}
	closedir(dir);
	return found;
}

/* -- kernel threads ---------------------------------------------------------------------------- */

#define PF_IO_WORKER   0x00000010u /* include/linux/sched.h */
#define PF_USER_WORKER 0x00004000u
#define PF_KTHREAD     0x00200000u
#define STAT_MAX       1024

/* The name, in parentheses, can contain blanks and parentheses. The state, five numbers and the
 * flags follow it (proc_pid_stat(5)). */
bool hv_stat_flags(const char *stat, unsigned *ret)
{
	const char *end = strrchr(stat, ')');

	return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", ret) == 1;
}

bool hv_stat_is_kernel_threads(const char *stat)
{
	unsigned flags;

	return hv_stat_flags(stat, &flags) && flags & PF_KTHREAD;
}

static bool read_stat(pid_t tid, char ret[STAT_MAX + 1])
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/stat", (int)tid);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, ret, STAT_MAX);

	ret[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

bool hv_is_kernel_thread(pid_t tid)
{
	char stat[STAT_MAX + 1];

	return read_stat(tid, stat) && hv_stat_is_kernel_threads(stat);
}

bool hv_stays_in_kernel(pid_t tid)
{
	char stat[STAT_MAX + 1];
	unsigned flags;

	return read_stat(tid, stat) && hv_stat_flags(stat, &flags) &&
	       flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}
