/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent in a guest says of its processes (docs/agent.md), read from the host's end of the
 * guest's port. The guest can say anything, or nothing: lines, tasks, bytes and time are bounded,
 * and names have no control characters. Nothing but what is shown depends on it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AGENT_TASKS_MAX	 65536
#define AGENT_NAME_MAX	 512 /* of a cgroup; what is longer is cut */
#define AGENT_LINE_MAX	 8192
#define AGENT_BYTES_MAX	 (16u << 20) /* of which a round must be */
#define AGENT_PATIENCE_S 10

struct agent_task {
	uint32_t pid;
	char *cgroup; /* owned */
};

/* Zero-initialised is empty. */
struct agent_round {
	struct agent_task *tasks; /* owned, in the order of their cgroups */
	size_t nr;
};

/* Connects to the Unix socket PATH. The caller closes *RET_FD. */
struct hv_err *agent_connect(const char *path, int *ret_fd) hv_must_use;
/* Reads a whole round from FD, which is connected to PATH. ETIMEDOUT: nobody says one. EPROTO: what
 * is said is none. */
struct hv_err *agent_read(int fd, const char *path, struct agent_round *ret) hv_must_use;
void agent_round_deinit(struct agent_round *r);
