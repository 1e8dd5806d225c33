/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker's half of a guest: executes the requests of the client (client.h) if the rules allow
 * them (rules.h). The guest may have taken over the client. The caller opens the guest and handles
 * other requests. */
#pragma once

#include "vmm/guest.h"
#include "vmm/broker/channel.h"
#include "vmm/broker/rules.h"

struct hv_broker_server;

/* G is borrowed. ADOPTS as in rules.h. */
struct hv_broker_server *hv_broker_server_new(struct hv_guest *g, enum hv_adopts adopts);
/* Prepares for another client: ends a hold that the last one did not end, and keeps the state of
 * the rules. */
void hv_broker_server_renew(struct hv_broker_server *s);
/* Also ends a hold that the client did not end. */
void hv_broker_server_free(struct hv_broker_server *s);

/* Restores the header and the journal in the region as the client wrote them, discarding later
 * changes by the guest. No client may be running. */
void hv_broker_server_put_journal_back(const struct hv_broker_server *s);

/* Returns the number of write requests that the rules rejected. */
unsigned hv_broker_server_nr_refused(const struct hv_broker_server *s);

/* Handles QUESTION, a request of wire.h, and sends the answer on SOCKET. Fails with ENOSYS if the
 * request is unknown; then it sends no answer. */
struct hv_err *hv_broker_server_answer(struct hv_broker_server *s, int socket,
				       const struct hv_message *question) hv_must_use;
