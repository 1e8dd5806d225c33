/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs work that parses a guest's data in an unprivileged child (vmm/broker/sandbox.h). The child
 * accesses the guest only through requests (client.h) that this process answers (server.h); it has
 * no file and no terminal. It returns results as messages, which are untrusted because the guest
 * may control them. */
#pragma once

#include "vmm/guest.h"
#include "vmm/broker/channel.h"
#include "vmm/broker/rules.h"

#define UNPRIVILEGED_FIRST 512 /* first kind of the child's messages */

struct btf_files;
struct kept_facts;
struct hv_btf_given;
struct hv_broker_server;

struct unprivileged {
	const char *comm;      /* process name of the child */
	enum hv_adopts adopts; /* as for hv_broker_server_new() */
	/* Runs in the child. Sends messages to SOCKET; does not wait for an answer to the last
	 * one. */
	void (*work)(struct hv_guest *guest, int socket, void *ctx);
	/* Runs in this process for each message. Returns whether it was the last. */
	bool (*heard)(const struct hv_message *m, void *ctx);
	void *ctx;
	struct btf_files *btf;		/* borrowed; for unprivileged_open_btf() */
	const struct kept_facts *facts; /* borrowed; for unprivileged_kept_facts(); or NULL */
};

/* SERVER belongs to the guest; NULL: creates one. ECHILD: the child died or timed out. */
struct hv_err *unprivileged_run(struct hv_guest *guest, struct hv_broker_server *server,
				const struct unprivileged *d) hv_must_use;

/* For hv_btf_files.open in the child: requests the file from the parent (btf_files.h). SOCKET
 * points to the argument of work(). */
struct hv_err *unprivileged_open_btf(void *socket, const char *release,
				     struct hv_btf_given *ret) hv_must_use;
/* For hv_btf_files.kept_facts in the child. */
struct hv_err *unprivileged_kept_facts(void *socket, uint8_t **ret,
				       size_t *ret_len_bytes) hv_must_use;
