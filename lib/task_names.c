/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/task_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/clock.h"
#include "lib/alloc.h"

#define REFRESH_NS   (100 * HV_NS_PER_MS)
#define UNKNOWN_NAME "<...>"
#define IDLE_NAME    "<idle>"
#define NAMES_PATH   "saved_cmdlines"

struct task {
	uint32_t pid;
	char comm[TASK_NAME_BYTES];
};

struct task_names {
	struct task *list; /* owned, sorted by pid */
	size_t nr;
	uint64_t read_ns; /* when they were read */
};

void task_names_free(struct task_names *names)
{
	if (!names)
		return;
	free(names->list);
	free(names);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* LINE is "61 cat". */
static bool parse_task(const char *line, struct task *ret)
{
	char *end;
	unsigned long pid = strtoul(line, &end, 10);

	if (end == line || *end != ' ' || pid > UINT32_MAX)
		return false;
	*ret = (struct task){.pid = (uint32_t)pid};
	snprintf(ret->comm, sizeof(ret->comm), "%s", end + 1);
	return true;
}

static struct hvt_error *read_names(struct conn *c, struct task_names *names)
{
	HV_AUTO_FREE char *text = NULL;
	size_t len_bytes, nr_lines = 1, nr = 0;
	struct hvt_error *error = conn_read_lines(c, WIRE_OPEN, NAMES_PATH, &text, &len_bytes);
	struct task *list;
	char *rest = text;

	names->read_ns = hv_now_ns();
	if (error)
		return error;
	for (size_t i = 0; i < len_bytes; i++)
		nr_lines += text[i] == '\n';
	list = lib_realloc_array(NULL, nr_lines, sizeof(*list));
	if (!list)
		return error_no_memory();
	for (char *line; nr < nr_lines && (line = strsep(&rest, "\n"));)
		nr += parse_task(line, &list[nr]);
	if (nr)
		qsort(list, nr, sizeof(*list), compare_tasks);
	free(names->list);
	names->list = list;
	names->nr = nr;
	return NULL;
}

static const struct task *find_task(const struct task_names *names, uint32_t pid)
{
	size_t at = HV_BISECT(i, names->nr, names->list[i].pid < pid);

	return at < names->nr && names->list[at].pid == pid ? &names->list[at] : NULL;
}

struct hvt_error *task_names_find(struct task_names **names, struct conn *c, uint32_t pid,
				  char ret[TASK_NAME_BYTES])
{
	struct hvt_error *error = NULL;
	const struct task *task;

	if (!*names && !(*names = lib_alloc(sizeof(**names))))
		return error_no_memory();
	if (pid && hv_now_ns() - (*names)->read_ns >= REFRESH_NS)
		error = read_names(c, *names);
	if (error)
		return error;
	task = find_task(*names, pid);
	snprintf(ret, TASK_NAME_BYTES, "%s", task ? task->comm : pid ? UNKNOWN_NAME : IDLE_NAME);
	return NULL;
}
