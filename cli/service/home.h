/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A service's place in the run directory: its lock, log and socket, while it lives. If somebody
 * removes the directory, the service makes it again; otherwise nobody could reach the session, nor
 * end it.
 * Leaves to others: the files of the directory (rundir.h), clients (clients.h). */
#pragma once

#include "cli/service/state.h"

/* Makes all but the socket. EBUSY: another service has the directory. */
struct hv_err *home_open(struct service *s) hv_must_use;
struct hv_err *home_listen(struct service *s) hv_must_use;
/* Called about once a second: makes again what was removed. What fails is tried at the next
 * call. */
bool home_keep(struct service *s);
/* Says there that this process, PID, recovers, and removes the socket. */
void home_recovers(struct service *s, pid_t pid);
/* Removes the directory, or leaves it with REASON (NULL: none) for those who ask later. */
void home_leave(struct service *s, const char *reason);
