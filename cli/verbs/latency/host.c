/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "vmm/qemu/process.h"

#define THREADS_MAX HV_OUTAGE_CPUS_MAX
#define TEXT_LEN    512
#define SAMPLE_MS   10

static bool read_at(int fd, char *to, size_t size)
{
	ssize_t len = pread(fd, to, size - 1, 0);

	if (len <= 0)
		return false;
	to[len] = '\0';
	return true;
}

/* QEMU names its threads "CPU 0/KVM", "CPU 0/TCG", or "ALL CPUs/TCG". */
static bool is_vcpu(const char *comm, unsigned *ret)
{
	if (strncmp(comm, "ALL CPUs/", 9) == 0) {
		*ret = LATENCY_ALL_CPUS;
		return true;
	}
	return sscanf(comm, "CPU %u/", ret) == 1 && *ret < THREADS_MAX;
}

static int open_file(uint64_t pid, const char *tid, const char *name)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%" PRIu64 "/task/%s/%s", pid, tid, name);

	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool look(const struct latency_thread *t, struct latency_thread *ret)
{
	char text[TEXT_LEN];
	const char *end;

	*ret = *t;
	if (t->schedstat < 0 || t->stat < 0 || !read_at(t->stat, text, sizeof(text)))
		return false;
	end = strrchr(text, ')');
	if (!end || end[1] != ' ')
		return false;
	ret->state = end[2];
	ret->time_ns = hv_now_ns();
	ret->has_sample = true;
	return read_at(t->schedstat, text, sizeof(text)) &&
	       sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ret->on_cpu_ns, &ret->waited_ns,
		      &ret->nr_slices) == 3;
}

/* False: it is a vCPU's, and cannot be looked at. A kernel that keeps no account of waiting has no
 * schedstat, or one in which nobody ever ran. */
static bool open_thread(struct latency_host *h, uint64_t pid, const char *tid)
{
	HV_AUTO_FD int comm = open_file(pid, tid, "comm");
	struct latency_thread t = {.schedstat = -1, .stat = -1}, now;
	char text[TEXT_LEN];

	if (comm < 0 || !read_at(comm, text, sizeof(text)) || !is_vcpu(text, &t.cpu))
		return true;
	t.schedstat = open_file(pid, tid, "schedstat");
	t.stat = open_file(pid, tid, "stat");
	h->threads = hv_realloc_array(h->threads, h->nr + 1, sizeof(*h->threads));
	h->threads[h->nr++] = t;
	return look(&t, &now) && now.nr_slices;
}

static void close_threads(struct latency_host *h)
{
	for (unsigned i = 0; i < h->nr; i++) {
		hv_close_at(&h->threads[i].schedstat);
		hv_close_at(&h->threads[i].stat);
	}
	h->nr = 0;
}

static bool counts_instructions(uint64_t vmm_pid)
{
	struct hv_process p = {0};
	struct hv_err *err = hv_process_open((pid_t)vmm_pid, &p);
	bool counts = !err && hv_process_arg(&p, "-icount", 0, NULL);

	hv_err_free(err);
	hv_process_close(&p);
	return counts;
}

void latency_host_open(struct latency_host *h, uint64_t vmm_pid, char **ret_why)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%" PRIu64 "/task", vmm_pid);
	DIR *dir = vmm_pid ? opendir(path) : NULL;
	bool can_look = true;

	*ret_why = NULL;
	h->counts_instructions = counts_instructions(vmm_pid);
	for (struct dirent *e; dir && can_look && h->nr < THREADS_MAX && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			can_look = open_thread(h, vmm_pid, e->d_name);
	/* Who sees only some of the vCPUs would blame the guest for what the host took of others.
	 */
	if (!can_look)
		close_threads(h);
	if (!dir)
		*ret_why = hv_format("the VMM's threads cannot be seen (%s)",
				     vmm_pid ? strerror(errno) : "its pid is not known");
	else if (!can_look)
		*ret_why = hv_format("schedstat and stat of a vCPU's thread (of pid %" PRIu64
				     ") cannot be read, or tell nothing",
				     vmm_pid);
	else if (!h->nr)
		*ret_why = hv_format("no thread of the VMM (pid %" PRIu64
				     ") is named as one that runs a vCPU (QEMU: `-name "
				     "debug-threads=on`, as libvirt starts it)",
				     vmm_pid);
	if (dir)
		closedir(dir);
}

static void end_sampler(struct latency_host *h)
{
	if (!h->has_sampler)
		return;
	pthread_mutex_lock(&h->lock);
	h->ends = true;
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->sampler, NULL);
	pthread_mutex_destroy(&h->lock);
}

void latency_host_deinit(struct latency_host *h)
{
	end_sampler(h);
	close_threads(h);
	free(h->threads);
	free(h->outages);
}

static bool is_stopped(char state)
{
	return state == 'T' || state == 't';
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The scheduler adds a wait when it has ended. So it may have begun before the last sample; what is
 * more than the time since then is of one wait. */
static struct hv_outage waited(const struct latency_thread *t, const struct latency_thread *now)
{
	uint64_t ns = less(now->waited_ns, t->waited_ns);
	uint64_t slices = less(now->nr_slices, t->nr_slices);
	uint64_t mean_ns = slices > 1 ? ns / slices : ns;
	uint64_t before_ns = less(ns, now->time_ns - t->time_ns);

	return (struct hv_outage){
		.from_ns = less(t->time_ns, ns),
		.to_ns = now->time_ns,
		.taken_ns = ns,
		.longest_ns = mean_ns > before_ns ? mean_ns : before_ns,
		.why = HV_OUTAGE_WAITED,
	};
}

/* What of the time between two samples it neither ran nor waited, if it was stopped at one. */
static struct hv_outage stopped(const struct latency_thread *t, const struct latency_thread *now)
{
	uint64_t passed = now->time_ns - t->time_ns;
	uint64_t ns = less(passed,
			   less(now->on_cpu_ns, t->on_cpu_ns) + less(now->waited_ns, t->waited_ns));

	if (!is_stopped(t->state) && !is_stopped(now->state))
		ns = 0;
	return (struct hv_outage){
		.from_ns = t->time_ns,
		.to_ns = now->time_ns,
		.taken_ns = ns,
		.longest_ns = ns,
		.why = HV_OUTAGE_STOPPED,
	};
}

static void add(struct latency_host *h, unsigned cpu, const struct hv_outage *outage)
{
	if (!outage->taken_ns)
		return;
	pthread_mutex_lock(&h->lock);
	if (h->nr_outages < LATENCY_OUTAGES_MAX)
		h->outages[h->nr_outages++] = (struct latency_outage){cpu, *outage};
	pthread_mutex_unlock(&h->lock);
}

static void sample(struct latency_host *h)
{
	for (unsigned i = 0; i < h->nr; i++) {
		struct latency_thread *t = &h->threads[i], now;
		struct hv_outage outage;

		if (!look(t, &now))
			continue;
		if (t->has_sample) {
			outage = waited(t, &now);
			add(h, t->cpu, &outage);
			outage = stopped(t, &now);
			add(h, t->cpu, &outage);
		}
		*t = now;
	}
}

static bool has_to_end(struct latency_host *h)
{
	bool ends;

	pthread_mutex_lock(&h->lock);
	ends = h->ends;
	pthread_mutex_unlock(&h->lock);
	return ends;
}

static void *run_sampler(void *arg)
{
	struct latency_host *h = arg;

	while (!has_to_end(h)) {
		sample(h);
		poll(NULL, 0, SAMPLE_MS);
	}
	return NULL;
}

void latency_host_begin(struct latency_host *h)
{
	pthread_mutex_init(&h->lock, NULL);
	h->outages = hv_realloc_array(NULL, LATENCY_OUTAGES_MAX, sizeof(*h->outages));
	h->has_sampler = pthread_create(&h->sampler, NULL, run_sampler, h) == 0;
}

static void give(struct hv_latency *l, const struct latency_outage *o)
{
	unsigned first = o->cpu == LATENCY_ALL_CPUS ? 0 : o->cpu;
	unsigned last = o->cpu == LATENCY_ALL_CPUS ? l->host.nr_cpus : o->cpu + 1;

	for (unsigned cpu = first; cpu < last; cpu++)
		hv_latency_add_host(l, cpu, &o->outage);
}

void latency_host_take(struct latency_host *h, struct hv_latency *l)
{
	if (!h->has_sampler)
		return;
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < h->nr_outages; i++)
		give(l, &h->outages[i]);
	h->nr_outages = 0;
	pthread_mutex_unlock(&h->lock);
}
