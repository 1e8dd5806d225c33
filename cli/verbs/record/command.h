/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that runs while record traces. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

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
