/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output file of record, and its processes. One process parses the guest's data and has no
 * rights. The other one keeps the user's rights: it opens the file of the host's events, ends the
 * command, reconnects to a collector, and removes a new file that got no events. The command, if
 * any, runs while record traces. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "cli/errand.h"
#include "cli/verbs/record/file.h"
#include "stream/out.h"

/* -- the output file -------------------------------------------------------------------------- */

/* Opens the output file that the user names. */

enum output_links {
	OUTPUT_FOLLOWS_LINKS, /* the user named the file */
	OUTPUT_FOLLOWS_NONE,
};

/* Opens PATH for reading and writing, or creates it (0600); keeps its contents. Like the kernel
 * with fs.protected_regular, refuses another user's file in a world-writable directory (EACCES),
 * because its owner could read or change the output. */
struct hv_err *output_open(const char *path, enum output_links links, int *ret_fd,
			   bool *ret_new) hv_must_use;

/* -- the processes ---------------------------------------------------------------------------- */

struct record_command {
	char **words; /* NULL: no command */
	pid_t pid;    /* 0: not running */
	int status;   /* after its end */
	int go;	      /* owned; a byte written here starts it; -1: started, or no command */
	int failure;  /* owned; returns an errno if it cannot start */
};
#define RECORD_COMMAND_NONE                                                                        \
	{                                                                                          \
		.go = -1, .failure = -1                                                            \
	}

/* Creates the command's process, which waits with all rights of the user. Does nothing without a
 * command. */
struct hv_err *record_command_prepare(struct record_command *c) hv_must_use;
/* Makes the process execute the command, with its output on standard error. Errors name the
 * command. */
struct hv_err *record_command_start(struct record_command *c) hv_must_use;
bool record_command_has_ended(struct record_command *c);
/* Cancels a command that has not started. */
void record_command_deinit(struct record_command *c);
/* ECHILD: it was killed by a signal or returned a non-zero status. */
struct hv_err *record_command_result(const struct record_command *c) hv_must_use;

/* Reconnects a TCP stream. Borrowed while the stream is sent. */
struct record_dial {
	const struct hv_stream_target *target;
	struct errand *errand; /* record_apart_begin() sets it; NULL: this process may still connect
				  itself */
};
/* For struct hv_stream_target: CTX is a struct record_dial. */
int record_dial(void *ctx);

/* The calling process gives up its rights. F is open; C is prepared but not started. E must live
 * until errand_end(). */
struct hv_err *record_apart_begin(struct errand *e, struct record_file *f,
				  const struct record_command *c) hv_must_use;
/* Makes the helper end the command. */
void record_apart_stop_command(struct errand *e, struct record_command *c);
/* Returns the name of the second file: "a/b-host.dat" for "a/b.dat". The caller frees it. */
char *record_host_path(const char *path) hv_must_use;
/* Opens an empty file for the host's events, next to the file of record_apart_begin(). */
struct hv_err *record_apart_host_file(struct errand *e, const char *path, int *ret_fd) hv_must_use;
/* The files have content now: keep them, however this process ends. */
void record_apart_keep(struct errand *e);
