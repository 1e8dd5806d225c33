/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two processes of record: the one that reads what a guest wrote has no rights; the other one
 * keeps the user's, opens the file of the host's events, ends the command, connects to a collector
 * again, and removes a new file that got no events.
 * Leaves to others: what is recorded. */
#pragma once

#include "cli/errand.h"
#include "cli/verbs/record/command.h"
#include "cli/verbs/record/file.h"
#include "stream/out.h"

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
