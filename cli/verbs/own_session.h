/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session that a verb needs temporarily: the domain's existing session, or one that the verb
 * starts and that ends with the verb, for any reason. service/service.h implements sessions. */
#pragma once

#include <stdbool.h>

#include "cli/client.h"

struct cli; /* verb.h */

struct own_session {
	struct client client;
	bool attached_here;
};
#define OWN_SESSION_NONE                                                                           \
	{                                                                                          \
		.client = CLIENT_NONE                                                              \
	}

/* Attaches if the domain SPEC has no session, and prints that on standard error. Such a session
 * ends with the connection. */
struct hv_err *own_session_open(const struct cli *cli, const char *spec,
				struct own_session *ret) hv_must_use;
/* Limits the part of a vCPU's time that tracing takes while S is connected. 0: does nothing. */
struct hv_err *own_session_set_budget(struct own_session *s, uint64_t max_overhead_ppm) hv_must_use;
/* Detaches if own_session_open() attached, and prints that on standard error. */
struct hv_err *own_session_end(struct own_session *s) hv_must_use;
void own_session_close(struct own_session *s);
