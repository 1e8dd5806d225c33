/* Who is connected to a service: they come, ask, wait and go.
 * Leaves to others: one connection (peer.h), one request (requests.h). */
#pragma once

#include "cli/service/state.h"

/* Takes a connection, always: somebody may want to detach. */
void clients_accept(struct service *s);
/* EVENTS: what poll(2) says of PEER. Does at most one request. */
void clients_serve(struct service *s, struct peer *p, short events);
/* Forgets those that have gone, and what was theirs. */
void clients_drop_gone(struct service *s);

/* There is a request that was received and not done. */
bool clients_have_request(const struct service *s);
/* Somebody waits for something to come; clients_retry() looks. */
bool clients_wait(const struct service *s);
void clients_retry(struct service *s, uint64_t now_ns);
