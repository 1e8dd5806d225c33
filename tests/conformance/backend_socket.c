/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend for the tree of a service, over its socket (lib/conn.h). */
#include "tests/conformance/backend.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/conn.h"

static struct conn *service;
/* The file offset of each handle. */
static struct {
	uint64_t position;
	bool moved; /* changed since the last read */
} handles[256];

/* Returns 0, or -1 with errno set. Frees ERROR. */
static int result(struct hvt_error *error)
{
	int code = hvt_error_errno(error);

	hvt_error_free(error);
	errno = code ? code : errno;
	return code ? -1 : 0;
}

int backend_begin(const char *where)
{
	HV_AUTO_FREE char *path = hv_strdup(where);

	return result(conn_open(dirname(path), &(struct conn_peer){.domain = "fake"}, &service));
}

/* Sends REQUEST. The data of the answer is valid until the next call. */
static int call(struct wire_frame request, struct wire_frame *ret)
{
	return result(conn_call(service, &request, ret));
}

static struct hv_span bytes(const void *data, size_t len_bytes)
{
	return (struct hv_span){data, len_bytes};
}

int backend_open(const char *path, int flags)
{
	struct wire_frame answer;

	if (call((struct wire_frame){.kind = WIRE_OPEN,
				     .arg = (uint32_t)flags,
				     .data = bytes(path, strlen(path))},
		 &answer) != 0)
		return -1;
	handles[answer.handle % HV_ARRAY_LEN(handles)].position = 0;
	handles[answer.handle % HV_ARRAY_LEN(handles)].moved = false;
	return (int)answer.handle;
}

ssize_t backend_read(int handle, void *buf, size_t len_bytes)
{
	unsigned slot = (unsigned)handle % HV_ARRAY_LEN(handles);
	uint64_t offset = handles[slot].position;
	struct wire_frame request = {
		.kind = WIRE_READ, .handle = (uint32_t)handle, .arg = (uint32_t)len_bytes};
	struct wire_frame answer;

	if (handles[slot].moved)
		request.data = bytes(&offset, sizeof(offset));
	if (call(request, &answer) != 0)
		return -1;
	handles[slot].moved = false;
	handles[slot].position += answer.data.len_bytes;
	if (answer.data.len_bytes)
		memcpy(buf, answer.data.data, answer.data.len_bytes);
	return (ssize_t)answer.data.len_bytes;
}

ssize_t backend_write(int handle, const void *buf, size_t len_bytes)
{
	struct wire_frame answer;

	if (call((struct wire_frame){.kind = WIRE_WRITE,
				     .handle = (uint32_t)handle,
				     .data = bytes(buf, len_bytes)},
		 &answer) != 0)
		return -1;
	handles[(unsigned)handle % HV_ARRAY_LEN(handles)].position += answer.arg;
	handles[(unsigned)handle % HV_ARRAY_LEN(handles)].moved = true;
	return answer.arg;
}

int backend_close(int handle)
{
	struct wire_frame answer;

	return call((struct wire_frame){.kind = WIRE_CLOSE, .handle = (uint32_t)handle}, &answer);
}

int backend_rewind(int handle)
{
	handles[(unsigned)handle % HV_ARRAY_LEN(handles)].position = 0;
	handles[(unsigned)handle % HV_ARRAY_LEN(handles)].moved = true;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int backend_list(const char *path, char *ret, size_t size)
{
	HV_AUTO_FREE char *copy = NULL;
	struct wire_frame answer;
	char *names[512], *next;
	size_t nr = 0;

	if (call((struct wire_frame){.kind = WIRE_LIST, .data = bytes(path, strlen(path))},
		 &answer) != 0)
		return -1;
	copy = hv_alloc(answer.data.len_bytes + 1);
	memcpy(copy, answer.data.data, answer.data.len_bytes);
	next = copy;
	while (nr < HV_ARRAY_LEN(names) && next && *next)
		names[nr++] = strsep(&next, "\n");
	qsort(names, nr, sizeof(*names), by_name);
	ret[0] = '\0';
	for (size_t i = 0; i < nr && strlen(ret) + strlen(names[i]) + 2 < size; i++)
		strcat(strcat(ret, names[i]), "\n");
	return 0;
}

static int call_path(enum wire_kind kind, const char *path, struct wire_frame *ret)
{
	return call((struct wire_frame){.kind = (uint16_t)kind, .data = bytes(path, strlen(path))},
		    ret);
}

int backend_mkdir(const char *path)
{
	struct wire_frame answer;

	return call_path(WIRE_MKDIR, path, &answer);
}

int backend_rmdir(const char *path)
{
	struct wire_frame answer;

	return call_path(WIRE_RMDIR, path, &answer);
}

int backend_stat(const char *path, unsigned *ret_mode, unsigned *ret_is_dir)
{
	struct wire_frame answer;

	if (call_path(WIRE_LOOK, path, &answer) != 0)
		return -1;
	*ret_mode = answer.arg & 07777;
	*ret_is_dir = S_ISDIR(answer.arg);
	return 0;
}
