/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session of a machine of `hvtrace run`, from the VMM's side. The service, which parses the
 * guest's data, and its broker, which has root's rights, are separate processes. This process
 * answers the broker's requests about the guest (vmm/broker/server.h). vmm/minivm/ is the machine,
 * cli/service/ the service. */
#pragma once

#include "cli/service/service.h"
#include "vmm/minivm/minivm.h"

struct run_session;

/* Forks the service. Call it while this process has its rights and one thread. CONFIG must have no
 * machine. Borrows O and the objects that CONFIG points to. */
struct hv_err *run_session_new(struct hv_minivm *o, const struct service_config *config,
			       unsigned from_boot, struct run_session **ret) hv_must_use;
/* Gives up the rights of this process, which must still have one thread (vmm/minivm/minivm.h). */
struct hv_err *run_session_enter_sandbox(struct run_session *s) hv_must_use;
/* Returns this process's connection to the service, as a client. The caller closes it. */
int run_session_take_client(struct run_session *s);
/* Answers requests about GUEST until the session ends. Calls READY(CTX, LINE) when it has begun,
 * with a line that describes it, and the last callback for lines to the user. An error before
 * READY: the session did not begin. An error afterwards: it ended neither by a detach nor with the
 * machine. */
struct hv_err *run_session_serve(struct run_session *s, struct hv_guest *guest,
				 void (*ready)(void *ctx, const char *line), void *ctx,
				 void (*tell)(const char *line)) hv_must_use;
/* Waits for the ending processes of the session. S may be NULL. */
void run_session_free(struct run_session *s);
