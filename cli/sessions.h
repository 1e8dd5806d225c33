/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the sessions of this host and connects to them, for a verb that follows sessions after it
 * gave up its rights. The verb's errand process (errand.h) reads the run directory, whose files
 * root's processes write, and connects to the sockets. client.h sends the requests. */
#pragma once

#include "cli/client.h"
#include "cli/errand.h"

/* Performs a request in the errand process, for the kinds from SESSIONS_LIST on. */
enum { SESSIONS_LIST = ERRAND_OWN, SESSIONS_CONNECT };
struct hv_err *sessions_run(const char *run_dir, const struct hv_message *what,
			    struct hv_message *ret) hv_must_use;

/* Lists the sessions that accept connections, with their ids, names and processes; the rest of the
 * rundir_info is empty. The caller frees the list with rundir_list_free(). */
struct hv_err *sessions_list(struct errand *e, struct rundir_info **ret,
			     size_t *ret_nr) hv_must_use;
/* Connects to the session ID. Any thread. */
struct hv_err *sessions_connect(struct errand *e, const char *id, struct client *ret) hv_must_use;
