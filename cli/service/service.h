/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a process the service of one guest: it opens the guest, finds its kernel, attaches, and
 * then serves clients (serve.h) until it is detached.
 *
 * The process is forked before anything of the guest is open. It reports to its parent over a
 * socket: an error is shown by the command that asked, and then nothing is left in the guest. When
 * the parent dies or closes its side before that, the service undoes what it has begun. */
#pragma once

#include "cli/service/config.h"

/* Returns when the service has attached. *RET_LINE, owned by the caller, describes the guest.
 * Catches SIGINT meanwhile, and then says on stderr that it waits until everything is undone.
 * ECANCELED: that is done. EINTR: a second SIGINT came, and the service goes on undoing. */
struct hv_err *service_start(const struct service_config *config, char **ret_line) hv_must_use;

/* Does the same in this process and thread, for a guest that is open: attaches, calls READY, and
 * returns when the session has ended for any reason. Takes GUEST. Does not listen to signals. */
struct hv_err *service_here(const struct service_config *config, struct hv_guest *guest,
			    void (*ready)(void *ctx, const char *line), void *ctx) hv_must_use;

/* Reads the argument of --patch. False: TEXT is not one. */
bool service_parse_patch(const char *text, bool *ret_shadow);
