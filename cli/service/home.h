/* A service's place in the run directory: its lock, log and socket, for as long as it lives. Should
 * somebody remove it, it is made anew: a session that nobody can reach is one that nobody can end.
 * Leaves to others: the directory's files (rundir.h), who connects (clients.h). */
#pragma once

#include "cli/service/state.h"

/* All but the socket. EBUSY: another service has it. */
struct hv_err *home_open(struct service *s) hv_must_use;
struct hv_err *home_listen(struct service *s) hv_must_use;
/* Now and then. What cannot be made anew now is tried the next time. */
void home_keep(struct service *s);
