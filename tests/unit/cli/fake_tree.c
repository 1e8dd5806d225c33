/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of a session of fake_layers.c: a few files that return the values written to them. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/cli/fake_layers.h"
#include "tests/unit/cli/fake_profile.h"
#include "tests/unit/cli/fake_raw.h"
#include "tests/unit/cli/fake_tree.h"

static const char *const fake_names[FAKE_NR_FILES] = {
	[FAKE_CONTROL] = "control",
	[FAKE_TRACER] = "current_tracer",
	[FAKE_FILTER] = "set_ftrace_filter",
	[FAKE_NOTRACE] = "set_ftrace_notrace",
	[FAKE_GRAPH] = "set_graph_function",
	[FAKE_PIDS] = "set_ftrace_pid",
	[FAKE_EVENTS] = "set_event",
	[FAKE_EVENT_PIDS] = "set_event_pid",
	[FAKE_EVENT_FILTER] = "filter",
	[FAKE_EVENT_ENABLE] = "enable",
	[FAKE_PROBES] = "kprobe_events",
	[FAKE_SYNTHS] = "synthetic_events",
	[FAKE_TRACING_ON] = "tracing_on",
	[FAKE_PROFILE] = "function_profile_enabled",
	[FAKE_STACK_TRACER] = "stack_tracer_enabled",
	[FAKE_TRACE_PIPE] = "trace_pipe",
	[FAKE_STATS] = "stats",
	[FAKE_TRACE] = "trace",
	[FAKE_MAX_LATENCY] = "tracing_max_latency",
	[FAKE_FUNCTION_TRACE] = "function-trace",
	[FAKE_GRAPH_HOST] = "funcgraph-host",
	[FAKE_GRAPH_RETVAL] = "funcgraph-retval",
	[FAKE_RAW] = "trace_pipe_raw",
	[FAKE_BUFFER_PERCENT] = "buffer_percent",
	[FAKE_DYNAMIC] = "dynamic_events",
	[FAKE_TEXT] = "",
};

#define PER_CPU "/per_cpu" /* contains the directory's files, in cpu0 */
#define OPTIONS "/options"
#define EVENTS	"/events/"

#define FLOOD UINT_MAX

struct hv_file {
	struct hv_tree *tree;
	const struct hv_rights *rights;
	struct fake_dir *dir;
	size_t name;
	size_t at;
	struct hv_text list; /* of a filter file being written */
	struct hv_text text; /* FAKE_TEXT */
	unsigned cpu;	     /* FAKE_RAW */
	char event[64];	     /* FAKE_EVENT_FILTER: SYSTEM/EVENT */
	unsigned dump;	     /* number of the dump; 0: not a dump, FLOOD: the long one */
	int flags;
};

struct hv_err *hv_tree_step_aside(struct hv_tree *tree)
{
	return tree->is_patched ? hv_err_new(EBUSY, "the guest is being livepatched") : NULL;
}

struct hv_err *hv_tree_keep_budget(struct hv_tree *tree, uint64_t limit_ppm,
				   uint64_t now_ns hv_unused, size_t *ret_nr)
{
	snprintf(tree->dirs[0].values[FAKE_CONTROL], sizeof(tree->dirs[0].values[0]), "%u looks\n",
		 ++tree->nr_load_looks);
	if (tree->is_stuck)
		return hv_err_new(ETIMEDOUT, "hold: 1700 ms old");
	*ret_nr = tree->load_ppm > limit_ppm && !tree->without_read;
	if (!*ret_nr)
		return NULL;
	tree->without_read = true;
	tree->load_ppm /= 4;
	return NULL;
}

uint64_t hv_tree_load(const struct hv_tree *tree, struct hv_text *ret_names)
{
	if (tree->without_read)
		hv_text_add(ret_names, "vfs_read");
	return tree->load_ppm;
}

uint64_t hv_tree_taken_ns(const struct hv_tree *tree)
{
	return tree->load_ppm * UINT64_C(1000); /* as if after one second */
}

void hv_tree_refresh(struct hv_tree *tree)
{
	(void)tree;
}

static void reset_dir(struct fake_dir *dir, const char *name)
{
	*dir = (struct fake_dir){0};
	snprintf(dir->name, sizeof(dir->name), "%s", name);
	strcpy(dir->values[FAKE_TRACER], "nop\n");
	strcpy(dir->values[FAKE_TRACING_ON], "1\n");
	strcpy(dir->values[FAKE_TRACE], "the longest section\n");
	strcpy(dir->values[FAKE_MAX_LATENCY], "250\n");
	strcpy(dir->values[FAKE_PROFILE], "0\n");
	strcpy(dir->values[FAKE_STACK_TRACER], "0\n");
}

static struct fake_dir *find_dir(struct hv_tree *tree, const char *name)
{
	for (unsigned i = 0; i < FAKE_DIRS_MAX; i++)
		if (strcmp(tree->dirs[i].name, name) == 0 && (i == 0 || *name))
			return &tree->dirs[i];
	return NULL;
}

/* Finds the directory and the file number for PATH. */
static bool find_file(struct hv_tree *tree, const char *path, struct fake_dir **ret_dir,
		      size_t *ret_name)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char dir[PATH_MAX];
	size_t i = 0;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash ? slash - path : 0), path);
	if (strstr(dir, PER_CPU))
		*strstr(dir, PER_CPU) = '\0';
	if (strstr(dir, OPTIONS))
		*strstr(dir, OPTIONS) = '\0';
	if (strstr(dir, EVENTS))
		*strstr(dir, EVENTS) = '\0';
	while (i < FAKE_TEXT && strcmp(name, fake_names[i]) != 0)
		i++;
	*ret_dir = find_dir(tree, dir);
	*ret_name = i;
	return *ret_dir && i < FAKE_TEXT;
}

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret)
{
	struct hv_tree *t = hv_alloc(sizeof(*t));

	t->session = session;
	for (unsigned i = 0; i < FAKE_DIRS_MAX; i++)
		reset_dir(&t->dirs[i], "");
	*ret = t;
	return NULL;
}

void hv_tree_end(struct hv_tree *tree)
{
	(void)tree;
}

void hv_tree_free(struct hv_tree *tree)
{
	if (!tree)
		return;
	hv_text_deinit(&tree->pipe);
	free(tree);
}

bool hv_tree_drains(const struct hv_tree *tree hv_unused)
{
	return false;
}

void hv_tree_drain(struct hv_tree *tree hv_unused)
{
}

void hv_tree_rejoin(struct hv_tree *tree hv_unused)
{
}

void hv_tree_retire(struct hv_tree *tree hv_unused)
{
}

/* Only task 1 exists. */
void hv_tree_missing_tasks(struct hv_tree *tree, struct hv_text *ret)
{
	const char *pid = tree->dirs[0].values[FAKE_PIDS];

	if (*pid && strcmp(pid, "1\n") != 0)
		hv_text_printf(ret, "set_ftrace_pid: %s", pid);
}

struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why)
{
	struct hv_file *f;

	if (tree->nr_dumped == tree->nr_dumps && !tree->floods)
		return NULL;
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	f->dir = tree->dirs;
	if (tree->nr_dumped == tree->nr_dumps) {
		f->dump = FLOOD;
		tree->floods = false;
	} else {
		f->dump = ++tree->nr_dumped;
	}
	*ret_why = "do_exit:dump on CPU 1 by task 7";
	return f;
}

struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret)
{
	if (strcmp(dir, "instances") == 0) {
		for (unsigned i = 1; i < FAKE_DIRS_MAX; i++)
			if (*tree->dirs[i].name)
				hv_text_printf(ret, "%s/\n", strchr(tree->dirs[i].name, '/') + 1);
		return NULL;
	}
	if (strstr(dir, PER_CPU)) {
		hv_text_add(ret, "cpu0/\ncpu1/\n");
		return NULL;
	}
	if (fake_raw_text(dir, 0, ret))
		return NULL;
	if (!find_dir(tree, dir))
		return hv_err_in(hv_err_new(ENOENT, "no such directory"), "%s", dir);
	for (size_t i = 0; i < FAKE_STATS; i++)
		hv_text_printf(ret, "%s\n", fake_names[i]);
	return NULL;
}

static bool is_list(const struct hv_file *f)
{
	return f->name == FAKE_FILTER || f->name == FAKE_NOTRACE || f->name == FAKE_GRAPH ||
	       f->name == FAKE_EVENTS;
}

/* Events read from trace_pipe count for the first vCPU. */
static void write_stats(const struct hv_tree *tree, unsigned cpu, char *ret, size_t size)
{
	unsigned nr_read = tree->nr_raw_taken[cpu];

	for (size_t i = 0; i < tree->pipe_taken && !cpu; i++)
		nr_read += tree->pipe.data[i] == '\n';
	snprintf(ret, size, "entries: 0\noverrun: %u\ndropped events: 0\nread events: %u\n",
		 cpu ? 0 : tree->nr_lost, nr_read);
}

#define TRACE_STAT "trace_stat/function"

/* Returns false if PATH is not a file of a profile. */
static bool find_profile(struct hv_tree *tree, const char *path, struct fake_dir **ret_dir,
			 unsigned *ret_cpu)
{
	const char *at = strstr(path, TRACE_STAT);
	char name[PATH_MAX];

	if (!at || sscanf(at + strlen(TRACE_STAT), "%u", ret_cpu) != 1)
		return false;
	snprintf(name, sizeof(name), "%.*s", at > path ? (int)(at - path) - 1 : 0, path);
	*ret_dir = find_dir(tree, name);
	return *ret_dir != NULL;
}

static bool profile_text(struct hv_tree *tree, const char *path, struct hv_text *ret)
{
	struct fake_dir *dir;
	unsigned cpu;

	if (!find_profile(tree, path, &dir, &cpu))
		return false;
	dir->nr_looks += cpu == 0 && dir->grows;
	fake_profile_text(cpu, dir->nr_looks, dir->values[FAKE_FILTER], ret);
	return true;
}

static unsigned kinds_of_options(const struct fake_dir *dir)
{
	return (dir->values[FAKE_GRAPH_HOST][0] == '1' ? FAKE_RAW_STEAL : 0) |
	       (dir->values[FAKE_GRAPH_RETVAL][0] == '1' ? FAKE_RAW_RETVALS : 0);
}

/* Returns which fields the options of PATH's directory add to return events. */
static unsigned kinds_at(struct hv_tree *tree, const char *path)
{
	struct fake_dir *dir;
	size_t name;

	find_file(tree, path, &dir, &name);
	return dir ? kinds_of_options(dir) : 0;
}

/* saved_cmdlines contains a new task after its event was read. */
static void add_new_tasks(const struct hv_tree *tree, const char *path, struct hv_text *ret)
{
	if (!(tree->raw_kinds & FAKE_RAW_TASKS) || strcmp(path, "saved_cmdlines") != 0)
		return;
	for (unsigned i = 0; i < tree->nr_raw_taken[0]; i++)
		hv_text_printf(ret, "%u new\n", FAKE_RAW_FIRST + i);
}

static bool odd_text(const struct hv_tree *tree, const char *path, struct hv_text *ret)
{
	if (!tree->has_odd_pages || !strstr(path, "events/header_page"))
		return false;
	hv_text_add(ret, "\tfield: char data;\toffset:16;\tsize:100;\tsigned:1;\n");
	return true;
}

static bool open_text(struct hv_tree *tree, const struct hv_rights *rights, const char *path,
		      struct hv_file **ret)
{
	struct hv_file *f = hv_alloc(sizeof(*f));

	f->tree = tree;
	f->dir = tree->dirs;
	f->rights = rights;
	f->name = FAKE_TEXT;
	if (odd_text(tree, path, &f->text) || fake_raw_text(path, kinds_at(tree, path), &f->text) ||
	    profile_text(tree, path, &f->text)) {
		add_new_tasks(tree, path, &f->text);
		*ret = f;
		return true;
	}
	hv_file_abandon(f);
	return false;
}

/* The rights that the nodes of the real tree need, as in tests/golden/tree/rights.in. */
static uint32_t need_of(size_t name, bool writes)
{
	if (!writes)
		return HV_RIGHT_READ |
		       (name == FAKE_TRACE_PIPE || name == FAKE_RAW ? HV_NEEDS_SETTING : 0);
	switch (name) {
	case FAKE_PROBES:
	case FAKE_DYNAMIC:
	case FAKE_SYNTHS:
	case FAKE_EVENTS:
	case FAKE_EVENT_PIDS:
	case FAKE_EVENT_FILTER:
	case FAKE_EVENT_ENABLE:
		return HV_NEEDS_EVENTS;
	case FAKE_PROFILE:
		return HV_NEEDS_SETTING | HV_RIGHT_GRAPH;
	default:
		return HV_NEEDS_SETTING;
	}
}

/* Returns the right for the tracer VALUE. */
static uint32_t tracer_need(const char *value)
{
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)strcspn(value, "\n"), value);
	enum hv_tracer tracer = HV_TRACER_NOP;

	hv_err_free(hv_tracer_find(name, &tracer));
	return 1u << tracer;
}

static struct hv_err *check(struct hv_tree *tree, const struct fake_dir *dir,
			    const struct hv_rights *rights, uint32_t need)
{
	uint32_t running = need & HV_NEED_RUNNING ? tracer_need(dir->values[FAKE_TRACER]) : 0;

	uint32_t lacks = hv_rights_lack(rights, (need & ~HV_NEED_RUNNING) | running);

	if (!lacks)
		return NULL;
	tree->lacks = lacks;
	return hv_rights_refuse(rights, lacks);
}

uint32_t hv_tree_lacked(struct hv_tree *tree)
{
	uint32_t lacks = tree->lacks;

	tree->lacks = 0;
	return lacks;
}

static struct hv_err *check_open(struct hv_tree *tree, const struct fake_dir *dir, size_t name,
				 const struct hv_rights *rights, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct hv_err *err = NULL;

	if ((flags & O_ACCMODE) != O_WRONLY)
		err = check(tree, dir, rights, need_of(name, false));
	return !err && writes ? check(tree, dir, rights, need_of(name, true)) : err;
}

static struct hv_err *check_file(const struct hv_file *f, uint32_t need)
{
	return check(f->tree, f->dir, f->rights, need);
}

struct hv_err *hv_tree_open(struct hv_tree *tree, const struct hv_rights *rights, const char *path,
			    int flags, struct hv_file **ret)
{
	struct fake_dir *dir;
	struct hv_err *err;
	struct hv_file *f;
	size_t i;

	if (open_text(tree, rights, path, ret))
		return NULL;
	if (!find_file(tree, path, &dir, &i))
		return hv_err_in(hv_err_new(ENOENT, "no such file"), "%s", path);
	err = check_open(tree, dir, i, rights, flags);
	if (err)
		return err;
	if (i == FAKE_TRACE_PIPE && dir->pipe_is_open)
		return hv_err_in(hv_err_new(EBUSY, "somebody reads it"), "trace_pipe");
	if (i == FAKE_TRACE_PIPE)
		dir->pipe_is_open = true;
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	f->dir = dir;
	f->rights = rights;
	f->name = i;
	f->flags = flags;
	f->cpu = strstr(path, PER_CPU "/cpu1") != NULL;
	if (i == FAKE_EVENT_FILTER && strstr(path, EVENTS))
		snprintf(f->event, sizeof(f->event), "%.*s",
			 (int)(strrchr(path, '/') - strstr(path, EVENTS) - strlen(EVENTS)),
			 strstr(path, EVENTS) + strlen(EVENTS));
	if (is_list(f) && !(flags & O_TRUNC))
		hv_text_add(&f->list, dir->values[i]);
	if (!is_list(f) && i != FAKE_TRACER && i != FAKE_EVENT_FILTER && (flags & O_TRUNC))
		dir->values[i][0] = '\0';
	if (i == FAKE_STATS)
		write_stats(tree, f->cpu, dir->values[i], sizeof(dir->values[i]));
	*ret = f;
	return NULL;
}

/* Returns the line of the event NAME ("GROUP/NAME") in dynamic_events, or NULL. */
static char *find_dynamic(struct hv_tree *tree, const char *name)
{
	char *at = strstr(tree->dirs[0].values[FAKE_DYNAMIC], name);

	while (at && at > tree->dirs[0].values[FAKE_DYNAMIC] && at[-1] != '\n')
		at--;
	return at;
}

static bool is_enabled(const struct hv_tree *tree, const char *name)
{
	HV_AUTO_FREE char *event = hv_strdup(name);

	if (strchr(event, '/'))
		*strchr(event, '/') = ':';
	for (unsigned i = 0; i < FAKE_DIRS_MAX; i++)
		if (strstr(tree->dirs[i].values[FAKE_EVENTS], event))
			return true;
	return false;
}

/* LINE defines an event, or removes it: "-:GROUP/NAME". */
static struct hv_err *write_dynamic(struct hv_tree *tree, const char *line)
{
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)strcspn(line + 2, " \n"), line + 2);
	char *value = tree->dirs[0].values[FAKE_DYNAMIC], *at = find_dynamic(tree, name);
	size_t len = strlen(value);

	if (strstr(line, "nosuch"))
		return hv_err_new(EINVAL, "Invalid probed address or symbol");
	if (line[0] != '-') {
		snprintf(value + len, sizeof(tree->dirs[0].values[0]) - len, "%s", line);
		return NULL;
	}
	if (!at)
		return hv_err_new(ENOENT, "%s: no such event", name);
	if (is_enabled(tree, name))
		return hv_err_new(EBUSY, "%s is enabled", name);
	memmove(at, strchr(at, '\n') + 1, strlen(strchr(at, '\n') + 1) + 1);
	return NULL;
}

struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path, struct hv_tree_stat *ret)
{
	struct fake_dir *dir;
	unsigned cpu;
	size_t i;

	*ret = (struct hv_tree_stat){HV_TREE_DIR, 0700};
	if (strcmp(path, "instances") == 0 || find_dir(tree, path) ||
	    (strncmp(path, "events/", 7) == 0 && find_dynamic(tree, path + 7)))
		return NULL;
	*ret = (struct hv_tree_stat){HV_TREE_FILE, 0640};
	if (find_file(tree, path, &dir, &i) || find_profile(tree, path, &dir, &cpu))
		return NULL;
	return hv_err_in(hv_err_new(ENOENT, "no such file"), "%s", path);
}

struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const struct hv_rights *rights, const char *path)
{
	struct hv_err *err = check(tree, tree->dirs, rights, HV_RIGHT_CONTROL);
	struct fake_dir *dir = tree->dirs + 1;

	if (err)
		return err;

	if (strncmp(path, "instances/", 10) != 0)
		return hv_err_in(hv_err_new(EPERM, "no directories can be made here"), "%s", path);
	while (dir < tree->dirs + FAKE_DIRS_MAX && *dir->name)
		dir++;
	if (find_dir(tree, path) || dir == tree->dirs + FAKE_DIRS_MAX)
		return hv_err_in(hv_err_new(EEXIST, "exists"), "%s", path);
	reset_dir(dir, path);
	return NULL;
}

static void count_patched(struct hv_tree *tree)
{
	struct fake_session *session = fake_session_of(tree->session);

	session->nr_patched = 0;
	session->nr_holds++;
	for (unsigned i = 0; i < FAKE_DIRS_MAX; i++)
		if (strcmp(tree->dirs[i].values[FAKE_TRACER], "nop\n") != 0)
			session->nr_patched = 2;
}

struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const struct hv_rights *rights, const char *path)
{
	struct fake_dir *dir = find_dir(tree, path);
	struct hv_err *err = dir ? check(tree, dir, rights, HV_NEEDS_SETTING) : NULL;

	if (err)
		return err;

	if (!dir || dir == tree->dirs)
		return hv_err_in(hv_err_new(EPERM, "is always there"), "%s", path);
	if (dir->pipe_is_open)
		return hv_err_in(hv_err_new(EBUSY, "1 of its files are open"), "%s", path);
	reset_dir(dir, "");
	count_patched(tree);
	return NULL;
}

static struct hv_err *read_pipe(struct hv_tree *t, void *buf, size_t len, size_t *ret_len)
{
	size_t left = t->pipe.len_bytes - t->pipe_taken;

	if (!left)
		return hv_err_new(EAGAIN, "trace_pipe: nothing yet");
	len = left < len ? left : len;
	memcpy(buf, t->pipe.data + t->pipe_taken, len);
	t->pipe_taken += len;
	*ret_len = len;
	return NULL;
}

static struct hv_err *read_raw(struct hv_file *f, void *buf, size_t len, size_t *ret_len)
{
	/* `latency` reads two instances. Each has all events. */
	unsigned *taken = strstr(f->dir->name, "-calls") ? &f->dir->nr_calls_taken[f->cpu]
							 : &f->tree->nr_raw_taken[f->cpu];
	unsigned kinds = f->tree->raw_kinds | kinds_of_options(f->dir), nr = 0;

	/* every second read finds no page */
	if (kinds & FAKE_RAW_TASKS && f->tree->nr_raw_polls[f->cpu]++ % 2 == 0)
		return hv_err_new(EAGAIN, "trace_pipe_raw: nothing yet");
	if (len >= FAKE_PAGE_BYTES)
		nr = fake_raw_page(f->cpu, *taken,
				   kinds & FAKE_RAW_TASKS && *taken < f->tree->nr_raw
					   ? *taken + 1
					   : f->tree->nr_raw,
				   kinds, buf);
	if (!nr)
		return hv_err_new(EAGAIN, "trace_pipe_raw: nothing yet");
	*taken += nr;
	*ret_len = FAKE_PAGE_BYTES;
	return NULL;
}

struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes, size_t *ret_len)
{
	const char *value =
		file->name == FAKE_TEXT ? file->text.data : file->dir->values[file->name];
	size_t len = value ? strlen(value) : 0;
	size_t left = file->at < len ? len - file->at : 0;

	if (file->dump == FLOOD) {
		*ret_len = file->at++ < (96 << 20) / len_bytes ? len_bytes : 0;
		memset(buf, 'x', *ret_len);
		return NULL;
	}
	if (file->dump) {
		*ret_len = file->at++ < file->dump ? 5 : 0;
		memcpy(buf, "line\n", *ret_len);
		return NULL;
	}
	if (file->name == FAKE_TRACE_PIPE)
		return read_pipe(file->tree, buf, len_bytes, ret_len);
	if (file->name == FAKE_RAW)
		return read_raw(file, buf, len_bytes, ret_len);
	len_bytes = left < len_bytes ? left : len_bytes;
	if (len_bytes)
		memcpy(buf, value + file->at, len_bytes);
	file->at += len_bytes;
	*ret_len = len_bytes;
	return NULL;
}

/* Filter files take one word per write and publish at close, like the kernel's. */
static struct hv_err *write_filter(struct hv_file *f, const char *buf, size_t len, size_t *ret_len)
{
	size_t word = strcspn(buf, " \n");
	bool is_left_out;

	if (strncmp(buf, "nosuch", word) == 0 && word)
		return hv_err_in(hv_err_new(EINVAL, "no function matches '%.*s'", (int)word, buf),
				 "set_ftrace_filter");
	if (f->name == FAKE_EVENTS && strncmp(buf, "host:kvm_", 9) == 0)
		return hv_err_new(EOPNOTSUPP, "events of the host cannot be recorded: no KVM");
	if (f->name == FAKE_EVENTS && f->tree->wakeup_errno &&
	    strncmp(buf, "sched:sched_wakeup", word) == 0)
		return hv_err_new((int)f->tree->wakeup_errno, "sched:sched_wakeup: not now");
	is_left_out = f->name == FAKE_EVENTS &&
		      (buf[0] == '!' ||
		       (f->tree->lacks_switch && strncmp(buf, "sched:sched_switch", word) == 0));
	if (word && !is_left_out)
		hv_text_printf(&f->list, "%.*s\n", (int)word, buf);
	*ret_len = word < len ? word + 1 : word;
	return NULL;
}

/* An event has a field if its name contains the field's. */
static struct hv_err *write_event_filter(struct hv_file *f, const char *text)
{
	char field[64] = "", *value = f->dir->values[FAKE_EVENT_FILTER];
	size_t len = strlen(value);

	sscanf(text, "%*[(]%63[a-z_]", field);
	if (!*field)
		sscanf(text, "%63[a-z_]", field);
	if (!strstr(f->event, field))
		return hv_err_new(EINVAL, "Field not found at character %zu", strlen(field) + 1);
	snprintf(value + len, sizeof(f->dir->values[0]) - len, "%s: %s", f->event, text);
	return NULL;
}

struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len)
{
	char text[256] = "";
	struct hv_err *err = check_file(file, need_of(file->name, true));

	if (err)
		return err;
	if (file->name == FAKE_PROBES && memmem(buf, len_bytes, "throttle_cfs_rq", 15))
		return hv_err_new(ENOENT, "Invalid probed address or symbol");
	if (len_bytes >= sizeof(text))
		return hv_err_new(EINVAL, "%zu bytes are too many", len_bytes);
	memcpy(text, buf, len_bytes);
	if (file->name == FAKE_TRACER)
		err = check_file(file, tracer_need(text));
	if (err)
		return err;
	if (is_list(file))
		return write_filter(file, text, len_bytes, ret_len);
	if (file->name == FAKE_CONTROL)
		fake_tree_control(file->tree, text);
	else if (file->name == FAKE_EVENT_FILTER)
		err = write_event_filter(file, text);
	else if (file->name == FAKE_DYNAMIC)
		err = write_dynamic(file->tree, text);
	else if (file->name == FAKE_TRACER && file->dir->pipe_is_open)
		return hv_err_new(EBUSY, "trace_pipe is open");
	else if (file->name == FAKE_TRACER && strcmp(text, "function_graph\n") == 0 &&
		 file->tree->has_switches && file->dir->values[FAKE_GRAPH_HOST][0] == '1')
		return hv_err_new(EBUSY, "finish_task_switch cannot be changed now");
	else if (file->name == FAKE_TRACER && strcmp(text, "stuck\n") == 0)
		return hv_err_mark(hv_err_new(EIO, "could not be undone (no hold)"),
				   HV_ERR_NEEDS_RECOVERY);
	else if (file->name == FAKE_PROFILE && file->tree->has_stacks)
		return hv_err_new(EBUSY,
				  "the profile and func_stack_trace cannot be used together");
	else if (file->name == FAKE_GRAPH_HOST && text[0] == '1' && !file->tree->has_steal)
		return hv_err_new(EOPNOTSUPP, "the guest has no steal time");
	else if (file->name == FAKE_PROBES && text[0] != '-' && strncmp(text, "p:", 2) != 0)
		return hv_err_new(EINVAL, "Invalid probed address or symbol");
	else if (file->name == FAKE_PROBES)
		snprintf(file->dir->values[FAKE_PROBES], sizeof(file->dir->values[0]), "%s%.200s",
			 text[0] == '-' ? "" : "p:kprobes/", text[0] == '-' ? "" : text + 2);
	else
		strcpy(file->dir->values[file->name], text);
	if (file->name == FAKE_TRACER)
		count_patched(file->tree);
	if (file->name == FAKE_PROFILE && file->dir != file->tree->dirs)
		file->dir->grows = text[0] == '1';
	if (!err)
		*ret_len = len_bytes;
	return err;
}

struct hv_err *hv_file_ready(struct hv_file *file)
{
	if (file->name == FAKE_TRACE_PIPE && file->tree->pipe.len_bytes == file->tree->pipe_taken)
		return hv_err_new(EAGAIN, "trace_pipe: nothing yet");
	if (file->name == FAKE_RAW && (file->tree->nr_raw_taken[file->cpu] == file->tree->nr_raw ||
				       strcmp(file->dir->values[FAKE_BUFFER_PERCENT], "0\n") != 0))
		return hv_err_new(EAGAIN, "trace_pipe_raw: nothing yet");
	return NULL;
}

void hv_file_abandon(struct hv_file *file)
{
	if (file->name == FAKE_TRACE_PIPE)
		file->dir->pipe_is_open = false;
	hv_text_deinit(&file->list);
	hv_text_deinit(&file->text);
	free(file);
}

struct hv_err *hv_file_close(struct hv_file *file)
{
	bool has_none = file->flags & O_APPEND && !file->list.len_bytes;
	bool writes = (file->flags & O_ACCMODE) != O_RDONLY;
	struct hv_err *err = writes ? check_file(file, need_of(file->name, true)) : NULL;

	if (!err && is_list(file) && writes && !has_none)
		snprintf(file->dir->values[file->name], sizeof(file->dir->values[0]), "%s",
			 file->list.data ? file->list.data : "");
	hv_file_abandon(file);
	return err;
}
