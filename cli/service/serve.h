/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main loop of the service: accepts clients, handles their requests and drops disconnected
 * clients, until the session is detached, the guest ends, or a signal stops the service. service.h
 * starts the service and attaches; peer.h has the connections, requests.h the requests. */
#pragma once

#include "cli/service/state.h"

/* Returns after SERVE_DONE and ending_finish(). */
void serve(struct service *s);

/* Serves a client on the open connection FD, which is non-blocking. Takes FD. */
void clients_adopt(struct service *s, int fd);
