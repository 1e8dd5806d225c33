/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of record: the one that reads what a guest wrote has no rights; the other one keeps
 * the user's, opens the file of the host's events, ends the command, connects to a collector again,
 * and removes a new file that got no events. The command, if there is one, runs while record
 * traces.
 * Leaves to others: what is recorded. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "cli/errand.h"
#include "cli/verbs/record/file.h"
#include "stream/out.h"

struct record_command {
	char **words; /* NULL: there is none */
	pid_t pid;    /* 0: it is not running */
	int status;   /* after its end */
	int go;	      /* owned; a byte here starts it; -1: it has started, or there is none */
	int failure;  /* owned; an errno comes from here if it cannot start */
};
#define RECORD_COMMAND_NONE                                                                        \
	{                                                                                          \
		.go = -1, .failure = -1                                                            \
	}

/* Makes its process, which waits, with all rights of the user. Does nothing if there is none. */
struct hv_err *record_command_prepare(struct record_command *c) hv_must_use;
/* The process becomes the command. Its output goes to standard error. The error names it. */
struct hv_err *record_command_start(struct record_command *c) hv_must_use;
bool record_command_has_ended(struct record_command *c);
/* A command that has not started does not start. */
void record_command_deinit(struct record_command *c);
/* ECHILD: it ended by a signal, or with a status that is not 0. */
struct hv_err *record_command_result(const struct record_command *c) hv_must_use;

/* Of a stream by TCP. Borrowed while it is sent. */
struct record_dial {
	const struct hv_stream_target *target;
	struct errand
		*errand; /* set by record_apart_begin(); NULL: this process still may connect */
};
/* For struct hv_stream_target: CTX is a struct record_dial. */
int record_dial(void *ctx);

/* The calling process gives up its rights. F is open, and C, which was prepared, has not started.
 * E must stay until errand_end(). */
struct hv_err *record_apart_begin(struct errand *e, struct record_file *f,
				  const struct record_command *c) hv_must_use;
/* Has the command ended. */
void record_apart_stop_command(struct errand *e, struct record_command *c);
/* Opens the file of the host's events, beside the one of record_apart_begin(), empty. */
struct hv_err *record_apart_host_file(struct errand *e, const char *path, int *ret_fd) hv_must_use;
/* The files are begun: they stay, whatever ends this process. */
void record_apart_keep(struct errand *e);
