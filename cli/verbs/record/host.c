/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/session_stat.h"
#include "cli/verbs/record/apart.h"

#define SYSTEM	    "host"
#define SUFFIX	    "-host"
#define THREADS_MAX 65536

static bool is_wanted(const struct hv_export_head *head)
{
	for (size_t i = 0; i < head->nr_events; i++)
		if (strcmp(head->events[i].system, SYSTEM) == 0)
			return true;
	return false;
}

char *record_host_path(const char *path)
{
	const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

	if (!dot || dot == path || dot[-1] == '/')
		return hv_format("%s" SUFFIX, path);
	return hv_format("%.*s" SUFFIX "%s", (int)(dot - path), path, dot);
}

/* Returns the first line of a file of /proc. Empty: it cannot be read. */
static char *first_line(int dir, const char *path)
{
	HV_AUTO_FD int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char line[512];
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return hv_strdup(line);
}

static void each_thread(const struct record_host *h,
			void (*take)(void *ctx, int tid, const char *comm), void *ctx)
{
	DIR *dir = opendir(h->vmm_tasks);

	for (unsigned i = 0; dir && i < THREADS_MAX; i++) {
		const struct dirent *entry = readdir(dir);
		char path[32];

		if (!entry)
			break;
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.20s/comm", entry->d_name);

		HV_AUTO_FREE char *comm = first_line(dirfd(dir), path);

		if (*comm)
			take(ctx, atoi(entry->d_name), comm);
	}
	if (dir)
		closedir(dir);
}

static void add_name(void *ctx, int tid, const char *comm)
{
	hv_text_printf(ctx, "%d %s\n", tid, comm);
}

void record_host_add_names(const struct record_host *h, struct hv_text *out)
{
	each_thread(h, add_name, out);
}

struct vcpus {
	int32_t *tids;
	unsigned nr;
};

/* QEMU names the thread "CPU 0/KVM". */
static void take_vcpu(void *ctx, int tid, const char *comm)
{
	struct vcpus *v = ctx;
	unsigned cpu;

	if (sscanf(comm, "CPU %u/", &cpu) == 1 && cpu < v->nr)
		v->tids[cpu] = tid;
}

static void find_vcpus(struct record_host *h, unsigned nr_cpus)
{
	struct vcpus v = {hv_realloc_array(NULL, nr_cpus, sizeof(*v.tids)), nr_cpus};

	for (unsigned i = 0; i < nr_cpus; i++)
		v.tids[i] = -1;
	each_thread(h, take_vcpu, &v);
	h->tids = v.tids;
}

/* Chooses two unique numbers for the pair of files. */
static void choose_ids(struct hv_export_host *host)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)getpid() << 32;
	host->trace_id = random | 1;
	host->guest.trace_id = host->trace_id ^ 2;
}

struct hv_err *record_host_open(struct record_host *h, struct client *c, struct errand *e,
				const char *path, const struct hv_export_head *head)
{
	struct hv_err *err;

	if (!is_wanted(head))
		return NULL;
	snprintf(h->vmm_tasks, sizeof(h->vmm_tasks), "/proc/%u/task", (unsigned)c->info.vmm_pid);
	h->path = record_host_path(path);
	err = record_apart_host_file(e, h->path, &h->fd);
	if (err)
		return err;
	h->kernel = first_line(AT_FDCWD, "/proc/version");
	find_vcpus(h, head->nr_cpus);
	h->host = (struct hv_export_host){
		.path = h->path,
		.fd = h->fd,
		.kernel = h->kernel,
		.guest = {.name = c->spec, .vcpu_tids = h->tids},
	};
	choose_ids(&h->host);
	return NULL;
}

void record_host_deinit(struct record_host *h)
{
	hv_close_at(&h->fd);
	free(h->path);
	free(h->kernel);
	free(h->tids);
}
