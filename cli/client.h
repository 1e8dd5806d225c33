/* A connection to the service of one guest, from a verb: finds it by what the user calls the
 * domain and speaks wire.h to it, blocking. One request at a time.
 * Leaves to others: what is done with the answers (verbs/). */
#pragma once

#include "cli/rundir.h"
#include "cli/wire.h"

struct client {
	int fd;	    /* -1: not connected */
	char *spec; /* owned; as the user named the domain */
	struct hv_text in;
	/* Where WIRE_NOTE lines go; NULL: nowhere. */
	void (*on_note)(const char *line);
};
#define CLIENT_NONE                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* *RET_FOUND false: no service lives for SPEC; then *RET_WHY, which the caller frees with
 * hv_err_free, is the error to show to somebody who needs one. */
struct hv_err *client_find(const char *run_dir, const char *spec, const char *libvirt_uri,
			   bool *ret_found, struct client *ret,
			   struct hv_err **ret_why) hv_must_use;
/* As client_find, but no service is an error that says what to do. */
struct hv_err *client_connect(const char *run_dir, const char *spec, const char *libvirt_uri,
			      struct client *ret) hv_must_use;
void client_close(struct client *c);
#define AUTO_CLIENT hv_cleanup(client_close)

/* Sends REQUEST and waits for its answer. An answer that is an error is returned as one, with the
 * errno that the tree gave. RET's data is good until the next call. ECONNRESET: the session ended.
 */
struct hv_err *client_call(struct client *c, const struct wire_frame *request,
			   struct wire_frame *ret) hv_must_use;

struct hv_err *client_open(struct client *c, const char *path, int flags,
			   uint32_t *ret_handle) hv_must_use;
/* *RET: good until the next call; empty at the end of the file. EAGAIN when WAIT_MS is over. */
struct hv_err *client_read(struct client *c, uint32_t handle, uint32_t wait_ms,
			   struct hv_span *ret) hv_must_use;
struct hv_err *client_close_file(struct client *c, uint32_t handle) hv_must_use;

/* What `printf TEXT > PATH` does. It closes whatever the write said; the first error is returned.
 */
struct hv_err *client_put(struct client *c, const char *path, int flags,
			  const char *text) hv_must_use;
/* What `echo TEXT > PATH` does, and with TEXT NULL `> PATH`. But for a session that has gone
 * (ECONNRESET) the error names PATH and its errno, as a shell would. What is wrong with words that
 * no line ends, as client_put may leave them, is told to nobody. */
struct hv_err *client_echo(struct client *c, const char *path, const char *text) hv_must_use;
/* What the tree says of PATH, in the words of a shell: "PATH: Invalid argument (REASON)"; without a
 * REASON that says no more than the errno does. Takes ERR. */
struct hv_err *client_error(const char *path, struct hv_err *err);
/* The whole file, up to 1 MiB. */
struct hv_err *client_get(struct client *c, const char *path, struct hv_text *ret) hv_must_use;
