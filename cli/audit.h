/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes audit lines to the system's log (syslog(3), authpriv) and to the service's own log. There
 * is one line for each action: its name, then key="value" and key=NUMBER. Values are escaped, so a
 * name cannot end its value, start another one, or start a line. The callers choose which actions
 * to log. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/text.h"

enum audit_target {
	AUDIT_SYSLOG, /* and the service's log */
	AUDIT_LOG_ONLY,
};

/* The user and the process that asked for an action. */
struct audit_actor {
	uid_t uid;
	pid_t pid;
	long login_uid; /* the login user, also after sudo; -1: unknown */
	char user[33];	/* empty: the user has no name */
	char program[16];
};

struct audit {
	enum audit_target target;
	int log_fd;   /* -1: not open */
	char *domain; /* owned */
	char *id;     /* owned */
	/* Set: syslog lines go to this callback. Unset: this process calls syslog(3). */
	void (*forward)(void *ctx, const char *line);
	void *ctx;
};
#define AUDIT_NONE                                                                                 \
	{                                                                                          \
		.log_fd = -1                                                                       \
	}

#define AUDIT_LOG_MAX_BYTES (1u << 20) /* a longer log is truncated to zero */

struct hv_err *audit_open(const char *log_path, enum audit_target target, const char *domain,
			  const char *id, struct audit *ret) hv_must_use;
void audit_close(struct audit *a);

/* This process, as it was at the first call. */
struct audit_actor audit_actor_self(void);
/* The process PID of user UID, which connected or sent a signal. */
struct audit_actor audit_actor_sender(uid_t uid, pid_t pid);

struct audit_entry {
	struct audit *audit; /* borrowed */
	struct hv_text line; /* owned, until audit_end() */
};

/* Begins a line for an action: "attach", "change", "hold", "refusal", "detach" and so on. */
struct audit_entry audit_begin(struct audit *a, const struct audit_actor *who, const char *what);
void audit_text(struct audit_entry *e, const char *key, const char *value);
void audit_number(struct audit_entry *e, const char *key, uint64_t value);
void audit_end(struct audit_entry *e);
/* Writes LINE, which another process of the session sent, to the system's log only, if A's target
 * includes it. Ignores a line that is not about the session, and removes control characters. */
void audit_forwarded(const struct audit *a, const char *line);
/* Empties the log if it exceeds AUDIT_LOG_MAX_BYTES. */
void audit_trim(struct audit *a);

/* Writes to the service's own log only. */
void audit_log(struct audit *a, const char *fmt, ...) hv_printf(2, 3);
