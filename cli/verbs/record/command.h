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
};

/* Does nothing if there is none. Its output goes to standard error. The error names it. */
struct hv_err *record_command_start(struct record_command *c) hv_must_use;
bool record_command_has_ended(struct record_command *c);
/* Asks it to end, and kills it if it still runs a little later. */
void record_command_stop(struct record_command *c);
/* ECHILD: it ended by a signal, or with a status that is not 0. */
struct hv_err *record_command_result(const struct record_command *c) hv_must_use;
