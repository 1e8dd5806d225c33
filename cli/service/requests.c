/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/requests.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/explain.h"
#include "cli/service/host_client.h"
#include "cli/service/ending.h"
#include "cli/service/files.h"
#include "cli/service/guest_memory.h"
#include "cli/service/memory.h"
#include "cli/service/programs.h"
#include "cli/service/trail.h"
#include "kernel/kernel.h"
#include "tracer/events/clocks.h"
#include "tracer/sections/section_tracer.h"

#define REFUSED_NAMED 5
#define SITES_NAMED   64 /* limit for instructions listed that a section tracer does not cover */
#define MODULES_NAMED 256

/* Returns the contents of a one-line file without the newline. */
static char *read_small(struct service *s, const char *path)
{
	struct hv_file *file;
	char buf[128];
	size_t len = 0;
	struct hv_err *err = hv_tree_open(s->tree, &hv_root_rights, path, O_RDONLY, &file);

	if (!err) {
		err = hv_file_read(file, buf, sizeof(buf) - 1, &len);
		hv_err_free(hv_file_close(file));
	}
	buf[err ? 0 : len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	hv_err_free(err);
	return hv_strdup(buf);
}

static void add_string(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, json_object_new_string(value));
}

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

/* Returns the names of the first refused sites, with the reasons. */
static json_object *first_refused(struct service *s)
{
	const struct hv_site *sites[REFUSED_NAMED];
	size_t nr = hv_session_refused(s->session, REFUSED_NAMED, sites);
	json_object *names = json_object_new_array();

	for (size_t i = 0; i < nr; i++) {
		HV_AUTO_FREE char *name = hv_format("%s (%s)", sites[i]->name,
						    hv_session_why_refused(s->session, sites[i]));

		json_object_array_add(names, json_object_new_string(name));
	}
	return names;
}

/* Returns the first instructions that the section tracers do not cover, with the reasons. */
static json_object *uncovered_sites(struct service *s)
{
	struct hv_section_left left[SITES_NAMED];
	size_t nr = hv_section_tracer_left(s->session->sections, SITES_NAMED, left);
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++) {
		json_object *site = json_object_new_object();
		char address[24];

		snprintf(address, sizeof(address), "0x%llx", (unsigned long long)left[i].at.v);
		json_object_object_add(site, "address", json_object_new_string(address));
		json_object_object_add(site, "reason", json_object_new_string(left[i].reason));
		json_object_array_add(list, site);
	}
	return list;
}

/* Adds nothing if no section tracer was set since attach. */
static void add_sections(struct service *s, json_object *o)
{
	json_object *sections;
	struct hv_section_coverage coverage;

	hv_section_tracer_coverage(s->session->sections, &coverage);
	if (!coverage.nr_covered)
		return;
	sections = json_object_new_object();
	add_number(sections, "covered", coverage.nr_covered - coverage.nr_refused);
	add_number(sections, "retargeted", coverage.nr_retargeted);
	add_number(sections, "not_covered", coverage.nr_left);
	json_object_object_add(sections, "not_covered_first", uncovered_sites(s));
	add_number(sections, "refused", coverage.nr_refused);
	add_number(sections, "no_begin", coverage.nr_no_begin);
	add_number(sections, "no_end", coverage.nr_no_end);
	add_number(sections, "stolen", coverage.nr_stolen);
	json_object_object_add(o, "sections", sections);
}

/* Adds what the guest's own tracers do with the sites. */
static void add_own(struct service *s, const struct hv_session_stat *stat, json_object *sites)
{
	json_object *unseen = json_object_new_object();

	add_number(sites, "in_use", hv_session_in_use(s->session));
	add_number(sites, "joined", stat->nr_joined);
	add_number(unseen, "now", stat->unseen.nr_now);
	add_number(unseen, "times", stat->unseen.nr);
	add_number(unseen, "total_ns", stat->unseen.total_ns);
	add_number(unseen, "longest_ns", stat->unseen.longest_ns);
	json_object_object_add(sites, "unseen", unseen);
}

static void add_counts(struct service *s, json_object *o)
{
	json_object *sites = json_object_new_object();
	json_object *holds = json_object_new_object();
	json_object *memory = json_object_new_object();
	struct hv_session_stat stat;

	hv_session_stat(s->session, &stat);
	add_number(sites, "traceable", stat.nr_sites);
	add_number(sites, "patched", stat.nr_patched);
	add_number(sites, "refused", stat.nr_refused);
	json_object_object_add(sites, "refused_first", first_refused(s));
	add_own(s, &stat, sites);
	json_object_object_add(o, "sites", sites);
	add_number(o, "events", stat.nr_events);
	add_number(o, "lost", stat.nr_lost);
	add_number(o, "graph_no_stack", stat.nr_no_stack);
	add_number(o, "graph_no_room", stat.nr_no_room);
	add_number(o, "profile_no_count", stat.nr_no_count);
	add_sections(s, o);
	add_number(holds, "count", stat.nr_holds);
	add_number(holds, "total_ns", stat.hold_total_ns);
	add_number(holds, "last_ns", stat.hold_last_ns);
	add_number(holds, "max_ns", stat.hold_max_ns);
	json_object_object_add(o, "holds", holds);
	add_number(memory, "region_bytes", stat.region_bytes);
	add_number(memory, "ring_bytes", stat.ring_bytes);
	json_object_object_add(o, "memory", memory);
	add_number(o, "vcpus", stat.nr_cpus);
}

static void add_mounts(struct service *s, json_object *o)
{
	json_object *dirs = json_object_new_array();

	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i]->mount_dir)
			json_object_array_add(dirs, json_object_new_string(s->peers[i]->mount_dir));
	json_object_object_add(o, "mounts", dirs);
}

/* Lists the clients that keep others from opening trace_pipe or changing the tracer. */
static void add_readers(struct service *s, json_object *o)
{
	json_object *readers = json_object_new_array();

	for (size_t i = 0; i < s->nr_peers; i++)
		for (size_t j = 0; j < s->peers[i]->nr_files; j++) {
			json_object *reader;

			if (!files_is_pipe(s->peers[i]->files[j].path))
				continue;
			reader = json_object_new_object();
			add_number(reader, "pid", (uint64_t)s->peers[i]->cred.pid);
			add_string(reader, "file", s->peers[i]->files[j].path);
			json_object_array_add(readers, reader);
		}
	json_object_object_add(o, "readers", readers);
}

static void add_dumps(struct service *s, json_object *o)
{
	HV_AUTO_FREE char *path = rundir_path(s->dir.path, RUNDIR_DUMP);
	json_object *dumps = json_object_new_object();

	add_number(dumps, "written", s->dumps.nr);
	add_string(dumps, "path", path);
	json_object_object_add(o, "dumps", dumps);
}

static void add_missing_tasks(struct service *s, json_object *o)
{
	json_object *lines = json_object_new_array();
	HV_AUTO_TEXT struct hv_text text = {0};
	char *rest = NULL;

	hv_tree_missing_tasks(s->tree, &text);
	for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		json_object_array_add(lines, json_object_new_string(line));
	json_object_object_add(o, "missing_tasks", lines);
}

/* Adds the modules whose use count includes a claim of hvtrace. */
static void add_held_modules(struct service *s, json_object *o)
{
	const char *names[MODULES_NAMED];
	size_t nr = hv_session_held_modules(s->session, MODULES_NAMED, names);
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, json_object_new_string(names[i]));
	json_object_object_add(o, "held_modules", list);
}

/* Adds why renamed tasks keep their old names in the trace, if they do. */
static void add_names(struct service *s, json_object *o)
{
	const char *why = hv_session_why_names_stay(s->session);

	if (why)
		add_string(o, "names_stay", why);
}

/* Adds nothing without a limit, unless a client asked for the overhead. */
static void add_budget(struct service *s, json_object *o)
{
	uint64_t limit_ppm = limits_overhead_ppm(s);
	HV_AUTO_TEXT struct hv_text names = {0};
	uint64_t load_ppm = hv_tree_load(s->tree, &names);
	json_object *budget;

	if (!limit_ppm && !names.data)
		return;
	budget = json_object_new_object();
	add_number(budget, "limit_ppm", limit_ppm == LIMITS_NONE ? 0 : limit_ppm);
	add_number(budget, "load_ppm", load_ppm);
	add_number(budget, "taken_ns", hv_tree_taken_ns(s->tree));
	add_string(budget, "not_traced", names.data ? names.data : "");
	json_object_object_add(o, "budget", budget);
}

/* Adds the guest's time of day, if it is known. */
static void add_time(struct service *s, json_object *o)
{
	struct hv_clocks *clocks = s->session->clocks;
	uint64_t epoch_ns, now_ns;
	json_object *time;

	if (!hv_clocks_epoch_ns(clocks, &epoch_ns))
		return;
	time = json_object_new_object();
	add_number(time, "epoch_ns", epoch_ns);
	if (hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_GUEST, &now_ns))
		add_number(time, "realtime_ns", epoch_ns + now_ns);
	json_object_object_add(o, "guest_time", time);
}

static void do_stat(struct service *s, struct peer *p)
{
	const struct hv_guest_info *info = hv_guest_info(s->guest);
	HV_AUTO_FREE char *tracer = read_small(s, "current_tracer");
	HV_AUTO_FREE char *on = read_small(s, "tracing_on");
	json_object *o = json_object_new_object();
	const char *text;

	add_string(o, "domain", info->name);
	add_string(o, "id", info->id);
	add_number(o, "vmm_pid", (uint64_t)info->pid);
	add_number(o, "service_pid", (uint64_t)s->pid);
	add_number(o, "attached_ms", (hv_now_ns() - s->attached_ns) / 1000000);
	add_string(o, "kernel", s->kernel->release);
	add_string(o, "transport", info->transport);
	add_string(o, "clock", hv_clock_kind_name(hv_clocks_guest_kind(s->session->clocks)));
	add_time(s, o);
	add_string(o, "current_tracer", tracer);
	json_object_object_add(o, "tracing_on", json_object_new_boolean(strcmp(on, "1") == 0));
	add_counts(s, o);
	add_budget(s, o);
	add_dumps(s, o);
	add_number(o, "clients", s->nr_peers - 1);
	add_missing_tasks(s, o);
	add_held_modules(s, o);
	add_names(s, o);
	add_mounts(s, o);
	add_readers(s, o);
	json_object_object_add(o, "processes", host_processes(s));
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
	peer_answer_bytes(p, text, strlen(text));
	json_object_put(o);
}

typedef struct hv_err *(*request_fn)(struct service *s, struct peer *p,
				     const struct wire_frame *frame);

static struct hv_err *stat_session(struct service *s, struct peer *p,
				   const struct wire_frame *frame hv_unused)
{
	do_stat(s, p);
	return NULL;
}

static struct hv_err *detach(struct service *s, struct peer *p,
			     const struct wire_frame *frame hv_unused)
{
	ending_begin_detach(s, p);
	return NULL;
}

static struct hv_err *own(struct service *s hv_unused, struct peer *p,
			  const struct wire_frame *frame hv_unused)
{
	p->owns_session = true;
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
	return NULL;
}

static struct hv_err *set_budget(struct service *s hv_unused, struct peer *p,
				 const struct wire_frame *frame)
{
	p->max_overhead_ppm = frame->arg;
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
	return NULL;
}

static struct hv_err *watch(struct service *s, struct peer *p,
			    const struct wire_frame *frame hv_unused)
{
	p->only_watches = true;
	limits_measure(s, hv_now_ns());
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
	return NULL;
}

static struct hv_err *note_mount(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *dir = NULL;

	if (!wire_string(frame->data, PATH_MAX, &dir) || dir[0] != '/')
		return hv_err_new(EINVAL, "the request does not contain an absolute path");
	free(p->mount_dir);
	p->mount_dir = hv_take(dir);
	audit_log(&s->audit, "mounted at %s by pid %d", p->mount_dir, (int)p->cred.pid);
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
	return NULL;
}

static const request_fn requests[] = {
	[WIRE_STAT] = stat_session,
	[WIRE_DETACH] = detach,
	[WIRE_OWN] = own,
	[WIRE_MOUNT] = note_mount,
	[WIRE_BUDGET] = set_budget,
	[WIRE_WATCH] = watch,
	[WIRE_PROGRAM] = programs_map,
	[WIRE_FUNCTIONS] = programs_functions,
	[WIRE_PAGES] = programs_pages,
	[WIRE_MEMORY] = guest_memory_read,
	[WIRE_PERCPU] = guest_memory_percpu,
	[WIRE_LIST] = files_list,
	[WIRE_LOOK] = files_look,
	[WIRE_MKDIR] = files_mkdir,
	[WIRE_RMDIR] = files_rmdir,
	[WIRE_DEFINE] = files_define,
	[WIRE_OPEN] = files_open,
	[WIRE_OPEN_PROC] = files_open_proc,
	[WIRE_READ] = files_read,
	[WIRE_READY] = files_ready,
	[WIRE_CANCEL] = files_cancel,
	[WIRE_WRITE] = files_write,
	[WIRE_CLOSE] = files_close,
	[WIRE_ABANDON] = files_abandon,
	[WIRE_PUBLISH] = files_publish,
};

static struct hv_err *too_many(struct service *s, struct peer *p)
{
	p->leaves = true;
	return hv_err_new(EMFILE,
			  "domain '%s': %d clients are connected: end one of them first, or detach",
			  service_name(s), SERVE_PEERS_MAX);
}

/* A client that closes its end while it waits for a change was interrupted. A mount stays, because
 * it is one client for many programs. */
static bool has_hung_up(void *ctx)
{
	const struct peer *p = ctx;
	struct pollfd fd = {p->fd, POLLRDHUP, 0};

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* Root's writes always pass, because they may free memory. */
static bool takes_memory(const struct peer *p, const struct wire_frame *frame)
{
	switch (frame->kind) {
	case WIRE_OPEN:
	case WIRE_OPEN_PROC:
	case WIRE_PUBLISH:
	case WIRE_WRITE:
		return !p->is_root;
	case WIRE_MKDIR:
	case WIRE_DEFINE:
		return true;
	default:
		return false;
	}
}

static struct hv_err *do_request(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct hv_err *err = access_check(s, p, frame);

	if (!err && takes_memory(p, frame))
		err = memory_check();

	if (err)
		return err;
	if (frame->kind == WIRE_WRITE || frame->kind == WIRE_CLOSE)
		hv_session_set_stops(s->session, has_hung_up, p);
	err = requests[frame->kind](s, p, frame);
	access_refused(s, p, frame, err);
	if (s->session)
		hv_session_set_stops(s->session, NULL, NULL);
	trail_holds(s, &p->who);
	return err;
}

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct hv_err *err = NULL;

	p->tag = frame->tag;
	if (frame->version != WIRE_VERSION)
		err = hv_err_new(EPROTO,
				 "the service (pid %d) speaks protocol %d, this hvtrace %u: use "
				 "the hvtrace that attached, or end the service with SIGTERM",
				 (int)getpid(), WIRE_VERSION, frame->version);
	else if (s->state != SERVE_RUNS)
		err = hv_err_new(EBUSY, "domain '%s': the session is being detached",
				 service_name(s));
	else if (p->is_extra && frame->kind != WIRE_DETACH)
		err = too_many(s, p);
	else if (frame->kind < HV_ARRAY_LEN(requests) && requests[frame->kind])
		err = do_request(s, p, frame);
	else
		err = hv_err_new(ENOSYS, "unknown request %u", frame->kind);
	if (err)
		peer_answer_error(p, advise_in_session(err, service_name(s)));
}
