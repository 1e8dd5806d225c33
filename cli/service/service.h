/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a process the service of one guest: it opens the guest, finds its kernel, attaches, and
 * then serves clients (serve.h) until it is detached.
 *
 * The process is forked before anything of the guest is open. It reports to its parent over a
 * socket, in frames of wire.h: WIRE_NOTE is a line for the user; WIRE_OK, with the last line, or
 * WIRE_ERROR ends the report. The command that asked shows an error, and then nothing is left in
 * the guest. When the parent dies or closes its side before that, the service undoes what it has
 * begun. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "cli/service/config.h"
#include "cli/wire.h"

/* Returns when the service has attached. *RET_LINE, owned by the caller, describes the guest.
 * Catches SIGINT meanwhile, and then says on stderr that it waits until everything is undone.
 * ECANCELED: that is done. EINTR: a second SIGINT came, and the service goes on undoing. */
struct hv_err *service_start(const struct service_config *config, char **ret_line) hv_must_use;

/* A service, for the process that forked it. */
struct service_child {
	pid_t pid;
	int report_fd; /* owned; to be closed when the service has reported */
	struct hv_text in;
};
#define SERVICE_CHILD_NONE ((struct service_child){.pid = -1, .report_fd = -1})
/* Forks the service of a machine of our own, which this process runs (CONFIG->machine), and returns
 * at once. What it reports, service_hear() takes. The child is this process's; it ends
 * when the session has ended, and its exit status is 0 unless it did not attach. */
struct hv_err *service_fork(const struct service_config *config,
			    struct service_child *ret) hv_must_use;
/* To be called when there is something to read. *RET_LINE, owned by the caller: a line for the
 * user; NULL: there is no whole one. *RET_ATTACHED: it is the last one. An error is the service's,
 * and it has ended. */
struct hv_err *service_hear(struct service_child *c, char **ret_line,
			    bool *ret_attached) hv_must_use;
/* Hears no more. A service that has not attached undoes what it has begun. */
void service_child_close(struct service_child *c);
/* Reads the argument of --patch. False: TEXT is not one. */
bool service_parse_patch(const char *text, bool *ret_shadow);
