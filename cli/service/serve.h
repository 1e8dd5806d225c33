/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of the service: accepts clients, handles their requests and drops those that have gone,
 * until the session is detached, the guest ends, or a signal asks the service to end.
 * Leaves to others: becoming a service and attaching (service.h), one connection (peer.h), one
 * request (requests.h). */
#pragma once

#include "cli/service/state.h"

/* Returns after SERVE_DONE and ending_finish(). */
void serve(struct service *s);

/* Serves the client of a connection that is there. Takes FD, which does not block. */
void clients_adopt(struct service *s, int fd);
