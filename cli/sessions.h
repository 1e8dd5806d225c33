/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sessions of this host, and connections to them, for a verb that follows them as they come and
 * go and has given up its rights: its errands (errand.h) read the run directory, which root's
 * processes wrote, and connect to a session's socket.
 * Leaves to others: what is asked of a session (client.h). */
#pragma once

#include "cli/client.h"
#include "cli/errand.h"

/* In the process of the errands, for the kinds from SESSIONS_LIST on: does WHAT. */
enum { SESSIONS_LIST = ERRAND_OWN, SESSIONS_CONNECT };
struct hv_err *sessions_run(const char *run_dir, const struct hv_message *what,
			    struct hv_message *ret) hv_must_use;

/* Lists the sessions that can be asked, with their ids, names and processes; the rest of the
 * rundir_info is empty. The caller frees the list by rundir_list_free(). */
struct hv_err *sessions_list(struct errand *e, struct rundir_info **ret,
			     size_t *ret_nr) hv_must_use;
/* Connects to the session ID. Any thread. */
struct hv_err *sessions_connect(struct errand *e, const char *id, struct client *ret) hv_must_use;
