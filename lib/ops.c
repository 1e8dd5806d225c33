/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callbacks. Each registered ops has a connection, with an instance that exists as long as
 * the connection, and the files trace_pipe_raw of all vCPUs. A request WIRE_READY waits on each
 * vCPU that has nothing to read, so the connection becomes readable when there are events. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/alloc.h"
#include "lib/stacks.h"

#define CPUS_MAX    4096
#define QUIET_MS    20 /* events that are held back are delivered after this time */
#define READS_MIN   2  /* a second read shows that the first one got everything */
#define READS_MAX   CONN_SEND_MAX
#define REPLIES_MAX 8192 /* taken by one call of ops_dispatch() */

struct source {
	uint32_t handle; /* of trace_pipe_raw */
	bool waits;	 /* for the reply to WIRE_READY with wait_tag */
	uint32_t wait_tag;
	uint32_t read_tag; /* of the first of nr_reads replies that are outstanding */
	unsigned nr_reads;
	unsigned depth; /* number of reads in the next turn */
};

/* A file of the instance that the program has set. */
struct ops_setting {
	struct ops_setting *next;
	char *name, *text; /* owned */
};

static struct hvt_error *make(const struct ops_kind *kind, hvt_lost_t lost, void *data,
			      struct hvt_ops **ret)
{
	struct hvt_ops *ops;

	if (!ret)
		return error_null("ret");
	ops = lib_alloc(sizeof(*ops));
	if (!ops)
		return error_no_memory();
	ops->kind = kind;
	ops->lost = lost;
	ops->data = data;
	*ret = ops;
	return NULL;
}

struct hvt_error *hvt_ops_new(hvt_function_t function, hvt_lost_t lost, void *data,
			      struct hvt_ops **ret)
{
	struct hvt_error *error =
		function ? make(&ops_of_functions, lost, data, ret) : error_null("function");

	if (!error)
		(*ret)->function = function;
	return error;
}

struct hvt_error *hvt_ops_new_graph(hvt_graph_t call, hvt_graph_t returned, hvt_lost_t lost,
				    void *data, struct hvt_ops **ret)
{
	struct hvt_error *error =
		call || returned ? make(&ops_of_graph, lost, data, ret) : error_null("call");

	if (error)
		return error;
	(*ret)->graph_call = call;
	(*ret)->graph_return = returned;
	return NULL;
}

struct hvt_error *hvt_ops_new_events(const char *events, hvt_event_t event, hvt_lost_t lost,
				     void *data, struct hvt_ops **ret)
{
	HV_AUTO_FREE char *copy = events ? lib_strdup(events) : NULL;
	struct hvt_error *error;

	if (!events || !event)
		return error_null(events ? "event" : "events");
	if (!copy)
		return error_no_memory();
	error = make(&ops_of_events, lost, data, ret);
	if (error)
		return error;
	(*ret)->event = event;
	(*ret)->events = hv_take(copy);
	return NULL;
}

static void free_setting(struct ops_setting *setting)
{
	free(setting->name);
	free(setting->text);
	free(setting);
}

static void free_now(struct hvt_ops *ops)
{
	while (ops->settings) {
		struct ops_setting *next = ops->settings->next;

		free_setting(ops->settings);
		ops->settings = next;
	}
	free(ops->filter);
	free(ops->notrace);
	free(ops->events);
	free(ops);
}

void hvt_ops_free(struct hvt_ops *ops)
{
	if (!ops)
		return;
	if (ops->session)
		hvt_error_free(hvt_ops_unregister(ops));
	if (ops->session) /* of the parent process, or closed by a callback */
		ops_abandon(ops);
	if (ops->dispatches)
		ops->is_freed = true;
	else
		free_now(ops);
}

const char *hvt_ops_path(const struct hvt_ops *ops)
{
	return ops ? ops->path : NULL;
}

/* -- registration ----------------------------------------------------------------------------- */

/* Finds the end of a page: its last field is its data. Old services have pages of 4 KiB only. */
static struct hvt_error *read_page_bytes(struct hvt_ops *ops)
{
	char path[WIRE_PATH_MAX];
	HV_AUTO_FREE char *text = NULL;
	unsigned off = 0, size = 0;
	const char *data;
	struct hvt_error *error = conn_path(ops->path, "events/header_page", path);

	if (!error)
		error = conn_read_file(ops->conn, WIRE_OPEN, path, &text, NULL);
	if (error)
		return error;
	data = strstr(text, " data;");
	if (!data || sscanf(data, " data; offset:%u; size:%u;", &off, &size) != 2 || off > 64 ||
	    size < 64 || size > LANE_PAGE_BYTES_MAX - off)
		return error_new(EPROTO, "%s: pages of %u bytes cannot be used", path, size);
	ops->page_bytes = off + size;
	return NULL;
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : NULL;
}

static struct hvt_error *count_cpus(struct hvt_ops *ops, unsigned *ret)
{
	HV_AUTO_FREE char *names = NULL;
	char path[WIRE_PATH_MAX];
	unsigned nr = 0, cpu;
	struct hvt_error *error = conn_path(ops->path, "per_cpu", path);

	if (!error)
		error = conn_list(ops->conn, path, &names);
	if (error)
		return error;
	for (const char *at = names; at && *at; at = next_line(at))
		if (sscanf(at, "cpu%u/", &cpu) == 1 && cpu < CPUS_MAX && cpu >= nr)
			nr = cpu + 1;
	if (!nr)
		return error_new(EPROTO, "%s: there is no vCPU", path);
	*ret = nr;
	return NULL;
}

static struct hvt_error *open_sources(struct hvt_ops *ops, unsigned nr)
{
	struct hvt_error *error = NULL;

	ops->sources = lib_alloc(nr * sizeof(*ops->sources));
	if (!ops->sources || !lanes_init(&ops->lanes, nr))
		return error_no_memory();
	for (unsigned cpu = 0; cpu < nr && !error; cpu++) {
		char name[64], path[WIRE_PATH_MAX];
		struct wire_frame reply;

		snprintf(name, sizeof(name), "per_cpu/cpu%u/trace_pipe_raw", cpu);
		error = conn_path(ops->path, name, path);
		if (!error)
			error = conn_call_path(ops->conn, WIRE_OPEN, path, O_RDONLY, &reply);
		if (!error)
			ops->sources[cpu] =
				(struct source){.handle = reply.handle, .depth = READS_MIN};
	}
	return error;
}

static struct hvt_error *put(struct hvt_ops *ops, const char *name, const char *text)
{
	return conn_write_in(ops->conn, ops->path, name, text);
}

/* The tracer cannot be changed while a file that consumes events is open. */
static struct hvt_error *start(struct hvt_ops *ops)
{
	struct hvt_error *error = put(ops, "tracing_on", "0");
	unsigned nr = 0;

	/* A WIRE_READY is answered at the first event, not when half of the buffer is full. */
	if (!error)
		error = put(ops, "buffer_percent", "0");
	if (!error && ops->filter)
		error = put(ops, "set_ftrace_filter", ops->filter);
	if (!error && ops->notrace)
		error = put(ops, "set_ftrace_notrace", ops->notrace);
	for (const struct ops_setting *at = ops->settings; at && !error; at = at->next)
		error = put(ops, at->name, at->text);
	if (!error)
		error = read_page_bytes(ops);
	if (!error && ops->stack)
		error = stacks_prepare(ops);
	if (!error)
		error = ops->kind->prepare(ops);
	if (!error)
		error = count_cpus(ops, &nr);
	if (!error && ops->kind->tracer)
		error = put(ops, "current_tracer", ops->kind->tracer);
	if (!error)
		error = open_sources(ops, nr);
	return error ? error : put(ops, "tracing_on", "1");
}

/* Notes a reply to a WIRE_READY. Ignores other replies: those to reads that an error of
 * ops_dispatch() left outstanding. */
static void take_reply(void *data, const struct wire_frame *reply)
{
	struct hvt_ops *ops = data;

	for (unsigned i = 0; i < ops->lanes.nr; i++) {
		struct source *s = &ops->sources[i];

		if (!s->waits || s->wait_tag != reply->tag)
			continue;
		s->waits = false;
		ops->has_replies = true;
		if (reply->kind == WIRE_ERROR && reply->arg != EAGAIN && reply->arg != EINTR)
			ops->failed = (int)reply->arg;
	}
}

static struct hvt_error *wait_on(struct hvt_ops *ops, struct source *s, uint32_t wait_ms)
{
	struct hvt_error *error = conn_send(
		ops->conn,
		&(struct wire_frame){.kind = WIRE_READY, .handle = s->handle, .wait_ms = wait_ms},
		&s->wait_tag);

	s->waits = !error;
	return error;
}

/* Sends a WIRE_READY for each vCPU without one. */
static struct hvt_error *arm(struct hvt_ops *ops)
{
	uint32_t wait_ms = lanes_can_deliver(&ops->lanes)   ? 0
			   : lanes_have_events(&ops->lanes) ? QUIET_MS
							    : WIRE_WAIT_FOREVER;
	struct hvt_error *error = NULL;

	for (unsigned i = 0; i < ops->lanes.nr && !error; i++)
		if (!ops->sources[i].waits)
			error = wait_on(ops, &ops->sources[i], wait_ms);
	return error;
}

static void release(struct hvt_ops *ops)
{
	if (ops->kind->release)
		ops->kind->release(ops);
	lanes_deinit(&ops->lanes);
	free(ops->sources);
	free(ops->path);
	conn_close(ops->conn);
	ops->sources = NULL;
	ops->path = NULL;
	ops->conn = NULL;
	ops->has_replies = false;
	ops->failed = 0;
}

static void leave_session(struct hvt_ops *ops)
{
	struct hvt_ops **at = &ops->session->ops;

	while (*at != ops)
		at = &(*at)->next;
	*at = ops->next;
	ops->session = NULL;
}

void ops_abandon(struct hvt_ops *ops)
{
	leave_session(ops);
	release(ops);
}

/* Removes the instance, which restores its functions. */
static struct hvt_error *stop(struct hvt_ops *ops)
{
	struct hvt_error *error = NULL;
	struct wire_frame reply;

	for (unsigned i = 0; i < ops->lanes.nr && !error; i++)
		error = conn_call(
			ops->conn,
			&(struct wire_frame){.kind = WIRE_CLOSE, .handle = ops->sources[i].handle},
			&reply);
	return error ? error : conn_call_path(ops->conn, WIRE_RMDIR, ops->path, 0, &reply);
}

static struct hvt_error *watch(struct hvt_ops *ops, struct hvt_session *s)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct hvt_error *error = arm(ops);

	if (!error && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ops->conn->fd, &event) != 0)
		error = session_epoll_failed(s);
	return error;
}

struct hvt_error *hvt_ops_register(struct hvt_ops *ops, struct hvt_session *session)
{
	struct hvt_error *error = session_check(session);

	if (!error && !ops)
		error = error_null("ops");
	if (!error && ops->session)
		error = error_new(EALREADY, "domain '%s': the ops are registered",
				  ops->session->domain);
	if (!error)
		error = conn_open(session->path,
				  &(struct conn_peer){.domain = session->domain,
						      .service_pid = session->service_pid,
						      .timeout_ms = session->timeout_ms},
				  &ops->conn);
	if (error)
		return error;
	ops->conn->on_reply = take_reply;
	ops->conn->data = ops;
	error = session_make_instance(ops->conn, NULL, &ops->path);
	if (!error) {
		error = start(ops);
		if (!error)
			error = watch(ops, session);
		if (error)
			hvt_error_free(stop(ops));
	}
	if (error) {
		release(ops);
		return error;
	}
	ops->session = session;
	ops->registration++;
	ops->round = session->round;
	ops->next = session->ops;
	session->ops = ops;
	return NULL;
}

static struct hvt_error *check_registered(const struct hvt_ops *ops)
{
	if (!ops)
		return error_null("ops");
	if (!ops->session)
		return error_new(ENOENT, "the ops are not registered");
	return session_check(ops->session);
}

struct hvt_error *hvt_ops_unregister(struct hvt_ops *ops)
{
	struct hvt_error *error = check_registered(ops);

	if (error)
		return error;
	error = stop(ops);
	ops_abandon(ops);
	return error;
}

struct hvt_error *hvt_ops_pause(struct hvt_ops *ops)
{
	struct hvt_error *error = check_registered(ops);

	if (!error)
		error = put(ops, "tracing_on", "0");
	/* The next dispatch reads the buffer without waiting for a reply. */
	if (!error)
		ops->has_replies = true;
	return error;
}

struct hvt_error *hvt_ops_resume(struct hvt_ops *ops)
{
	struct hvt_error *error = check_registered(ops);

	return error ? error : put(ops, "tracing_on", "1");
}

/* Keeps a copy of FUNCTIONS at AT, after the file FILE of registered ops has accepted it. */
static struct hvt_error *set_list(struct hvt_ops *ops, char **at, const char *file,
				  const char *functions)
{
	HV_AUTO_FREE char *copy = functions ? lib_strdup(functions) : NULL;
	struct hvt_error *error = NULL;

	if (functions && !ops->kind->tracer)
		return error_new(EINVAL, "these ops are for events, not for functions");
	if (functions && !copy)
		return error_no_memory();
	if (ops->session)
		error = check_registered(ops);
	if (!error && ops->session)
		error = put(ops, file, functions ? functions : "");
	if (error)
		return error;
	free(*at);
	*at = hv_take(copy);
	return NULL;
}

struct hvt_error *hvt_ops_set_filter(struct hvt_ops *ops, const char *functions)
{
	return ops ? set_list(ops, &ops->filter, "set_ftrace_filter", functions)
		   : error_null("ops");
}

struct hvt_error *hvt_ops_set_notrace(struct hvt_ops *ops, const char *functions)
{
	return ops ? set_list(ops, &ops->notrace, "set_ftrace_notrace", functions)
		   : error_null("ops");
}

struct hvt_error *hvt_ops_set_pages(struct hvt_ops *ops, hvt_page_t page)
{
	if (!ops)
		return error_null("ops");
	if (ops->session)
		return error_new(EALREADY, "domain '%s': the ops are registered",
				 ops->session->domain);
	ops->page = page;
	return NULL;
}

struct hvt_error *hvt_ops_set_stacks(struct hvt_ops *ops, hvt_stack_t stack)
{
	if (!ops)
		return error_null("ops");
	if (ops->session)
		return error_new(EALREADY, "domain '%s': the ops are registered",
				 ops->session->domain);
	if (!ops->kind->stack_option)
		return error_new(EINVAL, "a graph cannot record stacks");
	ops->stack = stack;
	return NULL;
}

/* Returns where the setting of NAME is, or where it is to be added. */
static struct ops_setting **find_setting(struct hvt_ops *ops, const char *name)
{
	struct ops_setting **at = &ops->settings;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

static struct hvt_error *keep_setting(struct hvt_ops *ops, const char *name, const char *text)
{
	struct ops_setting **at = find_setting(ops, name), *made = lib_alloc(sizeof(*made));

	if (!made)
		return error_no_memory();
	made->name = lib_strdup(name);
	made->text = lib_strdup(text);
	if (!made->name || !made->text) {
		free_setting(made);
		return error_no_memory();
	}
	if (*at) {
		made->next = (*at)->next;
		free_setting(*at);
	}
	*at = made;
	return NULL;
}

/* Files that the library itself uses. */
static bool is_own_file(const char *name)
{
	static const char *const own[] = {"buffer_percent",    "current_tracer",     "set_event",
					  "set_ftrace_filter", "set_ftrace_notrace", "tracing_on"};

	for (size_t i = 0; i < HV_ARRAY_LEN(own); i++)
		if (strcmp(own[i], name) == 0)
			return true;
	return false;
}

struct hvt_error *hvt_ops_set_file(struct hvt_ops *ops, const char *name, const char *text)
{
	struct hvt_error *error = NULL;

	if (!ops || !name || !text)
		return error_null(!ops ? "ops" : !name ? "name" : "text");
	if (is_own_file(name))
		return error_new(EPERM, "the library uses %s itself", name);
	if (ops->session)
		error = check_registered(ops);
	if (!error && ops->session)
		error = put(ops, name, text);
	return error ? error : keep_setting(ops, name, text);
}

/* Returns false if a callback has unregistered the ops or closed the session. */
static bool is_active(const struct hvt_ops *ops, const struct hvt_session *s)
{
	return ops->session == s && !s->closes;
}

/* -- reading ---------------------------------------------------------------------------------- */

static struct hvt_error *request_from(struct hvt_ops *ops, struct source *s, unsigned nr)
{
	struct hvt_error *error = conn_send_many(ops->conn,
						 &(struct wire_frame){
							 .kind = WIRE_READ,
							 .handle = s->handle,
							 .arg = (uint32_t)ops->page_bytes,
						 },
						 nr, &s->read_tag);

	s->nr_reads = error ? 0 : nr;
	return error;
}

/* Requests at most MAX pages. Begins with another vCPU each time. */
static struct hvt_error *request_pages(struct hvt_ops *ops, size_t max)
{
	struct hvt_error *error = NULL;

	for (unsigned i = 0; i < ops->lanes.nr; i++)
		ops->sources[i].nr_reads = 0;
	for (unsigned n = 0; n < ops->lanes.nr && !error; n++) {
		unsigned i = (unsigned)((n + ops->round) % ops->lanes.nr);
		struct source *s = &ops->sources[i];
		bool is_full = lanes_is_full(&ops->lanes, i);

		ops->lanes.list[i].has_more = is_full;
		if (!is_full && max)
			error = request_from(ops, s, s->depth < max ? s->depth : (unsigned)max);
		max -= s->nr_reads;
	}
	return error;
}

/* Returns the vCPU whose read REPLY answers, or the number of vCPUs. */
static unsigned find_source(const struct hvt_ops *ops, const struct wire_frame *reply)
{
	unsigned i = 0;

	while (i < ops->lanes.nr &&
	       (!ops->sources[i].nr_reads ||
		reply->tag - ops->sources[i].read_tag >= ops->sources[i].nr_reads))
		i++;
	return i;
}

static void pass_page(struct hvt_ops *ops, unsigned cpu, struct hv_span bytes)
{
	struct hvt_page page = {.bytes = bytes.data, .len_bytes = bytes.len_bytes, .cpu = cpu};
	struct hv_raw_events events;

	if (!hv_raw_events_begin(&events, bytes))
		return;
	page.time_ns = events.time_ns;
	page.nr_lost = events.lost;
	page.has_lost = events.has_lost;
	ops->nr_pages++;
	ops->page(&page, ops->data);
}

static struct hvt_error *take_page(struct hvt_ops *ops, unsigned cpu,
				   const struct wire_frame *reply)
{
	struct lane *lane = &ops->lanes.list[cpu];

	if (reply->kind == WIRE_ERROR && reply->arg == EAGAIN)
		lane->has_more = false;
	else if (reply->kind == WIRE_ERROR)
		return error_received(reply);
	else if (reply->data.len_bytes > ops->page_bytes)
		return error_new(EPROTO, "%s: a page of %zu bytes", ops->path,
				 reply->data.len_bytes);
	else if (!reply->data.len_bytes)
		lane->has_more = false;
	else if (!ops->page && !lanes_add(&ops->lanes, cpu, reply->data))
		return error_no_memory();
	else
		lane->has_more = true;
	if (ops->page && lane->has_more)
		pass_page(ops, cpu, reply->data);
	return NULL;
}

/* Receives the replies to all reads, unless a callback for pages unregisters the ops or closes the
 * session. */
static struct hvt_error *receive_pages(struct hvt_ops *ops)
{
	uint64_t deadline_ns = conn_deadline(ops->conn);
	uint64_t registration = ops->registration;
	struct hvt_session *s = ops->session;
	size_t nr_left = 0;
	AUTO_ERROR struct hvt_error *first = NULL;

	for (unsigned i = 0; i < ops->lanes.nr; i++)
		nr_left += ops->sources[i].nr_reads;
	while (nr_left && is_active(ops, s) && ops->registration == registration) {
		struct wire_frame reply;
		struct hvt_error *error = conn_receive(ops->conn, deadline_ns, &reply);
		unsigned cpu;

		if (error)
			return error;
		cpu = find_source(ops, &reply);
		if (reply.kind == WIRE_NOTE)
			continue;
		if (cpu == ops->lanes.nr) {
			take_reply(ops, &reply);
			continue;
		}
		nr_left--;
		error = take_page(ops, cpu, &reply);
		if (!first)
			first = error;
		else
			hvt_error_free(error);
	}
	return hv_take(first);
}

static void choose_depths(struct hvt_ops *ops)
{
	for (unsigned i = 0; i < ops->lanes.nr; i++) {
		struct source *s = &ops->sources[i];

		if (!ops->lanes.list[i].has_more)
			s->depth = READS_MIN;
		else if (s->depth < READS_MAX)
			s->depth *= 2;
		s->nr_reads = 0;
	}
}

static struct hvt_error *turn(struct hvt_ops *ops, size_t max)
{
	struct hvt_error *error;

	ops->has_replies = false;
	ops->nr_pages = 0;
	lanes_begin_turn(&ops->lanes);
	error = request_pages(ops, max);
	if (!error)
		error = receive_pages(ops);
	lanes_end_turn(&ops->lanes);
	choose_depths(ops);
	return error;
}

/* -- delivery --------------------------------------------------------------------------------- */

static void deliver(struct hvt_ops *ops, struct hvt_session *s, size_t max, size_t *nr)
{
	union ops_record record;
	struct lane_event e;

	while (is_active(ops, s) && (!max || *nr < max) && lanes_next(&ops->lanes, &e)) {
		bool is_known = ops->kind->decode(ops, &e, &record);

		if (e.has_lost && ops->lost)
			ops->lost(e.cpu, e.nr_lost, ops->data);
		if (!is_active(ops, s) || (!is_known && ops->stack && stacks_pass(ops, &e)) ||
		    !is_known)
			continue;
		ops->kind->call(ops, &record);
		(*nr)++;
	}
}

static struct hvt_error *take_replies(struct hvt_ops *ops)
{
	struct hvt_error *error = NULL;
	struct wire_frame reply;
	bool has = true;

	for (unsigned i = 0; i < REPLIES_MAX && has && !error; i++) {
		error = conn_take(ops->conn, &has, &reply);
		if (!error && has)
			take_reply(ops, &reply);
	}
	if (!error && ops->failed)
		error = error_new(ops->failed, "%s: the events cannot be waited for: %s", ops->path,
				  strerror(ops->failed));
	return error;
}

struct hvt_ops *ops_next(const struct hvt_session *s)
{
	struct hvt_ops *ops = s->ops;

	while (ops && ops->round == s->round)
		ops = ops->next;
	return ops;
}

struct hvt_error *ops_dispatch(struct hvt_ops *ops, size_t max, size_t *nr)
{
	struct hvt_session *s = ops->session;
	struct hvt_error *error;

	ops->round = s->round;
	error = take_replies(ops);
	/* Without a reply there are no new events, and no delayed event is due. */
	if (error || !ops->has_replies)
		return error;
	ops->dispatches = true;
	error = turn(ops, ops->page && max ? max - *nr : SIZE_MAX);
	*nr += ops->nr_pages;
	if (!error)
		deliver(ops, s, max, nr);
	ops->dispatches = false;
	if (ops->session == s) {
		struct hvt_error *last = arm(ops);

		if (error)
			hvt_error_free(last);
		else
			error = last;
	}
	if (ops->is_freed)
		free_now(ops);
	return error;
}

/* -- pages ------------------------------------------------------------------------------------ */

int hvt_page_next(const struct hvt_page *page, struct hvt_page_entry *entry)
{
	struct hv_raw_events events;
	struct hv_raw_event next;

	if (!page || !entry ||
	    !hv_raw_events_begin(&events, (struct hv_span){page->bytes, page->len_bytes}))
		return 0;
	if (entry->at) {
		if (entry->at > events.end)
			return 0;
		events.at = entry->at;
		events.time_ns = entry->time_ns;
	}
	if (!hv_raw_events_next(&events, &next))
		return 0;
	*entry = (struct hvt_page_entry){
		.at = events.at,
		.time_ns = next.time_ns,
		.bytes = next.payload.data,
		.len_bytes = next.payload.len_bytes,
	};
	return 1;
}
