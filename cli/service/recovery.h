/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Undoes the changes that a dead session left in a guest. This parses the guest's data (its kernel,
 * the journal), so an unprivileged child does it. This process performs the privileged operations
 * for the child, as the broker does for a service (vmm/broker/server.h). Callers are the verb
 * recover and the broker of a service that died. */
#pragma once

#include "base/text.h"
#include "vmm/guest.h"

struct btf_files;
struct kept_facts;
struct hv_broker_server;

struct recovery {
	struct hv_text report; /* lines about the changes; the caller frees it */
	bool found;	       /* there were changes */
	struct btf_files *btf; /* borrowed; as in struct unprivileged */
	const struct kept_facts *facts;
};

/* SERVER belongs to the session that died and knows the original bytes. NULL: they are unknown, so
 * the journal is trusted. Retries for some seconds if that may help. The callback, which may be
 * NULL, receives the reason of each wait. */
struct hv_err *recovery_run(struct hv_guest *guest, struct hv_broker_server *server,
			    struct recovery *r, void (*say)(void *ctx, const char *line),
			    void *ctx) hv_must_use;
