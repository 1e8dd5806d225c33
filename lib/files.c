/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and directories of the tree, whole files and in parts. hvtrace/hvtrace.h is the
 * contract. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/alloc.h"
#include "lib/session.h"

_Static_assert(HVT_WAIT_FOREVER == WIRE_WAIT_FOREVER && HVT_PART_MAX_BYTES == WIRE_DATA_MAX &&
		       HVT_NO_LIMIT == WIRE_NO_LIMIT,
	       "the library's limits are those of the protocol");

/* -- whole files ------------------------------------------------------------------------------ */

struct hvt_error *hvt_file_read(struct hvt_session *session, const char *path, char **ret,
				size_t *ret_bytes)
{
	struct hvt_error *error = session_check(session);

	if (error)
		return error;
	if (!path || !ret)
		return error_null(path ? "ret" : "path");
	return conn_read_file(session->conn, WIRE_OPEN, path, ret, ret_bytes);
}

struct hvt_error *hvt_file_write(struct hvt_session *session, const char *path,
				 enum hvt_write_mode mode, const char *text)
{
	struct hvt_error *error = session_check(session);

	if (error)
		return error;
	if (!path || !text)
		return error_null(path ? "text" : "path");
	if (mode != HVT_WRITE_REPLACE && mode != HVT_WRITE_APPEND)
		return error_new(EINVAL, "unknown mode %d", (int)mode);
	return conn_write_file(session->conn, path, mode, text);
}

struct hvt_error *hvt_file_list(struct hvt_session *session, const char *path, char **ret)
{
	struct hvt_error *error = session_check(session);

	if (error)
		return error;
	if (!path || !ret)
		return error_null(path ? "ret" : "path");
	return conn_list(session->conn, path, ret);
}

/* -- open files ------------------------------------------------------------------------------- */

struct hvt_error *session_open(struct hvt_session *s, enum wire_kind kind, const char *path,
			       int flags, struct hvt_file **ret)
{
	struct hvt_error *error = session_check(s);
	struct wire_frame reply;
	struct hvt_file *file;

	if (error)
		return error;
	if (!path || !ret)
		return error_null(path ? "ret" : "path");
	file = lib_alloc(sizeof(*file));
	if (!file)
		return error_no_memory();
	error = conn_call_path(s->conn, kind, path, (uint32_t)flags, &reply);
	if (error) {
		free(file);
		return error;
	}
	*file = (struct hvt_file){.session = s, .next = s->files, .handle = reply.handle};
	s->files = file;
	*ret = file;
	return NULL;
}

struct hvt_error *hvt_file_open(struct hvt_session *session, const char *path, int flags,
				struct hvt_file **ret)
{
	return session_open(session, WIRE_OPEN, path, flags, ret);
}

static struct hvt_error *check(const struct hvt_file *file)
{
	if (!file)
		return error_null("file");
	if (!file->session)
		return error_new(ENOTCONN, "the file's session was closed");
	return session_check(file->session);
}

struct hvt_error *hvt_file_read_part(struct hvt_file *file, uint32_t wait_ms, const void **ret,
				     size_t *ret_bytes)
{
	struct hvt_error *error = check(file);
	struct wire_frame reply;

	if (error)
		return error;
	if (!ret || !ret_bytes)
		return error_null(ret ? "ret_bytes" : "ret");
	error = conn_call(file->session->conn,
			  &(struct wire_frame){.kind = WIRE_READ,
					       .handle = file->handle,
					       .arg = WIRE_DATA_MAX,
					       .wait_ms = wait_ms},
			  &reply);
	if (error)
		return error;
	*ret = reply.data.data;
	*ret_bytes = reply.data.len_bytes;
	return NULL;
}

struct hvt_error *hvt_file_write_part(struct hvt_file *file, const void *data, size_t len_bytes)
{
	struct hvt_error *error = check(file);

	if (error)
		return error;
	if (!data)
		return error_null("data");
	return conn_write_all(file->session->conn, file->handle, data, len_bytes);
}

static void forget(struct hvt_file *file)
{
	struct hvt_file **at = &file->session->files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
}

/* KIND is WIRE_CLOSE or WIRE_ABANDON. */
static struct hvt_error *end(struct hvt_file *file, enum wire_kind kind)
{
	struct hvt_error *error = file ? check(file) : NULL;
	struct wire_frame reply;

	if (!file)
		return NULL;
	if (!error)
		error = conn_call(
			file->session->conn,
			&(struct wire_frame){.kind = (uint16_t)kind, .handle = file->handle},
			&reply);
	if (file->session)
		forget(file);
	free(file);
	return error;
}

struct hvt_error *hvt_file_close(struct hvt_file *file)
{
	return end(file, WIRE_CLOSE);
}

struct hvt_error *hvt_file_abandon(struct hvt_file *file)
{
	return end(file, WIRE_ABANDON);
}

/* -- directories ------------------------------------------------------------------------------ */

static struct hvt_error *call_path(struct hvt_session *s, enum wire_kind kind, const char *path)
{
	struct hvt_error *error = session_check(s);
	struct wire_frame reply;

	if (error)
		return error;
	return path ? conn_call_path(s->conn, kind, path, 0, &reply) : error_null("path");
}

struct hvt_error *hvt_dir_make(struct hvt_session *session, const char *path)
{
	return call_path(session, WIRE_MKDIR, path);
}

struct hvt_error *hvt_dir_remove(struct hvt_session *session, const char *path)
{
	return call_path(session, WIRE_RMDIR, path);
}
