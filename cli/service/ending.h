/* How a session ends: by a detach, which is tried again and again, or because the guest or its boot
 * has ended.
 * Leaves to others: who asks for it (requests.h, clients.h), what says that the guest has ended
 * (watch.h). */
#pragma once

#include "cli/service/state.h"

/* SERVE_DETACHING from here on: no tree, no files. PEER asked for it and is answered in the end;
 * NULL: a signal, or an owner that went. */
void ending_begin_detach(struct service *s, struct peer *peer);
/* Tries to detach, if it is time to. SERVE_DONE: it is detached, or must end. SERVE_RUNS: it could
 * not be detached in time and goes on. */
void ending_try_detach(struct service *s, uint64_t now_ns);

/* SERVE_DONE, because of ERR, which is taken. */
void ending_because(struct service *s, struct hv_err *err);

/* After SERVE_DONE: frees session, kernel and guest, gives the directory back, and only then tells
 * who asked for the detach. */
void ending_finish(struct service *s);
