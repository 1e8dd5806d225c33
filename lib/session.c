/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "lib/alloc.h"
#include "lib/machine.h"

#define NAME_TRIES 1000

struct hvt_instance {
	struct hvt_session *session; /* NULL: removed, or the session was closed */
	struct hvt_instance *next;
	char *path; /* owned */
};

struct hvt_probe {
	struct hvt_session *session; /* NULL: removed, or the session was closed */
	struct hvt_probe *next;
	char *event; /* owned; "GROUP:NAME" */
};

struct hvt_error *session_check(const struct hvt_session *s)
{
	if (!s)
		return error_null("session");
	if (s->pid != getpid())
		return error_new(ESRCH, "domain '%s': the session belongs to the parent process",
				 s->domain);
	if (s->closes)
		return error_new(ENOTCONN, "domain '%s': the session was closed", s->domain);
	return NULL;
}

static void session_free(struct hvt_session *s)
{
	if (!s)
		return;
	conn_close(s->conn);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	task_names_free(s->names);
	free(s->path);
	free(s->domain);
	free(s);
}

static void free_at(struct hvt_session **s)
{
	session_free(*s);
}

struct hvt_error *session_epoll_failed(const struct hvt_session *s)
{
	return error_new(errno, "domain '%s': cannot wait for events: epoll: %s", s->domain,
			 strerror(errno));
}

static struct hvt_error *copy_names(const struct rundir_info *info, const char *domain,
				    struct hvt_session *s)
{
	s->service_pid = info->service_pid;
	s->path = lib_strdup(info->path ? info->path : "");
	s->domain = lib_strdup(domain);
	return s->path && s->domain ? NULL : error_no_memory();
}

struct hvt_error *session_join(const struct rundir_info *info, int fd, const struct conn_peer *peer,
			       struct hvt_session **ret)
{
	hv_cleanup(free_at) struct hvt_session *s = lib_alloc(sizeof(*s));
	struct conn_peer own = *peer;
	struct hvt_error *error;

	if (!s)
		return error_no_memory();
	s->pid = getpid();
	s->epoll_fd = -1;
	s->timeout_ms = peer->timeout_ms ? peer->timeout_ms : CONN_TIMEOUT_MS;
	error = copy_names(info, peer->domain, s);
	own.domain = s->domain;
	own.service_pid = s->service_pid;
	if (!error)
		error = fd < 0 ? conn_open(s->path, &own, &s->conn)
			       : conn_adopt(fd, &own, &s->conn);
	if (!error)
		*ret = hv_take(s);
	return error;
}

struct hvt_error *hvt_session_join(const struct hvt_machine *machine, struct hvt_session **ret)
{
	hv_cleanup(free_at) struct hvt_session *s = NULL;
	const struct rundir_info *info = machine_info(machine);
	struct hvt_error *error;

	if (!info || !ret)
		return error_null(info ? "ret" : "machine");
	if (hvt_machine_state(machine) != HVT_MACHINE_ATTACHED)
		return error_new(ENOTCONN, "domain '%s': there is no session", info->name);
	error = session_join(info, -1, &(struct conn_peer){.domain = info->name}, &s);
	if (error)
		return error;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return session_epoll_failed(s);
	*ret = hv_take(s);
	return NULL;
}

/* Unregisters ops and removes instances by requests to the service, so that the guest is restored
 * when the call returns. Only frees a session of the parent process. */
static void close_now(struct hvt_session *s)
{
	bool is_ours = s->pid == getpid();

	s->closes = false;
	while (s->ops) {
		struct hvt_ops *ops = s->ops;

		if (is_ours)
			hvt_error_free(hvt_ops_unregister(ops));
		else
			ops_abandon(ops);
	}
	while (s->probes) {
		struct hvt_probe *probe = s->probes;

		if (is_ours)
			hvt_error_free(hvt_probe_remove(probe));
		s->probes = probe->session ? probe->next : s->probes;
		probe->session = NULL;
	}
	while (s->instances) {
		struct hvt_instance *in = s->instances;

		if (is_ours)
			hvt_error_free(hvt_instance_remove(in));
		s->instances = in->next;
		in->session = NULL;
	}
	for (struct hvt_file *file = s->files; file; file = file->next)
		file->session = NULL;
	session_free(s);
}

void hvt_session_close(struct hvt_session *session)
{
	if (session && session->dispatches)
		session->closes = true;
	else if (session)
		close_now(session);
}

struct hvt_error *hvt_session_set_timeout(struct hvt_session *session, unsigned timeout_ms)
{
	struct hvt_error *error = session_check(session);

	if (error)
		return error;
	session->timeout_ms = timeout_ms ? timeout_ms : CONN_TIMEOUT_MS;
	session->conn->timeout_ms = session->timeout_ms;
	return NULL;
}

struct hvt_error *hvt_session_set_deadline(struct hvt_session *session, unsigned total_ms)
{
	struct hvt_error *error = session_check(session);

	if (!error)
		session->conn->until_ns = total_ms ? hv_now_ns() + total_ms * HV_NS_PER_MS : 0;
	return error;
}

struct hvt_error *hvt_session_set_notes(struct hvt_session *session, hvt_note_t note, void *data)
{
	struct hvt_error *error = session_check(session);

	if (error)
		return error;
	session->conn->on_note = note;
	session->conn->note_data = data;
	return NULL;
}

/* -- requests --------------------------------------------------------------------------------- */

static struct hvt_error *call_with(struct hvt_session *s, enum wire_kind kind, uint32_t arg,
				   struct wire_frame *ret)
{
	struct hvt_error *error = session_check(s);

	return error ? error
		     : conn_call(s->conn, &(struct wire_frame){.kind = (uint16_t)kind, .arg = arg},
				 ret);
}

static struct hvt_error *call(struct hvt_session *s, enum wire_kind kind, struct wire_frame *ret)
{
	return call_with(s, kind, 0, ret);
}

struct hvt_error *hvt_session_own(struct hvt_session *session)
{
	struct wire_frame reply;

	return call(session, WIRE_OWN, &reply);
}

struct hvt_error *hvt_session_watch(struct hvt_session *session)
{
	struct wire_frame reply;

	return call(session, WIRE_WATCH, &reply);
}

struct hvt_error *hvt_session_set_max_overhead(struct hvt_session *session, uint32_t max_ppm)
{
	struct wire_frame reply;

	return call_with(session, WIRE_BUDGET, max_ppm, &reply);
}

struct hvt_error *hvt_session_detach(struct hvt_session *session, char **ret)
{
	struct wire_frame reply;
	struct hvt_error *error = call(session, WIRE_DETACH, &reply);

	return error || !ret ? error : conn_text(session->conn, &reply, ret);
}

struct hvt_error *hvt_session_stat(struct hvt_session *session, char **ret)
{
	struct wire_frame reply;
	struct hvt_error *error = ret ? NULL : error_null("ret");

	if (!error)
		error = call(session, WIRE_STAT, &reply);
	return error ? error : conn_text(session->conn, &reply, ret);
}

/* -- instances -------------------------------------------------------------------------------- */

static struct hvt_error *make_dir(struct conn *c, const char *path)
{
	struct wire_frame reply;

	return conn_call_path(c, WIRE_MKDIR, path, 1, &reply);
}

struct hvt_error *session_make_instance(struct conn *c, const char *name, char **ret_path)
{
	HV_AUTO_FREE char *path = lib_alloc(WIRE_PATH_MAX);
	struct hvt_error *error;

	if (!path)
		return error_no_memory();
	for (unsigned i = 1;; i++) {
		char own[64];

		snprintf(own, sizeof(own), "api-%d-%u", (int)getpid(), i);
		error = conn_path("instances", name ? name : own, path);
		if (!error)
			error = make_dir(c, path);
		if (name || i == NAME_TRIES || hvt_error_errno(error) != EEXIST)
			break;
		hvt_error_free(error);
	}
	if (!error)
		*ret_path = hv_take(path);
	return error;
}

struct hvt_error *hvt_instance_new(struct hvt_session *session, const char *name,
				   struct hvt_instance **ret)
{
	struct hvt_error *error = session_check(session);
	struct hvt_instance *in;

	if (error)
		return error;
	if (!ret)
		return error_null("ret");
	in = lib_alloc(sizeof(*in));
	if (!in)
		return error_no_memory();
	error = session_make_instance(session->conn, name, &in->path);
	if (error) {
		free(in);
		return error;
	}
	in->session = session;
	in->next = session->instances;
	session->instances = in;
	*ret = in;
	return NULL;
}

const char *hvt_instance_path(const struct hvt_instance *instance)
{
	return instance ? instance->path : NULL;
}

static void forget(struct hvt_instance *in)
{
	struct hvt_instance **at = &in->session->instances;

	while (*at != in)
		at = &(*at)->next;
	*at = in->next;
	in->session = NULL;
}

struct hvt_error *hvt_instance_remove(struct hvt_instance *instance)
{
	struct wire_frame reply;
	struct hvt_error *error;

	if (!instance)
		return error_null("instance");
	if (!instance->session)
		return error_new(ENOTCONN, "%s: was removed, or its session was closed",
				 instance->path);
	error = session_check(instance->session);
	if (!error)
		error = conn_call_path(instance->session->conn, WIRE_RMDIR, instance->path, 0,
				       &reply);
	if (!error)
		forget(instance);
	return error;
}

void hvt_instance_free(struct hvt_instance *instance)
{
	if (!instance)
		return;
	if (instance->session)
		hvt_error_free(hvt_instance_remove(instance));
	if (instance->session)
		forget(instance);
	free(instance->path);
	free(instance);
}

/* -- probes ----------------------------------------------------------------------------------- */

#define DEFINITION_MAX_LEN 4096 /* the service's limit */

static const char *group_of(char letter)
{
	switch (letter) {
	case 'e':
		return "eprobes";
	case 'f':
		return "fprobes";
	case 't':
		return "tracepoints";
	default:
		return "kprobes";
	}
}

/* The parts of "LETTER[NUMBER][:[GROUP/]NAME] REST". */
struct definition {
	const char *letter, *group, *name, *rest;
	size_t letter_len, group_len, name_len;
};

static struct definition parse_definition(const char *line)
{
	size_t word = strcspn(line, " \t"), letter = strcspn(line, ":");
	struct definition d = {.letter = line, .rest = line + word};
	const char *slash;

	d.letter_len = letter < word ? letter : word;
	d.group = group_of(line[0]);
	d.group_len = strlen(d.group);
	d.name = line + d.letter_len + (letter < word);
	d.name_len = word - (size_t)(d.name - line);
	slash = memchr(d.name, '/', d.name_len);
	if (slash) {
		d.group = d.name;
		d.group_len = (size_t)(slash - d.name);
		d.name = slash + 1;
		d.name_len -= d.group_len + 1;
	}
	return d;
}

/* Sends the definition with the NAME. *RET_EVENT is owned by the caller. */
static struct hvt_error *define(struct conn *c, const struct definition *d, const char *name,
				size_t name_len, char **ret_event)
{
	char line[DEFINITION_MAX_LEN];
	struct wire_frame reply;
	size_t len = (size_t)snprintf(line, sizeof(line), "%.*s:%.*s/%.*s%s", (int)d->letter_len,
				      d->letter, (int)d->group_len, d->group, (int)name_len, name,
				      d->rest);
	char *event = lib_alloc(d->group_len + name_len + 2);
	struct hvt_error *error;

	if (!event)
		return error_no_memory();
	sprintf(event, "%.*s:%.*s", (int)d->group_len, d->group, (int)name_len, name);
	error = len < sizeof(line)
			? conn_call(c,
				    &(struct wire_frame){.kind = WIRE_DEFINE,
							 .data = {(const uint8_t *)line, len}},
				    &reply)
			: error_new(ENAMETOOLONG, "the definition is too long");
	if (error)
		free(event);
	else
		*ret_event = event;
	return error;
}

/* Defines an event with a unique name if the definition has no name. */
static struct hvt_error *define_named(struct conn *c, const char *definition, char **ret_event)
{
	struct definition d = parse_definition(definition);
	struct hvt_error *error;

	if (d.name_len)
		return define(c, &d, d.name, d.name_len, ret_event);
	for (unsigned i = 1;; i++) {
		char own[64];

		snprintf(own, sizeof(own), "api_%d_%u", (int)getpid(), i);
		error = define(c, &d, own, strlen(own), ret_event);
		if (i == NAME_TRIES || hvt_error_errno(error) != EEXIST)
			return error;
		hvt_error_free(error);
	}
}

struct hvt_error *hvt_probe_new(struct hvt_session *session, const char *definition,
				struct hvt_probe **ret)
{
	struct hvt_error *error = session_check(session);
	struct hvt_probe *probe;

	if (error)
		return error;
	if (!definition || !ret)
		return error_null(definition ? "ret" : "definition");
	if (!*definition || *definition == '-' || *definition == '!')
		return error_new(EINVAL, "'%s' defines no event", definition);
	probe = lib_alloc(sizeof(*probe));
	if (!probe)
		return error_no_memory();
	error = define_named(session->conn, definition, &probe->event);
	if (error) {
		free(probe);
		return error;
	}
	probe->session = session;
	probe->next = session->probes;
	session->probes = probe;
	*ret = probe;
	return NULL;
}

const char *hvt_probe_event(const struct hvt_probe *probe)
{
	return probe ? probe->event : NULL;
}

static void forget_probe(struct hvt_probe *probe)
{
	struct hvt_probe **at = &probe->session->probes;

	while (*at != probe)
		at = &(*at)->next;
	*at = probe->next;
	probe->session = NULL;
}

struct hvt_error *hvt_probe_remove(struct hvt_probe *probe)
{
	char line[DEFINITION_MAX_LEN];
	struct wire_frame reply;
	struct hvt_error *error;

	if (!probe)
		return error_null("probe");
	if (!probe->session)
		return error_new(ENOTCONN, "%s: was removed, or its session was closed",
				 probe->event);
	error = session_check(probe->session);
	if (error)
		return error;
	snprintf(line, sizeof(line), "-:%s", probe->event);
	*strchr(line + 2, ':') = '/';
	error = conn_call(probe->session->conn,
			  &(struct wire_frame){.kind = WIRE_DEFINE,
					       .data = {(const uint8_t *)line, strlen(line)}},
			  &reply);
	if (!error)
		forget_probe(probe);
	return error;
}

void hvt_probe_free(struct hvt_probe *probe)
{
	if (!probe)
		return;
	if (probe->session)
		hvt_error_free(hvt_probe_remove(probe));
	if (probe->session)
		forget_probe(probe);
	free(probe->event);
	free(probe);
}

/* -- events ----------------------------------------------------------------------------------- */

int hvt_session_fd(const struct hvt_session *session)
{
	return session ? session->epoll_fd : -1;
}

static struct hvt_error *dispatch(struct hvt_session *s, size_t max, size_t *nr)
{
	struct hvt_error *error = NULL;
	struct hvt_ops *ops;

	while (!error && !s->closes && (!max || *nr < max) && (ops = ops_next(s)))
		error = ops_dispatch(ops, max, nr);
	return error;
}

struct hvt_error *hvt_session_dispatch(struct hvt_session *session, size_t max, size_t *ret_nr)
{
	struct hvt_error *error = session_check(session);
	size_t nr = 0;

	if (error)
		return error;
	if (session->dispatches)
		return error_new(EBUSY, "domain '%s': a callback cannot dispatch", session->domain);
	session->dispatches = true;
	session->round++;
	error = dispatch(session, max, &nr);
	session->dispatches = false;
	if (ret_nr)
		*ret_nr = nr;
	if (!session->closes)
		return error;
	hvt_error_free(error);
	error = error_new(ECANCELED, "domain '%s': a callback closed the session", session->domain);
	close_now(session);
	return error;
}

struct hvt_error *hvt_session_task_name(struct hvt_session *session, uint32_t pid, char ret[16])
{
	struct hvt_error *error = session_check(session);

	if (!error && !ret)
		error = error_null("ret");
	return error ? error : task_names_find(&session->names, session->conn, pid, ret);
}
