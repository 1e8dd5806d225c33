/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/session_stat.h"
#include "cli/terminal.h"
#include "cli/verbs/record/apart.h"

/* -- the head --------------------------------------------------------------------------------- */

#define TEXT_BYTES_MAX	 (256u << 20)
#define EVENTS		 "events"
#define FTRACE		 "ftrace"
#define PAGE_BYTES_MAX	 (1u << 20)
#define CPUS_MAX	 4096
#define PROGRAM		 "hvtrace " HVTRACE_VERSION
#define GUEST_CLOCK	 "local"
#define HOST_CLOCK	 "host-mono"
#define HOST_CLOCK_KNOWN "mono" /* the Linux clock that HOST_CLOCK corresponds to */

/* Reads HANDLE to its end, and closes it. */
static struct hv_err *read_all(struct client *c, uint32_t handle, struct hv_text *ret)
{
	struct hv_span data = {NULL, 1};
	struct hv_err *err = NULL;

	while (!err && data.len_bytes && ret->len_bytes < TEXT_BYTES_MAX) {
		err = client_read(c, handle, 0, &data);
		if (!err && data.len_bytes)
			hv_text_add_bytes(ret, data.data, data.len_bytes);
	}
	hv_text_add(ret, "");
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}

static struct hv_err *read_file(struct client *c, const char *path, struct hv_text *ret)
{
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	if (!err)
		err = read_all(c, handle, ret);
	return err ? client_error(path, err) : NULL;
}

static struct hv_err *read_proc(struct client *c, const char *name, struct hv_text *ret)
{
	uint32_t handle;
	struct hv_err *err = client_open_proc(c, name, &handle);

	return err ? err : read_all(c, handle, ret);
}

/* EVENTS is the directory of systems. */
static struct hv_err *read_format(struct record_head *h, struct client *c, const char *events,
				  const char *system, const char *event)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s/%s/format", events, system, event);
	HV_AUTO_TEXT struct hv_text format = {0};
	struct hv_err *err = read_file(c, path, &format);
	size_t len = format.len_bytes;

	if (err)
		return err;
	h->events = hv_realloc_array(h->events, h->nr_events + 1, sizeof(*h->events));
	h->events[h->nr_events++] =
		(struct hv_export_event){hv_strdup(system), {hv_text_take(&format), len}};
	return NULL;
}

/* Reads the formats of tracers' events, which options of DIR change. Directories end with '/'. */
static struct hv_err *read_formats(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *events = hv_format("%s/" EVENTS, dir), *names = NULL;
	struct hv_err *err = client_list(c, EVENTS "/" FTRACE, &names);
	char *rest = names;

	for (char *name; !err && (name = strsep(&rest, "\n"));) {
		size_t len = strlen(name);

		if (!len || name[len - 1] != '/')
			continue;
		name[len - 1] = '\0';
		err = read_format(h, c, events, FTRACE, name);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the formats of the events in DIR's set_event, grouped by system. */
static struct hv_err *read_own_formats(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", dir);
	HV_AUTO_FREE char **names = NULL;
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = read_file(c, path, &text);
	char *rest = text.data;
	size_t nr = 0;

	for (char *name; !err && (name = strsep(&rest, "\n"));) {
		if (!strchr(name, ':'))
			continue;
		names = hv_realloc_array(names, nr + 1, sizeof(*names));
		names[nr++] = name;
	}
	if (nr)
		qsort(names, nr, sizeof(*names), compare);
	for (size_t i = 0; !err && i < nr; i++) {
		char *event = names[i], *system = strsep(&event, ":");

		err = read_format(h, c, EVENTS, system, event);
	}
	return err;
}

/* Returns the clock in brackets, by its Linux name. Default: local. */
static char *chosen(const char *clocks)
{
	const char *begin = strchr(clocks, '['), *end = begin ? strchr(begin, ']') : NULL;
	HV_AUTO_FREE char *name =
		end ? hv_format("%.*s", (int)(end - begin - 1), begin + 1) : hv_strdup("local");

	return strcmp(name, HOST_CLOCK) == 0 ? hv_strdup(HOST_CLOCK_KNOWN) : hv_take(name);
}

/* The last field of a page is its data, which reaches to the page's end. */
static struct hv_err *find_page_bytes(struct record_head *h)
{
	const char *data = strstr(h->header_page.data, " data;");
	unsigned off = 0, size = 0, bytes;

	if (data)
		sscanf(data, " data;\toffset:%u;\tsize:%u;", &off, &size);
	bytes = off + size;
	if (!bytes || bytes > PAGE_BYTES_MAX || off > 64 || (bytes & (bytes - 1)))
		return hv_err_new(EPROTO, "events/header_page: pages of %u bytes cannot be used",
				  bytes);
	h->head.page_bytes = bytes;
	return NULL;
}

static struct hv_err *count_cpus(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *path = hv_format("%s/per_cpu", dir);
	HV_AUTO_FREE char *names = NULL;
	struct hv_err *err = client_list(c, path, &names);
	char *rest = names;
	unsigned cpu;

	for (char *name; !err && (name = strsep(&rest, "\n"));)
		if (sscanf(name, "cpu%u/", &cpu) == 1 && cpu < CPUS_MAX && cpu >= h->head.nr_cpus)
			h->head.nr_cpus = cpu + 1;
	if (!err && !h->head.nr_cpus)
		err = hv_err_new(EPROTO, "%s: there is no vCPU", path);
	return err;
}

static struct hv_export_text borrow(const struct hv_text *t)
{
	return (struct hv_export_text){t->data, t->len_bytes};
}

/* Returns the time of day when this host's CLOCK_MONOTONIC was 0. */
static uint64_t host_epoch_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * HV_NS_PER_S + (uint64_t)now.tv_nsec - hv_now_ns();
}

/* For --date: finds the time of day of the clock's zero, by the guest's or this host's time,
 * depending on the clock. ENOTSUP: unknown. Call it after record_head_read(). */
static struct hv_err *record_head_read_date(struct record_head *h, struct client *c)
{
	AUTO_SESSION_STAT json_object *stat = NULL;
	struct hv_err *err;

	h->head.has_date = true;
	if (h->head.clock_epoch_ns)
		return NULL;
	if (strcmp(h->clock, GUEST_CLOCK) != 0)
		return hv_err_new(ENOTSUP,
				  "--date: the clock '%s' has no time of day: choose 'local' or "
				  "'host-mono' in trace_clock",
				  h->clock);
	err = session_stat_get(c, &stat);
	if (err)
		return err;
	h->head.clock_epoch_ns = session_stat_number(stat, "guest_time.epoch_ns");
	if (!h->head.clock_epoch_ns)
		return hv_err_new(ENOTSUP,
				  "--date: cannot read the guest's time of day: the guest's "
				  "timekeeping uses another counter than its trace clock");
	return NULL;
}

static void fill_head(struct record_head *h)
{
	hv_text_add(&h->version, "");
	h->version.data[strcspn(h->version.data, "\n")] = '\0';
	h->clock = chosen(h->trace_clock.data);
	h->head.clock = h->clock;
	if (strstr(h->trace_clock.data, "[" HOST_CLOCK "]"))
		h->head.clock_epoch_ns = host_epoch_ns();
	h->head.kernel = h->version.data;
	h->head.program = PROGRAM;
	h->head.trace_clock = borrow(&h->trace_clock);
	h->head.header_page = borrow(&h->header_page);
	h->head.header_event = borrow(&h->header_event);
	h->head.kallsyms = borrow(&h->kallsyms);
	h->head.printk_formats = borrow(&h->printk_formats);
	h->head.events = h->events;
	h->head.nr_events = h->nr_events;
}

static struct hv_err *read_events(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *clock = hv_format("%s/trace_clock", dir);
	HV_AUTO_FREE char *page = hv_format("%s/events/header_page", dir);
	struct hv_err *err = read_file(c, page, &h->header_page);

	if (!err)
		err = find_page_bytes(h);
	if (!err)
		err = read_file(c, "events/header_event", &h->header_event);
	if (!err)
		err = read_file(c, clock, &h->trace_clock);
	if (!err)
		err = read_own_formats(h, c, dir);
	return err ? err : count_cpus(h, c, dir);
}

/* Like record_head_read(), but without the guest's symbols, printk_formats, formats of tracers'
 * events, and version. */
static struct hv_err *record_head_read_events(struct record_head *h, struct client *c,
					      const char *dir)
{
	struct hv_err *err = read_events(h, c, dir);

	if (!err)
		fill_head(h);
	return err;
}

struct hv_err *record_head_read(struct record_head *h, struct client *c, const char *dir)
{
	struct hv_err *err = read_file(c, "printk_formats", &h->printk_formats);

	if (!err)
		err = read_formats(h, c, dir);
	if (!err)
		err = read_events(h, c, dir);
	if (!err)
		err = read_proc(c, "version", &h->version);
	if (!err)
		err = read_proc(c, "kallsyms", &h->kallsyms);
	if (!err)
		fill_head(h);
	return err;
}

void record_head_deinit(struct record_head *h)
{
	hv_text_deinit(&h->kallsyms);
	hv_text_deinit(&h->printk_formats);
	hv_text_deinit(&h->header_page);
	hv_text_deinit(&h->header_event);
	hv_text_deinit(&h->trace_clock);
	hv_text_deinit(&h->version);
	free(h->clock);
	for (size_t i = 0; i < h->nr_events; i++) {
		free((char *)h->events[i].system);
		free((char *)h->events[i].format.text);
	}
	free(h->events);
}

/* -- the second file -------------------------------------------------------------------------- */

#define SYSTEM	    "host"
#define THREADS_MAX 65536

static bool is_wanted(const struct hv_export_head *head)
{
	for (size_t i = 0; i < head->nr_events; i++)
		if (strcmp(head->events[i].system, SYSTEM) == 0)
			return true;
	return false;
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

/* Adds lines in the format of saved_cmdlines. */
static void record_host_add_names(const struct record_host *h, struct hv_text *out)
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

/* Creates the file next to PATH if HEAD has formats of the host's events. E opens it. */
static struct hv_err *record_host_open(struct record_host *h, struct client *c, struct errand *e,
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

static void record_host_deinit(struct record_host *h)
{
	hv_close_at(&h->fd);
	free(h->path);
	free(h->kernel);
	free(h->tids);
}

/* -- the file --------------------------------------------------------------------------------- */

#define NAMES		 "saved_cmdlines"
#define NAMES_NS	 HV_NS_PER_S
#define WANTED_NS	 (HV_NS_PER_S / 20) /* interval while events wait for unknown names */
#define READS_MAX	 64		    /* reads of one vCPU before the next vCPU's turn */
#define REST_MS		 20 /* rest for quiet vCPUs, so that a read finds more events */
#define FEW_READS	 8  /* a turn with fewer reads than this per vCPU is followed by a rest */
#define NEW_DIR_MODE	 0700
/* Minimum free space on a file system of at least SMALL_DISK_BYTES. */
#define SMALL_DISK_BYTES (64ull << 20)
#define DISK_LOW_BYTES	 (16ull << 20)

static struct hv_err *of_session(const struct client *c, struct hv_err *err)
{
	return err && !client_is_gone(err) ? hv_err_in(err, "domain '%s'", c->spec) : err;
}

static struct hv_err *system_error(const struct record_file *f, int code)
{
	return hv_err_new(code, "%s: %s", f->target.path, strerror(code));
}

static void add_names(struct hv_text *out)
{
	for (size_t i = 0; i < hv_nr_export_formats; i++)
		hv_text_printf(out, "%s%s", i ? ", " : "", hv_export_formats[i]->name);
}

static void add_suffixes(struct hv_text *out)
{
	for (size_t i = 0; i < hv_nr_export_formats; i++)
		if (hv_export_formats[i]->suffix)
			hv_text_printf(out, "%s%s", i ? ", " : "", hv_export_formats[i]->suffix);
}

static void refuse(const struct record_file *f, const char *name, struct hv_text *why)
{
	if (name) {
		hv_text_printf(why, "--format: '%s' is not one of ", name);
		add_names(why);
		return;
	}
	hv_text_printf(
		why,
		"-o: '%s' does not show the format: choose one with --format, or end the name in ",
		f->target.path);
	add_suffixes(why);
}

bool record_file_choose(struct record_file *f, const char *name, struct hv_text *why)
{
	const struct hv_export_format *of_path;
	enum hv_compression compression;

	of_path = hv_export_of_path(f->target.path, &compression);
	f->target.format = name ? hv_export_find(name) : of_path;
	if (!f->target.format)
		refuse(f, name, why);
	else if (f->target.format->is_dir && (compression || f->target.compression))
		hv_text_printf(why,
			       "-o: '%s': %s is a directory, which cannot be compressed: leave out "
			       "--compress and .zst",
			       f->target.path, f->target.format->name);
	else if (f->target.format->needs_seek && compression != HV_COMPRESSION_NONE)
		hv_text_printf(why,
			       "-o: '%s': %s has its own compression: use --compress, and a name "
			       "that ends in %s",
			       f->target.path, f->target.format->name, f->target.format->suffix);
	else if (f->target.format->needs_seek && strcmp(f->target.path, "-") == 0)
		hv_text_printf(why, "-o -: %s is not written in order, so it needs a file",
			       f->target.format->name);
	else if (f->target.format->is_dir && strcmp(f->target.path, "-") == 0)
		hv_text_printf(why, "-o -: %s is a directory, so it needs a name",
			       f->target.format->name);
	else if (f->target.has_date && !f->target.format->has_date)
		hv_text_printf(why,
			       "--date: %s has no room for the time of day: choose another format",
			       f->target.format->name);
	if (compression != HV_COMPRESSION_NONE)
		f->target.compression = compression;
	return !why->len_bytes;
}

static struct hv_export_config config_of(const struct record_file *f)
{
	return (struct hv_export_config){
		.path = f->target.path,
		.fd = f->fd,
		.compression = f->target.compression,
		.to = f->target.to,
		.is_others = f->is_stdout,
		.maker = f->errand && f->target.format->is_dir ? &f->errand->maker : NULL,
		.write = f->fd >= 0 && isatty(f->fd) ? terminal_write : NULL,
		.host = f->host.path ? &f->host.host : NULL,
	};
}

static struct hv_err *open_dir(struct record_file *f)
{
	f->is_new = mkdir(f->target.path, NEW_DIR_MODE) == 0;
	if (f->is_new || errno == EEXIST)
		f->fd = open(f->target.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->fd < 0 && errno == ENOTDIR ? hv_err_new(ENOTDIR,
							  "%s: a %s trace is a directory, and this "
							  "is a file: give a new name",
							  f->target.path, f->target.format->name)
					     : NULL;
}

struct hv_err *record_file_open(struct record_file *f)
{
	struct hv_export_config config;
	struct hv_err *err = NULL;

	if (f->target.to)
		return NULL;
	if (strcmp(f->target.path, "-") == 0) {
		f->target.path = "standard output";
		f->is_stdout = true;
		f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else if (f->target.format->is_dir) {
		err = open_dir(f);
	} else {
		err = output_open(f->target.path, OUTPUT_FOLLOWS_LINKS, &f->fd, &f->is_new);
	}
	if (err || f->fd < 0)
		return err ? err : system_error(f, errno);
	config = config_of(f);
	return hv_export_check(f->target.format, &config);
}

static struct hv_err *empty(const struct record_file *f)
{
	struct stat st;

	if (!f->is_stdout && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(f->fd, 0) != 0)
		return system_error(f, errno);
	return NULL;
}

static struct hv_err *open_source(struct record_file *f, struct client *c, const char *path)
{
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	if (err)
		return client_error(path, err);
	f->handles = hv_realloc_array(f->handles, f->nr_handles + 1, sizeof(*f->handles));
	f->handles[f->nr_handles++] = handle;
	return NULL;
}

static struct hv_err *open_sources(struct record_file *f, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *pipe = hv_format("%s/trace_pipe", dir);
	struct hv_err *err = NULL;

	if (f->target.format->input == HV_EXPORT_TEXT)
		return open_source(f, c, pipe);
	for (unsigned cpu = 0; cpu < f->head.head.nr_cpus && !err; cpu++) {
		HV_AUTO_FREE char *raw = hv_format("%s/per_cpu/cpu%u/trace_pipe_raw", dir, cpu);

		err = open_source(f, c, raw);
	}
	return err;
}

static struct hv_err *write_names(struct record_file *f, struct client *c)
{
	HV_AUTO_TEXT struct hv_text names = {0};
	struct hv_err *err;

	f->named_ns = hv_now_ns();
	if (!f->target.format->name_tasks)
		return NULL;
	err = client_get(c, NAMES, &names);
	if (err)
		return client_error(NAMES, err);
	hv_text_add(&names, "");
	err = hv_export_name_tasks(f->export, (struct hv_export_text){names.data, names.len_bytes});
	if (err || !f->host.path)
		return err;
	hv_text_clear(&names);
	record_host_add_names(&f->host, &names);
	hv_text_add(&names, "");
	return hv_export_name_host(f->export, (struct hv_export_text){names.data, names.len_bytes});
}

struct hv_err *record_file_begin(struct record_file *f, struct client *c, const char *dir)
{
	struct hv_export_config config;
	struct hv_err *err = f->target.format->needs_no_symbols
				     ? record_head_read_events(&f->head, c, dir)
				     : record_head_read(&f->head, c, dir);

	err = of_session(c, err);
	if (!err && f->target.has_date)
		err = of_session(c, record_head_read_date(&f->head, c));
	if (!err)
		err = empty(f);
	if (!err && f->target.format->has_host)
		err = record_host_open(&f->host, c, f->errand, f->target.path, &f->head.head);
	config = config_of(f);
	if (!err)
		err = hv_export_open(f->target.format, &config, &f->head.head, &f->export);
	if (!err && f->errand)
		record_apart_keep(f->errand);
	if (!err)
		err = of_session(c, open_sources(f, c, dir));
	return err;
}

/* Writes the events that source I has now, up to a limit. */
static struct hv_err *take_from(struct record_file *f, struct client *c, unsigned i, bool *ret_more)
{
	struct hv_err *err = NULL;
	struct hv_span data;

	for (unsigned nr = 0; nr < READS_MAX && !err; nr++) {
		err = client_read(c, f->handles[i], 0, &data);
		if (!err && !data.len_bytes)
			return NULL;
		if (!err)
			err = hv_export_add(f->export, i, data);
		if (!err)
			*ret_more = true;
		f->nr_reads += !err;
	}
	if (err && err->code == EAGAIN) {
		hv_err_free(err);
		return NULL;
	}
	return err;
}

/* Returns whether to read task names now. If the format wants names: when there is no other data to
 * read, or after WANTED_NS. Otherwise every NAMES_NS. */
static bool names_are_due(const struct record_file *f, bool has_more)
{
	uint64_t age_ns = hv_now_ns() - f->named_ns;

	if (f->export->wants_names)
		return !has_more || age_ns >= WANTED_NS;
	return age_ns >= NAMES_NS;
}

/* Events wait for the names of their tasks for at most WANTED_NS, because write_names() asks once,
 * and then the format wants no names until more events are added. */
static struct hv_err *take_turn(struct record_file *f, struct client *c, bool *ret_more)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < f->nr_handles && !err; i++)
		err = take_from(f, c, i, ret_more);
	if (!err && names_are_due(f, *ret_more))
		err = write_names(f, c);
	return err || f->export->wants_names ? err : hv_export_turn(f->export);
}

struct hv_err *record_file_take(struct record_file *f, struct client *c, uint32_t wait_ms,
				bool *ret_more)
{
	uint64_t until = hv_now_ns() + wait_ms * HV_NS_PER_MS;
	struct hv_err *err;

	*ret_more = false;
	if (f->nr_reads < FEW_READS * f->nr_handles)
		poll(NULL, 0, (int)(wait_ms < REST_MS ? wait_ms : REST_MS));
	f->nr_reads = 0;
	do {
		err = take_turn(f, c, ret_more);
	} while (!err && !*ret_more && hv_now_ns() < until && poll(NULL, 0, REST_MS) == 0);
	return err;
}

struct hv_err *record_file_check_room(const struct record_file *f)
{
	struct statvfs fs;
	struct stat st;
	uint64_t left_bytes;

	if (fstat(f->fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) ||
	    fstatvfs(f->fd, &fs) != 0)
		return NULL;
	left_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if ((uint64_t)fs.f_blocks * fs.f_frsize < SMALL_DISK_BYTES || left_bytes >= DISK_LOW_BYTES)
		return NULL;
	return hv_err_new(ENOSPC,
			  "%s: recording ended because the file system has only %llu MiB left; the "
			  "file has all events until then",
			  f->target.path, (unsigned long long)(left_bytes >> 20));
}

struct hv_err *record_file_close(struct record_file *f, struct client *c)
{
	struct hv_err *err = f->export ? write_names(f, c) : NULL;

	for (unsigned i = 0; i < f->nr_handles; i++)
		hv_err_keep_first(&err, client_close_file(c, f->handles[i]));
	f->nr_handles = 0;
	return err;
}

struct hv_err *record_file_end(struct record_file *f)
{
	return f->export ? hv_export_end(f->export) : NULL;
}

void record_file_deinit(struct record_file *f)
{
	if (f->is_new && !f->export)
		unlinkat(AT_FDCWD, f->target.path, f->target.format->is_dir ? AT_REMOVEDIR : 0);
	record_host_deinit(&f->host);
	hv_export_free(f->export);
	record_head_deinit(&f->head);
	hv_close_at(&f->fd);
	free(f->handles);
}
