/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb's connection to the service of one guest. It finds the service by the user's name for the
 * domain, and sends requests (wire.h) and waits for the answers, one at a time.
 * Leaves to others: what is done with the answers (verbs/). */
#pragma once

#include "cli/rundir.h"
#include "cli/wire.h"

struct client {
	int fd;	    /* -1: not connected */
	char *spec; /* owned; as the user named the domain */
	/* What the warden wrote of the session. Whatever the service answers is text to show: names
	 * of files, ids, and processes are taken from here. Empty if the connection was inherited.
	 */
	struct rundir_info info;
	struct hv_text in;
	/* How long a request and its answer may take; 0: CLIENT_ANSWER_S. */
	unsigned limit_s;
	uint64_t until_ns; /* when all requests must be answered; 0: there is no such limit */
	/* Called with the text of every WIRE_NOTE; may be NULL. */
	void (*on_note)(const char *line);
};
#define CLIENT_ANSWER_S 600 /* a service may wait for a hold, or for a machine that is busy */
#define CLIENT_NONE                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Finds the session of SPEC, and asks its service nothing. *RET_FOUND false: no service runs. Then
 * *RET_WHY says why, and what to do. The caller frees both. */
struct hv_err *client_look_up(const char *run_dir, const char *spec, const char *libvirt_uri,
			      bool *ret_found, struct rundir_info *ret,
			      struct hv_err **ret_why) hv_must_use;
/* RET is CLIENT_NONE, or has limits besides. *RET_FOUND false: no service runs for SPEC. Then
 * *RET_WHY says why, and what to do; the caller
 * frees it with hv_err_free. */
struct hv_err *client_find(const char *run_dir, const char *spec, const char *libvirt_uri,
			   bool *ret_found, struct client *ret,
			   struct hv_err **ret_why) hv_must_use;
/* As client_find, but returns *RET_WHY as an error when no service runs. */
struct hv_err *client_connect(const char *run_dir, const char *spec, const char *libvirt_uri,
			      struct client *ret) hv_must_use;
void client_close(struct client *c);
/* Every call has a deadline: LIMIT_S seconds after its begin the request was taken and the answer,
 * with all notes before it, was received; 0: CLIENT_ANSWER_S, as at first. A read that waits gets
 * as much more time as it may wait. One that waits for ever has that time from the first byte of
 * the answer on. After the deadline the call fails with ESHUTDOWN, and so do all others: nothing
 * that comes later can be taken for the answer to another request. */
void client_limit(struct client *c, unsigned limit_s);
/* From now on all calls together end within LIMIT_S seconds, also to connect C, which was not
 * connected before; 0: no longer. */
void client_within(struct client *c, unsigned limit_s);
/* Whether ERR, which may be NULL, says that the session has ended or does not answer, so that no
 * other call is possible. After an ETIMEDOUT of the service (a hold that ended) it goes on. */
bool client_is_gone(const struct hv_err *err);
#define AUTO_CLIENT hv_cleanup(client_close)

/* Sends REQUEST and waits for its answer. If the answer is an error, returns it with the errno that
 * the tree gave. RET's data is valid until the next call. ECONNRESET: the session ended. */
struct hv_err *client_call(struct client *c, const struct wire_frame *request,
			   struct wire_frame *ret) hv_must_use;

struct hv_err *client_open(struct client *c, const char *path, int flags,
			   uint32_t *ret_handle) hv_must_use;
/* *RET is valid until the next call, and empty at the end of the file. EAGAIN: nothing came within
 * WAIT_MS. */
struct hv_err *client_read(struct client *c, uint32_t handle, uint32_t wait_ms,
			   struct hv_span *ret) hv_must_use;
struct hv_err *client_close_file(struct client *c, uint32_t handle) hv_must_use;

/* Do what mkdir(1) and rmdir(1) do. A directory that is made for this connection is removed when
 * the connection ends for any reason, and its settings end with it. */
enum client_dir { CLIENT_DIR_STAYS, CLIENT_DIR_OURS };
struct hv_err *client_mkdir(struct client *c, const char *path, enum client_dir kind) hv_must_use;
struct hv_err *client_rmdir(struct client *c, const char *path) hv_must_use;

/* Does what `printf TEXT > PATH` does. It closes the file even if the write failed, and returns the
 * first error. */
struct hv_err *client_put(struct client *c, const char *path, int flags,
			  const char *text) hv_must_use;
/* Does what `echo TEXT > PATH` does, or, if TEXT is NULL, `> PATH`. An error names the file and the
 * errno as a shell would, except ECONNRESET (the session ended). A last word that no white space
 * follows, as client_put may leave it, is not checked before the file is closed; an error in it
 * goes to error_log only. */
struct hv_err *client_echo(struct client *c, const char *path, const char *text) hv_must_use;
/* Writes an error of the tree about PATH as a shell would: "PATH: Invalid argument (REASON)". The
 * REASON is left out if it says no more than the errno does. Takes ERR. */
struct hv_err *client_error(const char *path, struct hv_err *err);
/* Reads the whole file, up to 1 MiB. */
struct hv_err *client_get(struct client *c, const char *path, struct hv_text *ret) hv_must_use;
