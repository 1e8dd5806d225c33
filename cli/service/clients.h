/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clients that are connected to a service: accepts them, handles their requests, drops those
 * that have gone.
 * Leaves to others: one connection (peer.h), one request (requests.h). */
#pragma once

#include "cli/service/state.h"

/* Accepts a connection, if access.h admits it. Above the limit, too: the client may want to detach.
 */
void clients_accept(struct service *s);
/* Serves the client of a connection that is there. Takes FD, which does not block. */
void clients_adopt(struct service *s, int fd);
/* EVENTS: what poll(2) returned for PEER. Handles at most one request. */
void clients_serve(struct service *s, struct peer *p, short events);
/* Drops the clients that have gone, with their files and mounts. */
void clients_drop_gone(struct service *s);

/* Returns whether a request was received and is not handled yet. */
bool clients_have_request(const struct service *s);
/* Returns whether a request waits for data; clients_retry() tries it again. */
bool clients_wait(const struct service *s);
void clients_retry(struct service *s, uint64_t now_ns);
