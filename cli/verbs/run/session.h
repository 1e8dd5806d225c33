/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session of a machine of `hvtrace run`, as its VMM sees it: the service, which parses what the
 * guest wrote, and its warden, which has root's rights, are other processes. This one does for the
 * warden what it asks of the guest (vmm/warden/far.h).
 * Leaves to others: the machine (vmm/minivm/), the service (cli/service/). */
#pragma once

#include "cli/service/service.h"
#include "vmm/minivm/minivm.h"

struct run_session;

/* Forks the service. To be called while this process has its rights and one thread. CONFIG without
 * machine; borrows O, and what CONFIG points to. */
struct hv_err *run_session_new(struct hv_minivm *o, const struct service_config *config,
			       unsigned from_boot, struct run_session **ret) hv_must_use;
/* Gives up the rights of this process, which has one thread still (vmm/minivm/sandbox.h). */
struct hv_err *run_session_enter_sandbox(struct run_session *s) hv_must_use;
/* This process's connection to the service, as a client. The caller closes it. */
int run_session_take_client(struct run_session *s);
/* Answers what is asked of GUEST until the session is over. READY(CTX, LINE): it has begun; LINE
 * describes it. TELL(LINE): a line for the user. An error before that: it has not begun. After
 * that: the session did not end by a detach or with the machine. */
struct hv_err *run_session_serve(struct run_session *s, struct hv_guest *guest,
				 void (*ready)(void *ctx, const char *line), void *ctx,
				 void (*tell)(const char *line)) hv_must_use;
/* Waits for the processes of the session, which end now. NULL is fine. */
void run_session_free(struct run_session *s);
