/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a process the service of one guest: it opens the guest, finds its kernel, attaches, and
 * then serves clients (serve.h) until it is detached.
 *
 * The process is forked before anything of the guest is open. It reports to its parent over a
 * socket: an error is shown by the command that asked, and then nothing is left in the guest. When
 * the parent dies or closes its side before that, the service undoes what it has begun. */
#pragma once

#include "cli/service/config.h"
#include "cli/service/report.h"

/* Returns when the service has attached. *RET_LINE, owned by the caller, describes the guest.
 * Catches SIGINT meanwhile, and then says on stderr that it waits until everything is undone.
 * ECANCELED: that is done. EINTR: a second SIGINT came, and the service goes on undoing. */
struct hv_err *service_start(const struct service_config *config, char **ret_line) hv_must_use;

/* Forks the service of a machine of our own, which this process runs (CONFIG->machine), and returns
 * at once. What it reports, service_hear() takes (report.h). The child is this process's; it ends
 * when the session has ended, and its exit status is 0 unless it did not attach. */
struct hv_err *service_fork(const struct service_config *config,
			    struct service_child *ret) hv_must_use;
/* Reads the argument of --patch. False: TEXT is not one. */
bool service_parse_patch(const char *text, bool *ret_shadow);
