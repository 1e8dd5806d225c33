/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "kernel/tasks/tasks.h"

/* -- names from records ------------------------------------------------------------------------ */

/* Entries are in a hash by pid, and in a list by the time at which they were set. The list is a
 * ring with entry 0 as its head; the younger neighbour of the head is the oldest entry. */
struct entry {
	uint32_t pid;
	uint32_t tgid;
	uint32_t next; /* next entry in the bucket; 0: none */
	uint32_t younger;
	uint32_t older;
	uint64_t tsc; /* from hv_comms_set_newest() */
	char comm[HV_COMM_LEN];
};

struct hv_comms {
	struct entry *entries; /* nr_max + 1 entries */
	uint32_t *buckets;     /* indices of entries; 0: none */
	uint32_t bucket_mask;
	uint32_t nr;
	uint32_t nr_max;
};

struct hv_comms *hv_comms_new(size_t nr_max)
{
	struct hv_comms *c = hv_alloc(sizeof(*c));
	uint32_t nr_buckets = 1;

	assert(nr_max >= 1 && nr_max <= HV_COMMS_MAX);
	while (nr_buckets < nr_max)
		nr_buckets *= 2;
	c->nr_max = (uint32_t)nr_max;
	c->bucket_mask = nr_buckets - 1;
	c->buckets = hv_alloc(nr_buckets * sizeof(*c->buckets));
	c->entries = hv_alloc((nr_max + 1) * sizeof(*c->entries));
	return c;
}

void hv_comms_free(struct hv_comms *c)
{
	if (!c)
		return;
	free(c->entries);
	free(c->buckets);
	free(c);
}

static uint32_t *bucket_of(const struct hv_comms *c, uint32_t pid)
{
	uint32_t hash = pid * UINT32_C(0x9e3779b1);

	return &c->buckets[(hash ^ hash >> 16) & c->bucket_mask];
}

static uint32_t find(const struct hv_comms *c, uint32_t pid)
{
	uint32_t at = *bucket_of(c, pid);

	while (at && c->entries[at].pid != pid)
		at = c->entries[at].next;
	return at;
}

static void leave_ring(struct hv_comms *c, uint32_t at)
{
	struct entry *e = &c->entries[at];

	c->entries[e->older].younger = e->younger;
	c->entries[e->younger].older = e->older;
}

static void join_ring(struct hv_comms *c, uint32_t at)
{
	struct entry *e = &c->entries[at];

	e->younger = 0;
	e->older = c->entries[0].older;
	c->entries[e->older].younger = at;
	c->entries[0].older = at;
}

static void leave_bucket(struct hv_comms *c, uint32_t at)
{
	uint32_t *link = bucket_of(c, c->entries[at].pid);

	while (*link != at)
		link = &c->entries[*link].next;
	*link = c->entries[at].next;
}

static uint32_t add(struct hv_comms *c, uint32_t pid)
{
	uint32_t *bucket = bucket_of(c, pid);
	uint32_t at;

	if (c->nr < c->nr_max) {
		at = ++c->nr;
	} else {
		at = c->entries[0].younger;
		leave_ring(c, at);
		leave_bucket(c, at);
	}
	c->entries[at].pid = pid;
	c->entries[at].next = *bucket;
	*bucket = at;
	return at;
}

void hv_comms_set(struct hv_comms *c, uint32_t pid, uint32_t tgid, const char *comm)
{
	uint32_t at = find(c, pid);

	if (at)
		leave_ring(c, at);
	else
		at = add(c, pid);
	join_ring(c, at);
	c->entries[at].tgid = tgid;
	memcpy(c->entries[at].comm, comm, HV_COMM_LEN - 1);
	c->entries[at].comm[HV_COMM_LEN - 1] = '\0';
}

void hv_comms_set_newest(struct hv_comms *c, uint64_t tsc, uint32_t pid, uint32_t tgid,
			 const char *comm)
{
	uint32_t at = find(c, pid);

	if (at && c->entries[at].tsc > tsc)
		return;
	hv_comms_set(c, pid, tgid, comm);
	c->entries[find(c, pid)].tsc = tsc;
}

const char *hv_comms_find(const struct hv_comms *c, uint32_t pid)
{
	uint32_t at = find(c, pid);

	return at ? c->entries[at].comm : NULL;
}

uint32_t hv_comms_tgid(const struct hv_comms *c, uint32_t pid)
{
	uint32_t at = find(c, pid);

	return at ? c->entries[at].tgid : 0;
}

size_t hv_comms_max(const struct hv_comms *c)
{
	return c->nr_max;
}

struct hv_comms *hv_comms_resized(const struct hv_comms *c, size_t nr_max)
{
	struct hv_comms *made = hv_comms_new(nr_max);

	for (uint32_t at = c->entries[0].younger; at; at = c->entries[at].younger)
		hv_comms_set(made, c->entries[at].pid, c->entries[at].tgid, c->entries[at].comm);
	return made;
}

bool hv_comms_at(const struct hv_comms *c, size_t index, uint32_t *ret_pid, const char **ret_comm)
{
	if (index >= c->nr)
		return false;
	*ret_pid = c->entries[index + 1].pid;
	*ret_comm = c->entries[index + 1].comm;
	return true;
}

/* -- names of all tasks ------------------------------------------------------------------------ */

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

void hv_names_follow(struct hv_names *n, enum hv_switch to)
{
	n->ignores = !to;
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
