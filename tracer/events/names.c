#include "tracer/events/names.h"

#include "base/clock.h"
#include "base/guard.h"
#include "kernel/tasks.h"
#include "tracer/events/comms.h"

struct hv_names {
	struct hv_kernel *kernel;  /* borrowed */
	struct hv_comms *recorded; /* owned */
	unsigned ignores;	   /* what records tell, and the task list */
	struct hv_tasks tasks;	   /* the guest's list as it was last read */
	uint64_t tasks_read_ns;
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
	if (!n->ignores)
		hv_comms_set(n->recorded, pid, tgid, comm);
}

void hv_names_follow(struct hv_names *n, unsigned on)
{
	n->ignores = !on;
}

static const char *find_in_tasks(const struct hv_names *n, uint32_t pid)
{
	for (size_t i = 0; i < n->tasks.nr; i++)
		if (n->tasks.list[i].pid == pid)
			return n->tasks.list[i].comm;
	return NULL;
}

const char *hv_names_find(struct hv_names *n, uint32_t pid)
{
	const char *comm = hv_comms_find(n->recorded, pid);

	if (comm || n->ignores)
		return comm;
	comm = find_in_tasks(n, pid);
	if (comm || hv_now_ns() - n->tasks_read_ns < HV_NS_PER_S)
		return comm;
	n->tasks_read_ns = hv_now_ns();
	hv_tasks_deinit(&n->tasks);
	/* A list that cannot be read names nobody. */
	hv_err_free(hv_tasks_read(n->kernel, &n->tasks));
	return find_in_tasks(n, pid);
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
}
