/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb's connection to the service of one guest, by libhvtrace. Finds the service by the user's
 * name for the domain, and sends requests, one at a time. Adds to lib/hvtrace/hvtrace.h the errors
 * of base/err.h, handles of open files, and requests that only hvtrace's own programs send. */
#pragma once

#include "base/bytes.h"
#include "base/text.h"
#include "cli/rundir.h"
#include "lib/hvtrace/hvtrace.h"

struct client {
	struct hvt_session *session; /* owned; NULL: not connected */
	char *spec;		     /* owned; the user's name for the domain */
	/* Written by the broker. Take file names, ids and processes from here: the service's
	 * answers are untrusted and only for display. Empty if the connection was inherited. */
	struct rundir_info info;
	struct hvt_file **files; /* owned; one for each handle, or NULL */
	size_t nr_files;
	/* Time limit in seconds for a request and its answer; 0: CLIENT_ANSWER_S. */
	unsigned limit_s;
	uint64_t until_ns; /* deadline for all requests together; 0: none */
};
#define CLIENT_ANSWER_S 600 /* a service may wait for a hold or on a busy host */
#define CLIENT_NONE                                                                                \
	{                                                                                          \
		.session = NULL                                                                    \
	}

/* Finds the session of SPEC without contacting its service. If no service runs, *RET_FOUND is false
 * and *RET_WHY explains why and what to do. The caller frees both. */
struct hv_err *client_look_up(const char *run_dir, const char *spec, const char *libvirt_uri,
			      bool *ret_found, struct rundir_info *ret,
			      struct hv_err **ret_why) hv_must_use;
/* Connects to the service of SPEC. RET is CLIENT_NONE, optionally with limits set. If no service
 * runs, *RET_FOUND is false and *RET_WHY explains why and what to do; the caller frees it with
 * hv_err_free. */
struct hv_err *client_find(const char *run_dir, const char *spec, const char *libvirt_uri,
			   bool *ret_found, struct client *ret,
			   struct hv_err **ret_why) hv_must_use;
/* Like client_find, but returns *RET_WHY as an error if no service runs. */
struct hv_err *client_connect(const char *run_dir, const char *spec, const char *libvirt_uri,
			      struct client *ret) hv_must_use;
/* Connects for client_adopt() in another process. Does not block: a service that accepts no
 * connections must not delay the others. The caller closes *RET. */
struct hv_err *client_socket(const struct rundir_info *info, int *ret) hv_must_use;
/* Uses FD, a socket that another process of hvtrace connected to the service of INFO, whose members
 * may be empty. RET is CLIENT_NONE, optionally with limits set. Takes FD, and what INFO owns, on
 * success. */
struct hv_err *client_adopt(int fd, const char *spec, struct rundir_info *info,
			    struct client *ret) hv_must_use;
/* Closes all files, which discards filters that have not taken effect. */
void client_close(struct client *c);
bool client_is_connected(const struct client *c);
/* Returns the socket, which C owns, for a process that inherits it. */
int client_fd(const struct client *c);
/* Sets the time limit of each call to LIMIT_S seconds; 0: CLIENT_ANSWER_S, the default. The limit
 * covers sending the request and receiving all notes and the answer. A read that waits gets its
 * wait time in addition; for a read that waits forever, the limit starts at the first byte of the
 * answer. A call that exceeds the limit fails with ESHUTDOWN, and so do all later calls, because a
 * late answer could be mistaken for the answer to another request. */
void client_limit(struct client *c, unsigned limit_s);
/* Limits the total time of all following calls to LIMIT_S seconds, including the connect if C is
 * not connected yet. 0: no limit. */
void client_within(struct client *c, unsigned limit_s);
/* Whether ERR, which may be NULL, means that the session ended or does not answer, so later calls
 * will fail, too. ETIMEDOUT from the service (a hold that ended) does not count. */
bool client_is_gone(const struct hv_err *err);
#define AUTO_CLIENT hv_cleanup(client_close)

/* The functions below wait for the service's answer. An error from the service has the errno that
 * the tree returned. ECONNRESET: the session ended. */

/* Requests to the session, as in lib/hvtrace/hvtrace.h. The caller frees the texts. */
struct hv_err *client_own(struct client *c) hv_must_use;
/* Calls NOTE with each line that the service sends while it detaches. RET_REPORT may be NULL. */
struct hv_err *client_detach(struct client *c, void (*note)(const char *line),
			     char **ret_report) hv_must_use;
struct hv_err *client_stat(struct client *c, char **ret) hv_must_use;
struct hv_err *client_watch(struct client *c) hv_must_use;
/* HVT_NO_LIMIT: only measure. */
struct hv_err *client_max_overhead(struct client *c, uint32_t max_ppm) hv_must_use;

/* Requests that only hvtrace's own programs send. cli/service/programs.h describes the texts. */
struct hv_err *client_program(struct client *c, uint32_t pid, char **ret) hv_must_use;
struct hv_err *client_functions(struct client *c, const char *places, char **ret) hv_must_use;
/* *RET is valid until the next call. */
struct hv_err *client_pages(struct client *c, uint32_t pid, const char *place,
			    struct hv_span *ret) hv_must_use;
/* Tells the service that this client mounts the tree at DIR. */
struct hv_err *client_mounted(struct client *c, const char *dir) hv_must_use;

/* Lists a directory: a name a line. The caller frees *RET. */
struct hv_err *client_list(struct client *c, const char *path, char **ret) hv_must_use;

struct hv_err *client_open(struct client *c, const char *path, int flags,
			   uint32_t *ret_handle) hv_must_use;
/* Opens a file of the guest's /proc. */
struct hv_err *client_open_proc(struct client *c, const char *name,
				uint32_t *ret_handle) hv_must_use;
/* *RET is valid until the next call, and empty at the end of the file. EAGAIN: no data within
 * WAIT_MS. HVT_WAIT_FOREVER: no limit. */
struct hv_err *client_read(struct client *c, uint32_t handle, uint32_t wait_ms,
			   struct hv_span *ret) hv_must_use;
struct hv_err *client_close_file(struct client *c, uint32_t handle) hv_must_use;

/* Like mkdir(1) and rmdir(1). A directory with CLIENT_DIR_OURS exists as long as this connection:
 * the service removes it, with its settings, when the connection ends for any reason. */
enum client_dir { CLIENT_DIR_STAYS, CLIENT_DIR_OURS };
struct hv_err *client_mkdir(struct client *c, const char *path, enum client_dir kind) hv_must_use;
struct hv_err *client_rmdir(struct client *c, const char *path) hv_must_use;

/* Like `printf TEXT > PATH`. Closes the file even if the write failed, and returns the first error.
 * If TEXT does not end with white space, its last word is checked only when the file is closed; an
 * error in it appears only in error_log. */
struct hv_err *client_put(struct client *c, const char *path, int flags,
			  const char *text) hv_must_use;
/* Like `echo TEXT > PATH`, or `> PATH` if TEXT is NULL. Errors look like a shell's, with the file
 * and the errno, except ECONNRESET (the session ended). */
struct hv_err *client_echo(struct client *c, const char *path, const char *text) hv_must_use;
/* Formats an error of the tree about PATH as a shell would: "PATH: Invalid argument (REASON)".
 * Omits REASON if it only repeats the errno. Takes ERR. */
struct hv_err *client_error(const char *path, struct hv_err *err);
/* Reads the whole file, at most 1 MiB. */
struct hv_err *client_get(struct client *c, const char *path, struct hv_text *ret) hv_must_use;
