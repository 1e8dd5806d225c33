/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb's connection to the service of one guest. Finds the service by the user's name for the
 * domain, sends requests (wire.h) and waits for each answer, one request at a time. */
#pragma once

#include "cli/rundir.h"
#include "cli/wire.h"

struct client {
	int fd;	    /* -1: not connected */
	char *spec; /* owned; the user's name for the domain */
	/* Written by the broker. Take file names, ids and processes from here: the service's
	 * answers are untrusted and only for display. Empty if the connection was inherited. */
	struct rundir_info info;
	struct hv_text in;
	/* Time limit in seconds for a request and its answer; 0: CLIENT_ANSWER_S. */
	unsigned limit_s;
	uint64_t until_ns; /* deadline for all requests together; 0: none */
	/* Called with the text of every WIRE_NOTE; may be NULL. */
	void (*on_note)(const char *line);
};
#define CLIENT_ANSWER_S 600 /* a service may wait for a hold or on a busy host */
#define CLIENT_NONE                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
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
void client_close(struct client *c);
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

/* Sends REQUEST and waits for its answer. An error from the service has the errno that the tree
 * returned. RET's data is valid until the next call. ECONNRESET: the session ended. */
struct hv_err *client_call(struct client *c, const struct wire_frame *request,
			   struct wire_frame *ret) hv_must_use;

struct hv_err *client_open(struct client *c, const char *path, int flags,
			   uint32_t *ret_handle) hv_must_use;
/* *RET is valid until the next call, and empty at the end of the file. EAGAIN: no data within
 * WAIT_MS. */
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
