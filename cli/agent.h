/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects to the agent in a guest through the host end of a guest port or through vsock, and reads
 * one report (agent_round.h). The guest is untrusted: the size and the duration of a report are
 * bounded. Use the report only for display. */
#pragma once

#include "cli/agent_round.h"

#define AGENT_BYTES_MAX	 (16u << 20) /* limit for one report */
#define AGENT_PATIENCE_S 10

/* Connects to WHERE: the path of a Unix socket, or "vsock:CID:PORT". The caller closes *RET_FD. */
struct hv_err *agent_connect(const char *where, int *ret_fd) hv_must_use;
/* Reads a complete report from FD, which is connected to WHERE. ETIMEDOUT: no complete report
 * arrived in time. EPROTO: the peer is not a compatible agent. */
struct hv_err *agent_read(int fd, const char *where, struct agent_round *ret) hv_must_use;
