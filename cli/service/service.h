/* Becoming the service of one guest: a process of its own that opens the guest, finds its kernel,
 * attaches, and then serves (serve.h) until it is detached.
 *
 * Starts by fork, before anything of the guest is open, and tells its parent over a pipe how it
 * went: an error comes out of the command that asked, and then nothing is left behind. */
#pragma once

#include "cli/service/config.h"

/* Returns when the service has attached; *RET_LINE (owned by the caller) says to what. */
struct hv_err *service_start(const struct service_config *config, char **ret_line) hv_must_use;

/* The same in this process and thread, for a guest that is open: takes GUEST, attaches, calls
 * READY, and returns when the session has ended, however it did. It takes no signals. */
struct hv_err *service_here(const struct service_config *config, struct hv_guest *guest,
			    void (*ready)(void *ctx, const char *line), void *ctx) hv_must_use;

/* The argument of --patch; false: it is none. */
bool service_parse_patch(const char *text, bool *ret_shadow);
