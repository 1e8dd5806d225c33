/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects to the agent in a guest, and hears a round of it (agent_round.h): by the host's end of a
 * port of the guest, or by vsock. The guest can say anything, or nothing, or slowly: bytes and time
 * are bounded. Nothing but what is shown depends on it. */
#pragma once

#include "cli/agent_round.h"

#define AGENT_BYTES_MAX	 (16u << 20) /* of which a round must be */
#define AGENT_PATIENCE_S 10

/* Connects to WHERE: the path of a Unix socket, or "vsock:CID:PORT". The caller closes *RET_FD. */
struct hv_err *agent_connect(const char *where, int *ret_fd) hv_must_use;
/* Reads a whole round from FD, which is connected to WHERE. ETIMEDOUT: nobody says one. EPROTO:
 * what is said is none. */
struct hv_err *agent_read(int fd, const char *where, struct agent_round *ret) hv_must_use;
