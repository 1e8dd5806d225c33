/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes what was done to a guest, and by whom, to the system's log (authpriv) and to the service's
 * own log, one line for each action. Leaves to others: which actions get a line. */
#pragma once

#include <sys/socket.h>

#include "base/err.h"

enum audit_sink {
	AUDIT_SYSLOG, /* and the service's log */
	AUDIT_LOG_ONLY,
};

/* The user and the process that asked for an action. */
struct audit_actor {
	uid_t uid;
	pid_t pid;
	long login_uid; /* who logged in, before sudo; -1: not known */
};

struct audit {
	enum audit_sink sink;
	int log_fd;   /* -1: none yet */
	char *domain; /* owned */
	char *id;     /* owned */
};
#define AUDIT_NONE                                                                                 \
	{                                                                                          \
		.log_fd = -1                                                                       \
	}

#define AUDIT_LOG_MAX_BYTES (1u << 20) /* a log that is longer is emptied */

struct hv_err *audit_open(const char *log_path, enum audit_sink sink, const char *domain,
			  const char *id, struct audit *ret) hv_must_use;
void audit_close(struct audit *a);

struct audit_actor audit_actor_self(void);
struct audit_actor audit_actor_peer(const struct ucred *cred);

/* WHAT is "attach", "change", "detach" and so on; FMT gives the rest of the line. */
void audit_line(struct audit *a, const struct audit_actor *who, const char *what, const char *fmt,
		...) hv_printf(4, 5);
/* Writes to the service's own log only. */
void audit_log(struct audit *a, const char *fmt, ...) hv_printf(2, 3);
