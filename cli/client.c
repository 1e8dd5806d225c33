/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/domain_state.h"
#include "cli/spec.h"
#include "lib/session.h"
#include "vmm/domains.h"
#include "vmm/guest.h"

#define GET_MAX_BYTES (1u << 20)

/* Takes ERROR. */
static struct hv_err *taken(struct hvt_error *error)
{
	struct hv_err *err = NULL;

	if (error) {
		const char *text = hvt_error_message(error);
		size_t reason_off = (size_t)(hvt_error_reason(error) - text);

		err = hv_err_new(hvt_error_errno(error), "%s", text);
		if (reason_off <= strlen(err->message))
			err->reason = err->message + reason_off;
	}
	hvt_error_free(error);
	return err;
}

/* -- the connection --------------------------------------------------------------------------- */

void client_close(struct client *c)
{
	hvt_session_close(c->session);
	for (size_t i = 0; i < c->nr_files; i++)
		hv_err_free(taken(hvt_file_close(c->files[i])));
	free(c->files);
	free(c->spec);
	rundir_info_deinit(&c->info);
	*c = (struct client)CLIENT_NONE;
}

bool client_is_connected(const struct client *c)
{
	return c->session;
}

int client_fd(const struct client *c)
{
	return c->session->conn->fd;
}

/* Returns the UUID of a domain that attach knew by another name. NULL: libvirt does not know the
 * domain (*RET_ASKED true) or does not answer (false). */
static char *libvirt_id(const char *spec, const char *uri, bool *ret_asked)
{
	struct hv_domain *list = NULL;
	HV_AUTO_FREE char *id = NULL;
	char number[16];
	size_t nr = 0;
	struct hv_err *err;

	*ret_asked = false;
	if (strchr(spec, ':'))
		return NULL;
	err = hv_domain_list(uri, &list, &nr);
	*ret_asked = !err;
	hv_err_free(err);
	for (size_t i = 0; i < nr && !id; i++) {
		snprintf(number, sizeof(number), "%d", list[i].id);
		if (strcmp(list[i].name, spec) == 0 || strcmp(list[i].uuid, spec) == 0 ||
		    (list[i].id >= 0 && strcmp(number, spec) == 0))
			id = hv_strdup(list[i].uuid);
	}
	hv_domain_list_free(list, nr);
	return hv_take(id);
}

static struct hv_err *no_session(const char *spec, const struct rundir_info *left, bool is_known)
{
	if (left)
		return domain_state_lacks_session(left, spec);
	if (is_known)
		return hv_err_new(ENOTCONN,
				  "domain '%s': not attached: run `hvtrace attach %s%s` first",
				  spec, spec_dashes(spec), spec);
	return hv_err_new(ENOENT,
			  "domain '%s': no such domain and no session of that name: see `hvtrace "
			  "list`",
			  spec);
}

/* Whether RUN_DIR belongs to root and this process is another user's, which sees only permitted
 * sessions. */
static bool is_strange(const char *run_dir)
{
	struct stat st;

	return geteuid() != 0 && stat(run_dir, &st) == 0 && st.st_uid != geteuid();
}

static struct hv_err *not_allowed(const char *spec)
{
	return hv_err_new(EACCES,
			  "domain '%s': no session that this user may use: needs root (use sudo), "
			  "or a rule in /etc/hvtrace.conf",
			  spec);
}

struct hv_err *client_look_up(const char *run_dir, const char *spec, const char *libvirt_uri,
			      bool *ret_found, struct rundir_info *ret, struct hv_err **ret_why)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	HV_AUTO_FREE char *id = NULL;
	bool asked = false;
	bool found = false;
	struct hv_err *err;
	HV_AUTO_FREE char *given = spec_absolute(spec);

	err = rundir_find(run_dir, given, libvirt_uri, &found, &info);
	if (is_strange(run_dir) && (err || !found)) {
		hv_err_free(err);
		*ret_found = false;
		*ret_why = not_allowed(spec);
		return NULL;
	}
	if (!err && !found) {
		id = libvirt_id(given, libvirt_uri, &asked);
		if (id)
			err = rundir_find(run_dir, id, libvirt_uri, &found, &info);
	}
	if (err)
		return err;
	*ret_found = found && domain_state(&info) == DOMAIN_ATTACHED;
	if (!*ret_found) {
		*ret_why = no_session(spec, found ? &info : NULL, id || !asked);
		return NULL;
	}
	*ret = info;
	info = (struct rundir_info){0};
	return NULL;
}

/* Takes what INFO owns, and FD if it is not -1, on success. */
static struct hv_err *join(struct client *c, const char *spec, struct rundir_info *info, int fd)
{
	struct conn_peer peer = {
		.domain = spec,
		.timeout_ms = c->limit_s * 1000,
		.until_ns = c->until_ns,
	};
	struct hv_err *err = taken(session_join(info, fd, &peer, &c->session));

	if (err)
		return err;
	c->spec = hv_strdup(spec);
	c->info = *info;
	*info = (struct rundir_info){0};
	return NULL;
}

struct hv_err *client_find(const char *run_dir, const char *spec, const char *libvirt_uri,
			   bool *ret_found, struct client *ret, struct hv_err **ret_why)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	struct hv_err *err = client_look_up(run_dir, spec, libvirt_uri, ret_found, &info, ret_why);

	if (err || !*ret_found)
		return err;
	return join(ret, spec, &info, -1);
}

struct hv_err *client_socket(const struct rundir_info *info, int *ret)
{
	struct conn_peer peer = {
		.domain = info->name,
		.service_pid = info->service_pid,
		.timeout_ms = 1,
	};
	struct hvt_error *error = conn_connect(info->path, &peer, ret);
	int code = hvt_error_errno(error);

	hvt_error_free(error);
	return code ? hv_err_new(code, "service (pid %d) does not answer: %s",
				 (int)info->service_pid, strerror(code))
		    : NULL;
}

struct hv_err *client_adopt(int fd, const char *spec, struct rundir_info *info, struct client *ret)
{
	return join(ret, spec, info, fd);
}

struct hv_err *client_connect(const char *run_dir, const char *spec, const char *libvirt_uri,
			      struct client *ret)
{
	struct hv_err *why = NULL;
	bool found;
	struct hv_err *err = client_find(run_dir, spec, libvirt_uri, &found, ret, &why);

	return err ? err : why;
}

bool client_is_gone(const struct hv_err *err)
{
	return err && (err->code == ECONNRESET || err->code == ESHUTDOWN);
}

void client_limit(struct client *c, unsigned limit_s)
{
	c->limit_s = limit_s;
	if (c->session)
		hv_err_free(taken(hvt_session_set_timeout(c->session, limit_s * 1000)));
}

void client_within(struct client *c, unsigned limit_s)
{
	c->until_ns = limit_s ? hv_now_ns() + limit_s * HV_NS_PER_S : 0;
	if (c->session)
		hv_err_free(taken(hvt_session_set_deadline(c->session, limit_s * 1000)));
}

/* -- the session ------------------------------------------------------------------------------ */

struct hv_err *client_own(struct client *c)
{
	return taken(hvt_session_own(c->session));
}

struct notes {
	void (*show)(const char *line);
};

static void show_note(const char *text, void *data)
{
	const struct notes *notes = data;

	notes->show(text);
}

struct hv_err *client_detach(struct client *c, void (*note)(const char *line), char **ret_report)
{
	struct notes notes = {note};
	struct hvt_error *error = hvt_session_set_notes(c->session, show_note, &notes);

	if (!error)
		error = hvt_session_detach(c->session, ret_report);
	hvt_error_free(hvt_session_set_notes(c->session, NULL, NULL));
	return taken(error);
}

struct hv_err *client_stat(struct client *c, char **ret)
{
	return taken(hvt_session_stat(c->session, ret));
}

struct hv_err *client_watch(struct client *c)
{
	return taken(hvt_session_watch(c->session));
}

struct hv_err *client_max_overhead(struct client *c, uint32_t max_ppm)
{
	return taken(hvt_session_set_max_overhead(c->session, max_ppm));
}

static struct hv_err *call(struct client *c, const struct wire_frame *request,
			   struct wire_frame *ret)
{
	struct hvt_error *error = session_check(c->session);

	return taken(error ? error : conn_call(c->session->conn, request, ret));
}

static struct hv_err *ask(struct client *c, const struct wire_frame *request, char **ret)
{
	struct wire_frame reply;
	struct hv_err *err = call(c, request, &reply);

	return err ? err : taken(conn_text(c->session->conn, &reply, ret));
}

static struct hv_span bytes_of(const char *text)
{
	return (struct hv_span){(const uint8_t *)text, strlen(text)};
}

struct hv_err *client_program(struct client *c, uint32_t pid, char **ret)
{
	return ask(c, &(struct wire_frame){.kind = WIRE_PROGRAM, .arg = pid}, ret);
}

struct hv_err *client_functions(struct client *c, const char *places, char **ret)
{
	return ask(c, &(struct wire_frame){.kind = WIRE_FUNCTIONS, .data = bytes_of(places)}, ret);
}

struct hv_err *client_pages(struct client *c, uint32_t pid, const char *place, struct hv_span *ret)
{
	struct wire_frame reply;
	struct hv_err *err = call(
		c, &(struct wire_frame){.kind = WIRE_PAGES, .arg = pid, .data = bytes_of(place)},
		&reply);

	if (!err)
		*ret = reply.data;
	return err;
}

struct hv_err *client_mounted(struct client *c, const char *dir)
{
	struct wire_frame reply;

	return call(c, &(struct wire_frame){.kind = WIRE_MOUNT, .data = bytes_of(dir)}, &reply);
}

/* -- files ------------------------------------------------------------------------------------ */

struct hv_err *client_list(struct client *c, const char *path, char **ret)
{
	return taken(hvt_file_list(c->session, path, ret));
}

struct hv_err *client_mkdir(struct client *c, const char *path, enum client_dir kind)
{
	struct wire_frame reply;
	struct hvt_error *error;

	if (kind == CLIENT_DIR_STAYS)
		return taken(hvt_dir_make(c->session, path));
	error = session_check(c->session);
	return taken(error ? error : conn_call_path(c->session->conn, WIRE_MKDIR, path, 1, &reply));
}

struct hv_err *client_rmdir(struct client *c, const char *path)
{
	return taken(hvt_dir_remove(c->session, path));
}

static uint32_t add_file(struct client *c, struct hvt_file *file)
{
	size_t handle = 0;

	while (handle < c->nr_files && c->files[handle])
		handle++;
	if (handle == c->nr_files)
		c->files = hv_realloc_array(c->files, ++c->nr_files, sizeof(struct hvt_file *));
	c->files[handle] = file;
	return (uint32_t)handle;
}

struct hv_err *client_open(struct client *c, const char *path, int flags, uint32_t *ret_handle)
{
	struct hvt_file *file;
	struct hv_err *err = taken(hvt_file_open(c->session, path, flags, &file));

	if (!err)
		*ret_handle = add_file(c, file);
	return err;
}

struct hv_err *client_open_proc(struct client *c, const char *name, uint32_t *ret_handle)
{
	struct hvt_file *file;
	struct hv_err *err = taken(session_open(c->session, WIRE_OPEN_PROC, name, O_RDONLY, &file));

	if (!err)
		*ret_handle = add_file(c, file);
	return err;
}

static struct hvt_file *file_of(const struct client *c, uint32_t handle)
{
	return handle < c->nr_files ? c->files[handle] : NULL;
}

struct hv_err *client_read(struct client *c, uint32_t handle, uint32_t wait_ms, struct hv_span *ret)
{
	const void *data;
	size_t len_bytes;
	struct hvt_error *error =
		hvt_file_read_part(file_of(c, handle), wait_ms, &data, &len_bytes);

	if (!error)
		*ret = (struct hv_span){data, len_bytes};
	return taken(error);
}

struct hv_err *client_close_file(struct client *c, uint32_t handle)
{
	struct hvt_file *file = file_of(c, handle);

	if (file)
		c->files[handle] = NULL;
	return taken(hvt_file_close(file));
}

struct hv_err *client_put(struct client *c, const char *path, int flags, const char *text)
{
	struct hvt_file *file;
	struct hv_err *err = taken(hvt_file_open(c->session, path, flags, &file));

	if (err)
		return err;
	err = taken(hvt_file_write_part(file, text, strlen(text)));
	hv_err_keep_first(&err, taken(hvt_file_close(file)));
	return err;
}

struct hv_err *client_error(const char *path, struct hv_err *err)
{
	const char *words = strerror(err->code);
	bool says_more = strncasecmp(words, err->reason, strlen(err->reason)) != 0;
	struct hv_err *told =
		hv_err_new(err->code, "%s: %s%s%s%s", path, words, says_more ? " (" : "",
			   says_more ? err->reason : "", says_more ? ")" : "");

	hv_err_free(err);
	return told;
}

struct hv_err *client_echo(struct client *c, const char *path, const char *text)
{
	const char *slash = strrchr(path, '/');
	HV_AUTO_TEXT struct hv_text line = {0};
	struct hv_err *err;

	if (text)
		hv_text_printf(&line, "%s\n", text);
	err = client_put(c, path, O_WRONLY | O_TRUNC, text ? line.data : "");
	if (!err || client_is_gone(err))
		return err;
	return client_error(slash ? slash + 1 : path, err);
}

struct hv_err *client_get(struct client *c, const char *path, struct hv_text *ret)
{
	struct hv_span data = {NULL, 1};
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	if (err)
		return err;
	while (!err && data.len_bytes && ret->len_bytes < GET_MAX_BYTES) {
		err = client_read(c, handle, 0, &data);
		if (!err && data.len_bytes)
			hv_text_add_bytes(ret, data.data, data.len_bytes);
	}
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}
