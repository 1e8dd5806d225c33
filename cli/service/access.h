/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may do what with a session: the rights that hvtrace.conf(5) gives each client, the requests
 * that need more than reading, and the socket, which those whom a rule names can reach. Root may do
 * everything, and nobody else anything without a rule. Leaves to others: what the rules say
 * (policy.h), which rights a file or a command needs (tree/settings/rights.h), doing requests
 * (requests.h). */
#pragma once

#include <sys/stat.h>

#include "cli/service/policy.h"

struct peer;
struct service;
struct wire_frame;

#define ACCESS_PEERS_OF_USER 8	/* connections of one user who is not root */
#define ACCESS_PEERS	     32 /* of all who are not root */
#define ACCESS_FILES	     64 /* open files, and requests that wait, on such a connection */

struct access {
	const char *path;      /* borrowed; of hvtrace.conf */
	struct policy *policy; /* owned; NULL: none could be read, so only root may */
	uint64_t number;       /* of POLICY: how many were read */
	struct stat seen;      /* the file that was read */
	bool was_read;
	bool is_fresh;	      /* it changed so recently that another change might look the same */
	uint64_t refusals_ns; /* when the second began in which refusals are counted */
	unsigned nr_refusals; /* in this second */
	unsigned nr_not_audited; /* refusals without a line of their own */
};

void access_deinit(struct access *a);

/* Reads the policy again if its file has changed, and makes the socket reachable for those whom it
 * names. It needs root's rights (doors.h). */
void access_look(struct service *s);

/* The same, and drops clients whose rights changed. Called about once a second, and cheap. */
void access_refresh(struct service *s);

/* Decides whether PEER, which has just connected, may stay, and sets its rights. A refusal is
 * audited. */
bool access_admits(struct service *s, struct peer *p);

/* EACCES: PEER may not do this request; the message says what is missing. A refusal is audited. */
struct hv_err *access_check(struct service *s, struct peer *p,
			    const struct wire_frame *frame) hv_must_use;

/* PEER's request FRAME has come back with ERR, which may be NULL. Audits it if the tree refused it
 * for want of a right. */
void access_refused(struct service *s, struct peer *p, const struct wire_frame *frame,
		    const struct hv_err *err);
