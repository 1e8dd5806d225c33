/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/processes.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

struct rights {
	char name[17];
	unsigned uid;
	uint64_t permitted;
	uint64_t bounding; /* what a process of root's can have */
	unsigned seccomp;
	unsigned no_new_privs;
};

static bool read_rights(pid_t pid, struct rights *ret)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	char line[256];

	*ret = (struct rights){0};
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Name:\t%16[^\n]", ret->name);
		sscanf(line, "Uid:\t%*u %u", &ret->uid);
		sscanf(line, "CapPrm:\t%" SCNx64, &ret->permitted);
		sscanf(line, "CapBnd:\t%" SCNx64, &ret->bounding);
		sscanf(line, "Seccomp:\t%u", &ret->seccomp);
		sscanf(line, "NoNewPrivs:\t%u", &ret->no_new_privs);
	}
	if (f)
		fclose(f);
	return f && ret->name[0];
}

/* Those that processes of a session keep; of others the number is enough. */
static void add_capability(struct hv_text *out, unsigned cap)
{
	static const char *const names[] = {
		[CAP_CHOWN] = "chown",
		[CAP_DAC_OVERRIDE] = "dac_override",
		[CAP_DAC_READ_SEARCH] = "dac_read_search",
		[CAP_FOWNER] = "fowner",
		[CAP_KILL] = "kill",
		[CAP_SETGID] = "setgid",
		[CAP_SETUID] = "setuid",
		[CAP_SYS_CHROOT] = "sys_chroot",
		[CAP_SYS_PTRACE] = "sys_ptrace",
		[CAP_SYS_ADMIN] = "sys_admin",
	};

	if (cap < HV_ARRAY_LEN(names) && names[cap])
		hv_text_add(out, names[cap]);
	else
		hv_text_printf(out, "%u", cap);
}

static json_object *capabilities(const struct rights *r)
{
	HV_AUTO_TEXT struct hv_text names = {0};

	if (!r->permitted)
		return json_object_new_string("none");
	if (r->permitted == r->bounding)
		return json_object_new_string("all");
	for (unsigned cap = 0; cap < 64; cap++) {
		if (!(r->permitted >> cap & 1))
			continue;
		hv_text_add(&names, names.len_bytes ? " " : "");
		add_capability(&names, cap);
	}
	return json_object_new_string(names.data);
}

static void add_process(json_object *list, pid_t pid)
{
	HV_AUTO_TEXT struct hv_text name = {0};
	json_object *o;
	struct rights r;

	if (!read_rights(pid, &r))
		return;
	o = json_object_new_object();
	hv_text_add_guest(&name, r.name, sizeof(r.name));
	json_object_object_add(o, "pid", json_object_new_int(pid));
	json_object_object_add(o, "name", json_object_new_string(name.data));
	json_object_object_add(o, "uid", json_object_new_int64(r.uid));
	json_object_object_add(o, "capabilities", capabilities(&r));
	json_object_object_add(o, "seccomp", json_object_new_boolean(r.seccomp != 0));
	json_object_object_add(o, "no_new_privs", json_object_new_boolean(r.no_new_privs != 0));
	json_object_array_add(list, o);
}

/* PID and those that it started, who are helpers. */
static void add_tree(json_object *list, pid_t pid)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *f = fopen(path, "re");
	int child;

	add_process(list, pid);
	while (f && fscanf(f, "%d", &child) == 1)
		add_tree(list, child);
	if (f)
		fclose(f);
}

json_object *processes_list(pid_t first)
{
	json_object *list = json_object_new_array();

	add_tree(list, first);
	return list;
}
