/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/processes.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "vmm/process/process.h"

#define FILES_MAX 65536 /* descriptors of a process that are examined */

static bool is_harmless(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-_.:+@/", c));
}

static bool take_id(const char *value, char ret[HV_VMM_ID_MAX + 1])
{
	size_t len = 0;

	while (len <= HV_VMM_ID_MAX && is_harmless(value[len]))
		len++;
	if (!len || len > HV_VMM_ID_MAX || value[len])
		return false;
	memcpy(ret, value, len + 1);
	return true;
}

/* Returns the value of the long option NAME in argument AT ("--id=VALUE") or the next one, or NULL. */
static const char *value_of(char *const *args, size_t nr_args, size_t at, const char *name)
{
	const char *option = hv_after_prefix(args[at], "--");
	const char *value = option ? hv_after_prefix(option, name) : NULL;

	if (value && *value == '=')
		return value + 1;
	return value && !*value && at + 1 < nr_args ? args[at + 1] : NULL;
}

bool hv_vmm_id_of(char *const *args, size_t nr_args, char ret[HV_VMM_ID_MAX + 1])
{
	static const char *const names[] = {"id", "name", "api-sock", "api-socket"};

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		for (size_t at = 1; at < nr_args; at++) {
			const char *value = value_of(args, nr_args, at, names[i]);

			if (value)
				return take_id(value, ret);
		}
	return false;
}

/* The kernel names the file, so no other file has this link. */
static bool has_machine(pid_t pid)
{
	char path[64], target[PATH_MAX];
	struct dirent *entry;
	bool has = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	for (unsigned i = 0; dir && !has && i < FILES_MAX && (entry = readdir(dir)); i++) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len < 0 ? 0 : len] = '\0';
		has = !strcmp(target, "anon_inode:kvm-vm");
	}
	if (dir)
		closedir(dir);
	return has;
}

/* The name of the program's file. The VMM's owner chose it. */
static void take_name(pid_t pid, char ret[HV_VMM_NAME_MAX + 1])
{
	char path[64], target[PATH_MAX];
	const char *name;
	size_t len = 0;
	ssize_t nr;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	nr = readlink(path, target, sizeof(target) - 1);
	target[nr < 0 ? 0 : nr] = '\0';
	name = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
	for (; len < HV_VMM_NAME_MAX && is_harmless(name[len]); len++)
		ret[len] = name[len];
	ret[len] = '\0';
}

static bool describe(pid_t pid, struct hv_vmm_process *ret)
{
	struct hv_process process;
	struct hv_err *err;

	*ret = (struct hv_vmm_process){.pid = pid};
	if (!has_machine(pid))
		return false;
	take_name(pid, ret->name);
	err = hv_process_open(pid, &process);
	if (!err) {
		if (!hv_vmm_id_of(process.args, process.nr_args, ret->id))
			ret->id[0] = '\0';
		hv_process_close(&process);
	}
	hv_err_free(err); /* the process may have ended */
	return true;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct hv_vmm_process *)a)->pid - ((const struct hv_vmm_process *)b)->pid;
}

static void find_shared(struct hv_vmm_process *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t n = i + 1; n < nr; n++)
			if (list[i].id[0] && !strcmp(list[i].id, list[n].id))
				list[i].is_shared = list[n].is_shared = true;
}

struct hv_err *hv_vmm_processes(struct hv_vmm_process **ret, size_t *ret_nr)
{
	struct hv_vmm_process *list = NULL;
	struct dirent *entry;
	size_t nr = 0;
	DIR *dir = opendir("/proc");

	if (!dir)
		return hv_err_new(errno, "/proc: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		struct hv_vmm_process process;
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || !describe(pid, &process))
			continue;
		list = hv_realloc_array(list, nr + 1, sizeof(*list));
		list[nr++] = process;
	}
	closedir(dir);
	if (nr)
		qsort(list, nr, sizeof(*list), by_pid);
	find_shared(list, nr);
	*ret = list;
	*ret_nr = nr;
	return NULL;
}

struct hv_err *hv_vmm_process_find(const char *id, pid_t *ret)
{
	HV_AUTO_FREE struct hv_vmm_process *list = NULL;
	size_t nr = 0;
	struct hv_err *err = hv_vmm_processes(&list, &nr);

	for (size_t i = 0; !err && i < nr; i++) {
		if (!list[i].id[0] || strcmp(list[i].id, id) != 0)
			continue;
		if (list[i].is_shared)
			return hv_err_new(ENOTUNIQ,
					  "process %d and another one claim this id; use pid:%d",
					  (int)list[i].pid, (int)list[i].pid);
		*ret = list[i].pid;
		return NULL;
	}
	return err ? err : hv_err_new(ENOENT, "no process with a KVM machine has this id");
}
