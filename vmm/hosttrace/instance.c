/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/hosttrace/instance.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"
#include "vmm/process/process.h"

/* -- threads of a VMM -------------------------------------------------------------------------- */

#define COMM_LEN 16 /* with the newline that /proc adds, without NUL */

static void add(pid_t tid, pid_t *list, size_t max, size_t *nr)
{
	for (size_t i = 0; i < *nr; i++)
		if (list[i] == tid)
			return;
	if (tid > 0 && *nr < max)
		list[(*nr)++] = tid;
}

/* Whether TID is a kernel thread with the name NAME. */
static bool is_kernels(const char *tid, const char *name)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%s/comm", tid);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char comm[COMM_LEN + 1] = "";

	if (fd < 0 || read(fd, comm, COMM_LEN) <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0 && hv_is_kernel_thread((pid_t)atoi(tid));
}

/* Adds the thread ids in DIR. If NAME is not NULL, adds only kernel threads with that name. */
static void add_of(const char *dir, const char *name, pid_t *list, size_t max, size_t *nr)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    (!name || is_kernels(e->d_name, name)))
			add((pid_t)atoi(e->d_name), list, max, nr);
	if (d)
		closedir(d);
}

void hv_host_trace_add_threads(pid_t pid, pid_t *list, size_t max, size_t *nr)
{
	HV_AUTO_FREE char *tasks = hv_format("/proc/%d/task", (int)pid);
	HV_AUTO_FREE char *vhost = hv_format("vhost-%d", (int)pid);

	if (pid <= 0)
		return;
	add_of(tasks, NULL, list, max, nr);
	add_of("/proc", vhost, list, max, nr);
}

/* -- the instance ------------------------------------------------------------------------------ */

#define PREFIX		 "hvtrace-"
#define CLOCK		 "x86-tsc"
#define BUFFER_KB	 "2048" /* per host CPU; allocated only while events are recorded */
#define FORMAT_BYTES_MAX 65536
#define CPUS_MAX	 512 /* more pipes would not fit among the service's open files */

struct hv_err *hv_host_tracefs(const char **ret)
{
	static const char *const mount_points[] = {"/sys/kernel/tracing",
						   "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < HV_ARRAY_LEN(mount_points); i++) {
		HV_AUTO_FREE char *path = hv_format("%s/instances", mount_points[i]);

		if (access(path, F_OK) != 0)
			continue;
		*ret = mount_points[i];
		return NULL;
	}
	return hv_err_new(ENOENT,
			  "this host's tracefs is not mounted at %s, or its kernel has no tracing",
			  mount_points[0]);
}

/* -- files ------------------------------------------------------------------------------------- */

static struct hv_err *failed(const char *path)
{
	return hv_err_new(errno, "%s: %s", path, strerror(errno));
}

/* Takes PATH. */
static struct hv_err *write_file(char *path, int flags, const char *text)
{
	HV_AUTO_FREE char *owned = path;
	HV_AUTO_FD int fd = open(owned, O_WRONLY | O_CLOEXEC | flags);
	ssize_t len = (ssize_t)strlen(text);

	return fd < 0 || write(fd, text, (size_t)len) != len ? failed(owned) : NULL;
}

/* Takes PATH. Adds at most FORMAT_BYTES_MAX. A missing file counts as empty. */
static struct hv_err *read_file(char *path, struct hv_text *ret)
{
	HV_AUTO_FREE char *owned = path;
	HV_AUTO_FREE char *bytes = hv_alloc(FORMAT_BYTES_MAX);
	HV_AUTO_FD int fd = open(owned, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return errno == ENOENT ? NULL : failed(owned);
	while (n > 0 && len < FORMAT_BYTES_MAX) {
		n = read(fd, bytes + len, FORMAT_BYTES_MAX - len);
		if (n < 0)
			return failed(owned);
		len += (size_t)n;
	}
	hv_text_add_bytes(ret, bytes, len);
	return NULL;
}

/* hvtrace chooses the id, which is a valid file name (rundir.h). */
static char *instance_of(const char *tracefs, const char *id)
{
	return hv_format("%s/instances/" PREFIX "%s", tracefs, id);
}

static bool is_name(const char *id)
{
	return id[0] && !strchr(id, '/');
}

/* -- features of the host ---------------------------------------------------------------------- */

static struct hv_err *check_clock(const char *tracefs)
{
	HV_AUTO_TEXT struct hv_text clocks = {0};
	struct hv_err *err = read_file(hv_format("%s/trace_clock", tracefs), &clocks);

	if (!err && (!clocks.data || !strstr(clocks.data, CLOCK)))
		err = hv_err_new(ENOENT, "this host's tracing has no clock %s", CLOCK);
	return err;
}

struct hv_err *hv_host_trace_formats(const char *tracefs, struct hv_text *ret)
{
	HV_AUTO_TEXT struct hv_text texts = {0};
	struct hv_err *err = check_clock(tracefs);
	size_t nr_kvm = 0;

	for (size_t i = 0; !err && i < HV_NR_HOST_EVENTS; i++) {
		const struct hv_host_event_name *e = &hv_host_event_names[i];
		size_t before = texts.len_bytes;

		err = read_file(hv_format("%s/events/%s/%s/format", tracefs, e->system, e->name),
				&texts);
		nr_kvm += texts.len_bytes > before && strcmp(e->system, "kvm") == 0;
		hv_text_add_bytes(&texts, "", 1);
	}
	if (err)
		return err;
	if (!nr_kvm)
		return hv_err_new(ENOENT, "this host's kernel has no trace events of KVM");
	hv_text_add_bytes(ret, texts.data, texts.len_bytes);
	return NULL;
}

/* -- its events -------------------------------------------------------------------------------- */

static struct hv_err *set_threads(const char *dir, const pid_t *tids, size_t nr)
{
	HV_AUTO_TEXT struct hv_text list = {0};

	for (size_t i = 0; i < nr; i++)
		hv_text_printf(&list, "%d ", (int)tids[i]);
	return write_file(hv_format("%s/set_event_pid", dir), O_TRUNC, list.data ? list.data : "");
}

static struct hv_err *switch_event(const char *dir, const struct hv_host_event_name *e, bool on)
{
	HV_AUTO_FREE char *path = hv_format("%s/events/%s/%s/enable", dir, e->system, e->name);

	if (!on && access(path, F_OK) != 0)
		return NULL;
	return write_file(hv_take(path), 0, on ? "1" : "0");
}

/* Events that stay enabled are not interrupted. */
static struct hv_err *switch_events(const char *dir, uint32_t mask)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_NR_HOST_EVENTS; i++)
		err = switch_event(dir, &hv_host_event_names[i], mask >> i & 1);
	return err;
}

static struct hv_err *make(const char *dir)
{
	struct hv_err *err;

	if (mkdir(dir, 0700) != 0)
		return errno == EEXIST ? NULL : failed(dir);
	err = write_file(hv_format("%s/trace_clock", dir), 0, CLOCK);
	if (!err)
		err = write_file(hv_format("%s/buffer_size_kb", dir), 0, BUFFER_KB);
	return err;
}

struct hv_err *hv_host_trace_switch(const char *tracefs, const char *id, uint32_t mask,
				    const pid_t *tids, size_t nr_tids)
{
	HV_AUTO_FREE char *dir = instance_of(tracefs, id);
	struct hv_err *err =
		is_name(id)
			? NULL
			: hv_err_new(EINVAL, "'%s' cannot be the name of a tracing instance", id);

	if (!err && !nr_tids)
		err = hv_err_new(ENOENT, "the guest has no vCPU threads");
	if (err)
		return err;
	err = make(dir);
	if (!err)
		err = set_threads(dir, tids, nr_tids);
	if (!err)
		err = switch_events(dir, mask);
	if (err)
		hv_err_free(hv_host_trace_remove(tracefs, id));
	return err;
}

struct hv_err *hv_host_trace_open(const char *tracefs, const char *id, unsigned first, int *ret_fds,
				  size_t max, size_t *ret_nr, unsigned *ret_next)
{
	HV_AUTO_FREE char *dir = instance_of(tracefs, id);
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned cpu = first;
	size_t nr = 0;

	if (nr_cpus > CPUS_MAX)
		return hv_err_new(EMFILE, "this host has %ld CPUs; at most %d are supported",
				  nr_cpus, CPUS_MAX);
	for (; (long)cpu < nr_cpus && nr < max; cpu++) {
		HV_AUTO_FREE char *path = hv_format("%s/per_cpu/cpu%u/trace_pipe_raw", dir, cpu);
		int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		if (fd < 0 && errno != ENOENT && errno != ENODEV) {
			struct hv_err *err = failed(path);

			while (nr > 0)
				close(ret_fds[--nr]);
			return err;
		}
		if (fd >= 0)
			ret_fds[nr++] = fd;
	}
	*ret_nr = nr;
	*ret_next = (long)cpu < nr_cpus ? cpu : 0;
	return NULL;
}

struct hv_err *hv_host_trace_remove(const char *tracefs, const char *id)
{
	HV_AUTO_FREE char *dir = instance_of(tracefs, id);

	if (!is_name(id) || rmdir(dir) == 0 || errno == ENOENT)
		return NULL;
	if (errno == EBUSY)
		hv_err_free(write_file(hv_format("%s/tracing_on", dir), 0, "0"));
	errno = EBUSY;
	return failed(dir);
}

void hv_host_trace_clean(const char *id)
{
	const char *tracefs;
	struct hv_err *err = hv_host_tracefs(&tracefs);

	if (!err)
		err = hv_host_trace_remove(tracefs, id);
	hv_err_free(err);
}
