/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The warden's half of a guest: executes the requests of the near side (near.h) if the rules allow
 * them (rules.h). The near side may have been taken over by the guest. The caller opens the guest
 * and handles other requests. */
#pragma once

#include "vmm/guest.h"
#include "vmm/warden/channel.h"
#include "vmm/warden/rules.h"

struct hv_far;

/* G is borrowed. ADOPTS as in rules.h. */
struct hv_far *hv_far_new(struct hv_guest *g, enum hv_adopts adopts);
/* Prepares for another near side: ends a hold that the last one did not end, and keeps the state of
 * the rules. */
void hv_far_renew(struct hv_far *f);
/* Also ends a hold that the near side did not end. */
void hv_far_free(struct hv_far *f);

/* Restores the header and the journal in the region as the near side wrote them, discarding later
 * changes by the guest. No near side may be running. */
void hv_far_put_journal_back(const struct hv_far *f);

/* Returns the number of write requests that the rules rejected. */
unsigned hv_far_nr_refused(const struct hv_far *f);

/* Handles QUESTION, a request of wire.h, and sends the answer on SOCKET. Fails with ENOSYS if the
 * request is unknown; then it sends no answer. */
struct hv_err *hv_far_answer(struct hv_far *f, int socket,
			     const struct hv_message *question) hv_must_use;
