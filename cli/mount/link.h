/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service's socket in a poll loop: any number of pending requests, each with a callback for its
 * answer. Non-blocking. client.h finds the service, lib/conn.h speaks the protocol, and the caller
 * has the loop. */
#pragma once

#include <stdbool.h>

#include "lib/wire.h"

struct link;

/* ANSWER is WIRE_OK or WIRE_ERROR; its data is valid during the call. */
typedef void (*link_done)(void *arg, const struct wire_frame *answer);

/* Takes FD, a connected socket. */
struct link *link_new(int fd);
/* Discards pending requests. */
void link_free(struct link *l);

int link_fd(const struct link *l);
/* Returns the events to poll(2) for. */
short link_events(const struct link *l);
/* Sends and receives without blocking, and calls the callbacks of answered requests. False: the
 * service has disconnected. */
bool link_step(struct link *l);

/* Returns the request's tag. DONE may be NULL. */
uint32_t link_send(struct link *l, const struct wire_frame *frame, link_done done, void *arg);
