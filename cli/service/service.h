/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a process into the service of one guest: it opens the guest, finds its kernel, attaches,
 * and then serves clients (serve.h) until it is detached.
 *
 * The process is forked before anything of the guest is open. It reports to its parent over a
 * socket in frames of wire.h: WIRE_NOTE is a line for the user; WIRE_OK with the last line, or
 * WIRE_ERROR, ends the report. After an error, which the parent shows, nothing remains in the
 * guest. If the parent dies or closes its end early, the service undoes the attach. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "cli/service/config.h"

/* Returns when the service has attached. *RET_LINE, owned by the caller, describes the guest.
 * Catches SIGINT while it waits, and then prints on stderr that it waits for the undo. ECANCELED:
 * the undo is complete. EINTR: a second SIGINT arrived; the service continues to undo. */
struct hv_err *service_start(const struct service_config *config, char **ret_line) hv_must_use;

/* The parent's handle of a service. */
struct service_child {
	pid_t pid;
	int report_fd; /* owned; close it when the service has reported */
	struct hv_text in;
};
#define SERVICE_CHILD_NONE ((struct service_child){.pid = -1, .report_fd = -1})
/* Forks the service of a machine that this process runs (CONFIG->machine), and returns immediately.
 * service_hear() receives its reports. The service is a child of this process and ends with the
 * session; its exit status is 0 unless it failed to attach. */
struct hv_err *service_fork(const struct service_config *config,
			    struct service_child *ret) hv_must_use;
/* Call it when report_fd is readable. *RET_LINE, owned by the caller, is a line for the user; NULL:
 * no complete line yet. *RET_ATTACHED: it is the last line. A returned error is the service's, and
 * the service has ended. */
struct hv_err *service_hear(struct service_child *c, char **ret_line,
			    bool *ret_attached) hv_must_use;
/* Stops listening. A service that has not attached undoes its changes. */
void service_child_close(struct service_child *c);
/* Parses the argument of --patch. Returns false if TEXT is invalid. */
bool service_parse_patch(const char *text, bool *ret_shadow);
