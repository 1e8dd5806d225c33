/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/names.h"

#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "kernel/tasks/tasks.h"
#include "tracer/events/comms.h"

struct hv_names {
	struct hv_kernel *kernel;  /* borrowed */
	struct hv_comms *recorded; /* owned */
	unsigned ignores;	   /* ignore names in records, and the task list */
	struct hv_tasks tasks;	   /* the guest's task list at the last read */
	uint64_t tasks_read_ns;
	uint64_t version;
};

struct hv_names *hv_names_new(struct hv_kernel *k)
{
	struct hv_names *n = hv_alloc(sizeof(*n));

	n->kernel = k;
	n->recorded = hv_comms_new(HV_COMMS_MAX);
	return n;
}

void hv_names_free(struct hv_names *n)
{
	if (!n)
		return;
	hv_comms_free(n->recorded);
	hv_tasks_deinit(&n->tasks);
	free(n);
}

void hv_names_add(struct hv_names *n, uint32_t pid, uint32_t tgid, const char *comm)
{
	const char *known = hv_comms_find(n->recorded, pid);

	if (n->ignores)
		return;
	if (!known || strncmp(known, comm, HV_COMM_LEN - 1) != 0 ||
	    hv_comms_tgid(n->recorded, pid) != tgid)
		n->version++;
	hv_comms_set(n->recorded, pid, tgid, comm);
}

uint64_t hv_names_version(const struct hv_names *n)
{
	return n->version;
}

void hv_names_follow(struct hv_names *n, unsigned on)
{
	n->ignores = !on;
	n->version++;
}

static int by_pid(const void *pa, const void *pb)
{
	const struct hv_task *a = pa, *b = pb;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Sorts the list for lookups, because a guest may have 100,000 tasks. */
static void read_tasks(struct hv_names *n)
{
	n->tasks_read_ns = hv_now_ns();
	n->version++;
	hv_tasks_deinit(&n->tasks);
	/* If the list cannot be read, it is empty. */
	hv_err_free(hv_tasks_read(n->kernel, &n->tasks));
	if (n->tasks.nr)
		qsort(n->tasks.list, n->tasks.nr, sizeof(*n->tasks.list), by_pid);
}

static const char *find_in_tasks(const struct hv_names *n, uint32_t pid)
{
	const struct hv_task wanted = {.pid = pid}, *found = NULL;

	if (n->tasks.nr)
		found = bsearch(&wanted, n->tasks.list, n->tasks.nr, sizeof(wanted), by_pid);
	return found ? found->comm : NULL;
}

const char *hv_names_find(struct hv_names *n, uint32_t pid)
{
	const char *comm = hv_comms_find(n->recorded, pid);

	if (comm || n->ignores)
		return comm;
	comm = find_in_tasks(n, pid);
	if (comm || hv_now_ns() - n->tasks_read_ns < HV_NS_PER_S)
		return comm;
	read_tasks(n);
	return find_in_tasks(n, pid);
}

bool hv_names_has(const struct hv_names *n, uint32_t pid)
{
	return hv_comms_find(n->recorded, pid) != NULL;
}

uint32_t hv_names_tgid(const struct hv_names *n, uint32_t pid)
{
	return hv_comms_tgid(n->recorded, pid);
}

bool hv_names_at(const struct hv_names *n, size_t index, uint32_t *ret_pid, const char **ret_comm)
{
	return hv_comms_at(n->recorded, index, ret_pid, ret_comm);
}

size_t hv_names_max(const struct hv_names *n)
{
	return hv_comms_max(n->recorded);
}

void hv_names_set_max(struct hv_names *n, size_t nr_max)
{
	struct hv_comms *made = hv_comms_resized(n->recorded, nr_max);

	hv_comms_free(n->recorded);
	n->recorded = made;
	n->version++;
}
