/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service's socket in a poll loop: any number of requests on their way at a time, each with
 * what is to be called when its answer is there. Not blocking. Leaves to others: finding the
 * service (client.h), the loop. */
#pragma once

#include "cli/wire.h"

struct link;

/* ANSWER is WIRE_OK or WIRE_ERROR; its data is good during the call. */
typedef void (*link_done)(void *arg, const struct wire_frame *answer);

/* Takes FD, a connected socket. */
struct link *link_new(int fd);
/* What is on its way is forgotten. */
void link_free(struct link *l);

int link_fd(const struct link *l);
/* What poll(2) shall wait for. */
short link_events(const struct link *l);
/* Sends and receives what it can, calls what is done. False: the service has gone. */
bool link_step(struct link *l);

/* Returns the tag it was given. DONE may be NULL. */
uint32_t link_send(struct link *l, const struct wire_frame *frame, link_done done, void *arg);
