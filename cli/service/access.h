/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access control for a session. Decides which rights hvtrace.conf(5) gives each client, checks
 * requests that need more than read access, and opens the socket to the users whom a rule names.
 * Root may do everything; all others need a rule.
 *
 * policy.h parses the rules, tree/settings/rights.h decides which right a file or command needs,
 * and requests.h performs requests. */
#pragma once

#include <sys/stat.h>

#include "cli/service/policy.h"

struct peer;
struct service;
struct wire_frame;

#define ACCESS_PEERS_OF_USER 8	/* connections of one user who is not root */
#define ACCESS_PEERS	     32 /* connections of all users except root */
#define ACCESS_FILES	     64 /* open files, and waiting requests, of such a connection */

struct access {
	const char *path;      /* borrowed; path of hvtrace.conf */
	struct policy *policy; /* owned; NULL: no readable policy, so only root has access */
	uint64_t number;       /* counts policies that were read */
	struct stat seen;      /* the file that was read */
	bool was_read;
	bool is_fresh; /* the file changed so recently that another change might have the same time
			  stamp */
	uint64_t refusals_ns; /* start of the current second of refusals */
	unsigned nr_refusals;
	unsigned nr_not_audited; /* refusals without an audit line */
};

void access_deinit(struct access *a);

/* Rereads the policy if its file has changed, and opens the socket to the users whom it names.
 * Needs root's rights (host_client.h). */
void access_look(struct service *s);

/* Like access_look(), but also drops clients whose rights changed. Cheap; called about once a
 * second. */
void access_refresh(struct service *s);

/* Decides whether PEER, which has just connected, may stay, and sets its rights. Audits a
 * refusal. */
bool access_admits(struct service *s, struct peer *p);

/* EACCES: PEER may not make this request; the message names the missing right. Audits a refusal. */
struct hv_err *access_check(struct service *s, struct peer *p,
			    const struct wire_frame *frame) hv_must_use;

/* Call it after PEER's request FRAME with its result ERR, or NULL for success. Audits a refusal by
 * the tree for lack of a right. */
void access_refused(struct service *s, struct peer *p, const struct wire_frame *frame,
		    const struct hv_err *err);
