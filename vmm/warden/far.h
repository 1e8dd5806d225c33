/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The warden's half of a guest: does for the near side (near.h) what it asks for, if the rules
 * allow it (rules.h). The near side may have been taken over by the guest. Leaves to others:
 * opening the guest, what else the near side asks for. */
#pragma once

#include "vmm/guest.h"
#include "vmm/warden/channel.h"
#include "vmm/warden/rules.h"

struct hv_far;

/* G is borrowed. ADOPTS as for the rules. */
struct hv_far *hv_far_new(struct hv_guest *g, enum hv_adopts adopts);
/* For another near side: ends a hold that the last one has left, and keeps what the rules know. */
void hv_far_renew(struct hv_far *f);
/* Ends a hold that the near side has left. */
void hv_far_free(struct hv_far *f);

/* Makes the header and the journal in the region what the near side wrote there, whatever the guest
 * has written since. No near side may run. */
void hv_far_put_journal_back(const struct hv_far *f);

/* How many questions for writes were against the rules. */
unsigned hv_far_nr_refused(const struct hv_far *f);

/* Answers QUESTION, one of wire.h, at SOCKET. ENOSYS: it is none, and nothing was answered. */
struct hv_err *hv_far_answer(struct hv_far *f, int socket,
			     const struct hv_message *question) hv_must_use;
