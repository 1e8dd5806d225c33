/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a session: by a detach, which is tried again until it succeeds or its time is over, or
 * because the guest or its boot has ended.
 * Leaves to others: who asks for a detach (requests.h, serve.h), noticing that the guest has
 * ended (watch.h). */
#pragma once

#include "cli/service/state.h"

/* Begins a detach. The state is SERVE_DETACHING from now on: there is no tree and no file. PEER
 * asked for the detach and gets an answer at its end; NULL: a signal asked, or the client that
 * owned the session has gone. */
void ending_begin_detach(struct service *s, struct peer *peer);
/* Tries to detach if it is time to. The state becomes SERVE_DONE when the session is detached or
 * must end, and SERVE_RUNS when it could not be detached in time and goes on. */
void ending_try_detach(struct service *s, uint64_t now_ns);

/* Ends the session because of ERR: the state becomes SERVE_DONE. Takes ERR. */
void ending_because(struct service *s, struct hv_err *err);

/* Called after SERVE_DONE. Frees session, kernel and guest, gives the directory back, and then
 * answers the client that asked for the detach. */
void ending_finish(struct service *s);
