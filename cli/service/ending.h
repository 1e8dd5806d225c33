/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends a session: after a detach, which is retried until it succeeds or times out, or because the
 * guest or its boot has ended. requests.h and serve.h request a detach; watch.h notices the end of
 * the guest. */
#pragma once

#include "cli/service/state.h"

/* Begins a detach: discards the clients' open files, frees the tree, and sets the state to
 * SERVE_DETACHING. PEER requested the detach and receives an answer at the end. NULL: a signal
 * requested it, or the client that owned the session disconnected. */
void ending_begin_detach(struct service *s, struct peer *peer);
/* Retries the detach if it is due. Sets the state to SERVE_DONE when the session is detached or
 * must end, and to SERVE_RUNS if the detach timed out and the session continues. */
void ending_try_detach(struct service *s, uint64_t now_ns);

/* Ends the session because of ERR: sets the state to SERVE_DONE. Takes ERR. */
void ending_because(struct service *s, struct hv_err *err);

/* Call it after SERVE_DONE. Frees session, kernel and guest, gives up the run directory, and then
 * answers the client that requested the detach. */
void ending_finish(struct service *s);
