/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/prefix.h"
#include "base/text.h"
#include "vmm/process/process.h"

#define LIMIT_TEXT_LEN 4096
#define NS_PER_US      1000
#define CPU	       "cpu"

/* -- limits of CPU time: paths ---------------------------------------------------------------- */

/* Whether the comma-separated list WORDS contains WORD. */
static bool has_word(const char *words, size_t len, const char *word)
{
	for (const char *end = words + len; words < end;) {
		size_t n = strcspn(words, ", :\n");

		if (n == strlen(word) && strncmp(words, word, n) == 0)
			return true;
		words += n + 1;
	}
	return false;
}

char *vmm_limits_find_root(const char *mounts, bool *ret_is_v1)
{
	HV_AUTO_FREE char *copy = hv_strdup(mounts), *v2 = NULL;
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *words[4] = {0};

		for (size_t i = 0; i < HV_ARRAY_LEN(words); i++)
			words[i] = strsep(&line, " ");
		if (!words[3])
			continue;
		if (strcmp(words[2], "cgroup2") == 0 && !v2)
			v2 = hv_strdup(words[1]);
		if (strcmp(words[2], "cgroup") != 0 || !has_word(words[3], strlen(words[3]), CPU))
			continue;
		*ret_is_v1 = true;
		return hv_strdup(words[1]);
	}
	*ret_is_v1 = false;
	return hv_take(v2);
}

char *vmm_limits_find_path(const char *cgroups, enum cgroup_version version)
{
	for (const char *line = cgroups; *line;
	     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		const char *words = line + strcspn(line, ":\n");
		const char *path = *words == ':' ? words + 1 + strcspn(words + 1, ":\n") : words;
		size_t len = *path == ':' ? strcspn(path + 1, "\n") : 0;
		bool is_v2s = *words == ':' && path == words + 1;

		if (!len || path[1] != '/')
			continue;
		if (version == CGROUP_V1
			    ? is_v2s || !has_word(words + 1, (size_t)(path - words - 1), CPU)
			    : !is_v2s)
			continue;
		if (len >= 3 && hv_starts_with(path + 1, "/.."))
			return NULL;
		return hv_format("%.*s", (int)len, path + 1);
	}
	return NULL;
}

/* -- files ------------------------------------------------------------------------------------- */

static bool read_fd(int fd, char *text, size_t size)
{
	ssize_t len = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	if (len < 0)
		return false;
	text[len] = '\0';
	return true;
}

static bool read_path(const char *path, char *text, size_t size)
{
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	return read_fd(fd, text, size);
}

static int open_in(const struct vmm_limits *l, const char *path, const char *name)
{
	HV_AUTO_FREE char *file = hv_format("%s%s/%s", l->root, path, name);

	return open(file, O_RDONLY | O_CLOEXEC);
}

static bool is_open(const struct vmm_limits *l, const char *path)
{
	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->list[i].path, path) == 0)
			return true;
	return false;
}

/* A group without the limit file, such as the root, has no limit. */
static void open_group(struct vmm_limits *l, const char *path)
{
	struct vmm_limit *g = &l->list[l->nr];

	if (l->nr == VMM_LIMITS_MAX || is_open(l, path))
		return;
	*g = (struct vmm_limit){.stat = open_in(l, path, "cpu.stat"), .max = -1, .period = -1};
	if (g->stat < 0)
		return;
	g->path = hv_strdup(path);
	g->max = open_in(l, path, l->is_v1 ? "cpu.cfs_quota_us" : "cpu.max");
	if (l->is_v1)
		g->period = open_in(l, path, "cpu.cfs_period_us");
	l->nr++;
}

/* Opens the cgroups of thread TID of process PID, up to the root. Returns the path of the thread's
 * innermost cgroup, which the caller frees; NULL: unknown. */
static char *vmm_limits_open(struct vmm_limits *l, uint64_t pid, uint32_t tid)
{
	HV_AUTO_FREE char *file = hv_format("/proc/%" PRIu64 "/task/%" PRIu32 "/cgroup", pid, tid);
	HV_AUTO_FREE char *path = NULL, *up = NULL;
	HV_AUTO_FREE char *text = hv_alloc(4 * LIMIT_TEXT_LEN);

	if (!l->root && read_path("/proc/self/mounts", text, 4 * LIMIT_TEXT_LEN))
		l->root = vmm_limits_find_root(text, &l->is_v1);
	if (!l->root || !read_path(file, text, 4 * LIMIT_TEXT_LEN))
		return NULL;
	path = vmm_limits_find_path(text, l->is_v1 ? CGROUP_V1 : CGROUP_V2);
	up = hv_strdup(path ? path : "");
	for (; up[0] && up[1]; *strrchr(up, '/') = '\0')
		open_group(l, up);
	return hv_take(path);
}

void vmm_limits_deinit(struct vmm_limits *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		hv_close_at(&l->list[i].stat);
		hv_close_at(&l->list[i].max);
		hv_close_at(&l->list[i].period);
		free(l->list[i].path);
	}
	free(l->root);
	*l = (struct vmm_limits){0};
}

/* -- counters ---------------------------------------------------------------------------------- */

static uint64_t number_after(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

static void read_stat(const struct vmm_limits *l, const struct vmm_limit *g, uint64_t *ret_nr,
		      uint64_t *ret_ns)
{
	char text[LIMIT_TEXT_LEN];

	*ret_nr = *ret_ns = 0;
	if (!read_fd(g->stat, text, sizeof(text)))
		return;
	*ret_nr = number_after(text, "nr_throttled");
	*ret_ns = l->is_v1 ? number_after(text, "throttled_time")
			   : NS_PER_US * number_after(text, "throttled_usec");
}

void vmm_limits_begin(struct vmm_limits *l)
{
	for (size_t i = 0; i < l->nr; i++)
		read_stat(l, &l->list[i], &l->list[i].first_nr, &l->list[i].first_ns);
}

/* "max 100000" means no quota. */
static void read_limit(struct vmm_limit *g)
{
	char text[LIMIT_TEXT_LEN];

	if (read_fd(g->max, text, sizeof(text)) && text[0] != '-')
		sscanf(text, "%" SCNu64 " %" SCNu64, &g->quota_us, &g->period_us);
	if (read_fd(g->period, text, sizeof(text)))
		g->period_us = strtoull(text, NULL, 10);
}

void vmm_limits_end(struct vmm_limits *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		struct vmm_limit *g = &l->list[i];

		read_stat(l, g, &g->nr, &g->throttled_ns);
		g->nr = g->nr > g->first_nr ? g->nr - g->first_nr : 0;
		g->throttled_ns = g->throttled_ns > g->first_ns ? g->throttled_ns - g->first_ns : 0;
		read_limit(g);
	}
}

static bool is_in(const char *path, const char *group)
{
	size_t len = strlen(group);

	return strncmp(path, group, len) == 0 && (!path[len] || path[len] == '/');
}

const struct vmm_limit *vmm_limits_worst(const struct vmm_limits *l, const char *path)
{
	const struct vmm_limit *worst = NULL;

	for (size_t i = 0; path && i < l->nr; i++)
		if (is_in(path, l->list[i].path) && l->list[i].throttled_ns &&
		    (!worst || l->list[i].throttled_ns > worst->throttled_ns))
			worst = &l->list[i];
	return worst;
}

/* -- time of the threads ---------------------------------------------------------------------- */

#define THREADS_MAX HV_OUTAGE_CPUS_MAX
#define TEXT_LEN    512
#define SAMPLE_MS   10
#define LOOK_NS	    HV_NS_PER_S /* interval for finding new threads of the VMM */

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
	if (hv_starts_with(comm, "ALL CPUs/")) {
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

static void close_thread(struct latency_thread *t)
{
	hv_close_at(&t->schedstat);
	hv_close_at(&t->stat);
	free(t->cgroup);
	t->cgroup = NULL;
}

/* False: the thread has ended or cannot be read. Kernels without wait accounting have no schedstat,
 * or one that shows that no thread ever ran. */
static bool open_thread(uint64_t pid, const char *tid, struct latency_thread *ret)
{
	HV_AUTO_FD int comm = open_file(pid, tid, "comm");
	struct latency_thread now;
	char text[TEXT_LEN] = "";

	*ret = (struct latency_thread){.schedstat = -1, .stat = -1, .cpu = LATENCY_NO_CPU};
	if (comm < 0 || !read_at(comm, text, sizeof(text)))
		return false;
	text[strcspn(text, "\n")] = '\0';
	is_vcpu(text, &ret->cpu);
	ret->task = hv_stall_task((uint32_t)strtoul(tid, NULL, 10), text);
	ret->schedstat = open_file(pid, tid, "schedstat");
	ret->stat = open_file(pid, tid, "stat");
	return look(ret, &now) && now.nr_slices;
}

/* H owns the entry; vCPUs come before other threads. */
static void enter_thread(struct latency_host *h, const struct latency_thread *t)
{
	h->threads = hv_realloc_array(h->threads, h->nr + 1, sizeof(*h->threads));
	h->threads[h->nr++] = *t;
	if (t->cpu == LATENCY_NO_CPU)
		return;
	h->threads[h->nr - 1] = h->threads[h->nr_vcpus];
	h->threads[h->nr_vcpus] = *t;
	h->threads[h->nr_vcpus++].cgroup = vmm_limits_open(&h->limits, h->vmm_pid, t->task.pid);
}

static bool has_thread(const struct latency_host *h, const char *tid)
{
	for (unsigned i = 0; i < h->nr; i++)
		if (h->threads[i].task.pid == strtoul(tid, NULL, 10))
			return true;
	return false;
}

/* Adds a new thread. Returns false if it is a vCPU's and cannot be read. Other threads may come and
 * go. */
static bool see_thread(struct latency_host *h, const char *tid)
{
	struct latency_thread t;
	bool can_look;

	if (has_thread(h, tid))
		return true;
	can_look = open_thread(h->vmm_pid, tid, &t);
	if (can_look && (t.cpu != LATENCY_NO_CPU || h->nr - h->nr_vcpus < LATENCY_IO_MAX))
		enter_thread(h, &t);
	else
		close_thread(&t);
	return can_look || t.cpu == LATENCY_NO_CPU;
}

static void close_threads(struct latency_host *h)
{
	for (unsigned i = 0; i < h->nr; i++)
		close_thread(&h->threads[i]);
	h->nr = h->nr_vcpus = 0;
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
	h->vmm_pid = vmm_pid;
	h->looked_ns = hv_now_ns();
	h->counts_instructions = counts_instructions(vmm_pid);
	for (struct dirent *e; dir && can_look && h->nr < THREADS_MAX && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			can_look = see_thread(h, e->d_name);
	/* With only some of the vCPUs, time that the host took from the others would be blamed on
	 * the guest. */
	if (!can_look)
		close_threads(h);
	if (!dir)
		*ret_why = hv_format("the VMM's threads cannot be seen (%s)",
				     vmm_pid ? strerror(errno) : "its pid is not known");
	else if (!can_look)
		*ret_why = hv_format("schedstat and stat of a vCPU's thread (of pid %" PRIu64
				     ") cannot be read, or have no values",
				     vmm_pid);
	else if (!h->nr_vcpus)
		*ret_why = hv_format("no thread of the VMM (pid %" PRIu64
				     ") has the name of a vCPU's thread (QEMU: `-name "
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
	pthread_mutex_destroy(&h->sampling);
	h->has_sampler = false;
}

void latency_host_deinit(struct latency_host *h)
{
	end_sampler(h);
	close_threads(h);
	vmm_limits_deinit(&h->limits);
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

/* The scheduler adds a wait when it ends, so it may have begun before the last sample; time beyond
 * the interval belongs to a single wait. */
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

/* Returns the time between two samples in which the thread neither ran nor waited, if it was
 * stopped in one of the samples. */
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

/* Cuts a wait that began before the measurement and was counted when it ended. */
static void cut_begin(struct hv_outage *o, uint64_t begin_ns)
{
	uint64_t most;

	if (o->from_ns < begin_ns)
		o->from_ns = begin_ns;
	most = less(o->to_ns, o->from_ns);
	o->taken_ns = o->taken_ns < most ? o->taken_ns : most;
	o->longest_ns = o->longest_ns < most ? o->longest_ns : most;
}

static void add(struct latency_host *h, unsigned cpu, struct hv_outage *outage)
{
	cut_begin(outage, h->begin_ns);
	if (!outage->taken_ns)
		return;
	pthread_mutex_lock(&h->lock);
	if (h->nr_outages < LATENCY_OUTAGES_MAX)
		h->outages[h->nr_outages++] = (struct latency_outage){cpu, *outage};
	pthread_mutex_unlock(&h->lock);
}

/* T has the last sample that counts. If the thread waited longer than the time since that sample,
 * the rest was before it. */
static struct hv_outage waited_at_end(struct latency_thread *t, const struct latency_thread *now)
{
	uint64_t ns = less(less(now->waited_ns, t->waited_ns), now->time_ns - t->time_ns);
	struct hv_outage o = {
		.from_ns = less(t->time_ns, ns),
		.to_ns = t->time_ns,
		.taken_ns = less(ns, t->reported_ns),
		.longest_ns = less(ns, t->reported_ns),
		.why = HV_OUTAGE_WAITED,
	};

	if (ns > t->reported_ns)
		t->reported_ns = ns;
	return o;
}

/* Among threads without a vCPU, the longest wait shows how long requests waited. */
static void keep_most(struct hv_outage *most, const struct hv_outage *o,
		      const struct latency_thread *t)
{
	if (o->taken_ns <= most->taken_ns)
		return;
	*most = *o;
	most->by = most->by_last = t->task;
}

static void begin_share(struct latency_thread *t)
{
	t->begin_ns = t->time_ns;
	t->begin_on_cpu_ns = t->on_cpu_ns;
	t->begin_waited_ns = t->waited_ns;
}

static void sample(struct latency_host *h)
{
	struct hv_outage most = {0};

	for (unsigned i = 0; i < h->nr; i++) {
		struct latency_thread *t = &h->threads[i], now;
		struct hv_outage outage = {0}, stop = {0};

		if (!look(t, &now))
			continue;
		if (t->has_sample)
			outage = h->has_ended ? waited_at_end(t, &now) : waited(t, &now);
		if (t->has_sample && !h->has_ended)
			stop = stopped(t, &now);
		now.stopped_ns += stop.taken_ns;
		if (!t->has_sample)
			begin_share(&now);
		if (t->cpu == LATENCY_NO_CPU) {
			keep_most(&most, &outage, t);
		} else {
			add(h, t->cpu, &outage);
			add(h, t->cpu, &stop);
		}
		if (!h->has_ended)
			*t = now;
	}
	add(h, LATENCY_NO_CPU, &most);
}

/* A vCPU that was plugged in during the measurement is ignored, as in the trace. */
static void see_other(struct latency_host *h, const char *tid)
{
	struct latency_thread t;

	if (h->nr - h->nr_vcpus >= LATENCY_IO_MAX || has_thread(h, tid))
		return;
	if (open_thread(h->vmm_pid, tid, &t) && t.cpu == LATENCY_NO_CPU)
		enter_thread(h, &t);
	else
		close_thread(&t);
}

/* Worker threads come and go. The vCPU threads stay. */
static void look_for_threads(struct latency_host *h)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%" PRIu64 "/task", h->vmm_pid);
	unsigned kept = h->nr_vcpus;
	struct latency_thread now;
	DIR *dir;

	if (h->has_ended || hv_now_ns() < h->looked_ns + LOOK_NS)
		return;
	h->looked_ns = hv_now_ns();
	for (unsigned i = h->nr_vcpus; i < h->nr; i++) {
		if (look(&h->threads[i], &now))
			h->threads[kept++] = h->threads[i];
		else
			close_thread(&h->threads[i]);
	}
	h->nr = kept;
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			see_other(h, e->d_name);
	if (dir)
		closedir(dir);
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
		pthread_mutex_lock(&h->sampling);
		look_for_threads(h);
		sample(h);
		pthread_mutex_unlock(&h->sampling);
		poll(NULL, 0, SAMPLE_MS);
	}
	return NULL;
}

void latency_host_begin(struct latency_host *h)
{
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->sampling, NULL);
	h->outages = hv_realloc_array(NULL, LATENCY_OUTAGES_MAX, sizeof(*h->outages));
	h->begin_ns = hv_now_ns();
	vmm_limits_begin(&h->limits);
	sample(h);
	h->has_sampler = pthread_create(&h->sampler, NULL, run_sampler, h) == 0;
}

void latency_host_end(struct latency_host *h)
{
	if (!h->has_sampler)
		return;
	pthread_mutex_lock(&h->sampling);
	sample(h);
	vmm_limits_end(&h->limits);
	h->has_ended = true;
	pthread_mutex_unlock(&h->sampling);
}

/* -- shares ------------------------------------------------------------------------------------ */

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A wait that began before the window counts at most for the window's remaining time. */
static struct hv_share share_of(const struct latency_host *h, const struct latency_thread *t)
{
	const struct vmm_limit *limit = vmm_limits_worst(&h->limits, t->cgroup);
	struct hv_share s = {.window_ns = t->time_ns - t->begin_ns};

	s.ran_ns = lesser(less(t->on_cpu_ns, t->begin_on_cpu_ns), s.window_ns);
	s.stopped_ns = lesser(t->stopped_ns, s.window_ns - s.ran_ns);
	s.waited_ns = lesser(less(t->waited_ns, t->begin_waited_ns) + t->reported_ns,
			     s.window_ns - s.ran_ns - s.stopped_ns);
	s.limited_ns = limit ? lesser(limit->throttled_ns, s.waited_ns) : 0;
	return s;
}

static void fill_shares(const struct latency_host *h, unsigned nr_cpus, struct hv_shares *ret)
{
	ret->list = hv_alloc(nr_cpus * sizeof(*ret->list));
	ret->nr = nr_cpus;
	ret->is_together = h->threads[0].cpu == LATENCY_ALL_CPUS;
	for (unsigned i = 0; i < h->nr_vcpus; i++) {
		const struct latency_thread *t = &h->threads[i];

		for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
			if (t->cpu == cpu || t->cpu == LATENCY_ALL_CPUS)
				ret->list[cpu] = share_of(h, t);
	}
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		ret->list[cpu].cpu = cpu;
}

void latency_host_shares(struct latency_host *h, unsigned nr_cpus, struct hv_shares *ret)
{
	*ret = (struct hv_shares){0};
	if (!h->has_sampler || !h->nr_vcpus || !nr_cpus)
		return;
	pthread_mutex_lock(&h->sampling);
	fill_shares(h, nr_cpus, ret);
	pthread_mutex_unlock(&h->sampling);
}

unsigned latency_host_cpus(const struct latency_host *h)
{
	cpu_set_t all, one;

	CPU_ZERO(&all);
	for (unsigned i = 0; i < h->nr_vcpus; i++)
		if (sched_getaffinity((pid_t)h->threads[i].task.pid, sizeof(one), &one) == 0)
			CPU_OR(&all, &all, &one);
	return (unsigned)CPU_COUNT(&all);
}

static void give(struct hv_latency *l, const struct latency_outage *o)
{
	unsigned first = o->cpu == LATENCY_ALL_CPUS ? 0 : o->cpu;
	unsigned last = o->cpu == LATENCY_ALL_CPUS ? l->host.nr_cpus : o->cpu + 1;

	if (o->cpu == LATENCY_NO_CPU) {
		hv_latency_add_vmm(l, &o->outage);
		return;
	}
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
