/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes what was done to a guest, and by whom, to the system's log (syslog(3), authpriv) and to
 * the service's own log, one line for each action: its name, then key="value" and key=NUMBER.
 * Values are escaped, so that no name can end its value, begin another one, or begin a line. Leaves
 * to others: which actions get a line. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/text.h"

enum audit_sink {
	AUDIT_SYSLOG, /* and the service's log */
	AUDIT_LOG_ONLY,
};

/* The user and the process that asked for an action. */
struct audit_actor {
	uid_t uid;
	pid_t pid;
	long login_uid; /* who logged in, before sudo; -1: not known */
	char user[33];	/* the user's name; empty: there is none */
	char program[16];
};

struct audit {
	enum audit_sink sink;
	int log_fd;   /* -1: none yet */
	char *domain; /* owned */
	char *id;     /* owned */
	/* Unset: this process writes to syslog(3) itself. */
	void (*forward)(void *ctx, const char *line);
	void *ctx;
};
#define AUDIT_NONE                                                                                 \
	{                                                                                          \
		.log_fd = -1                                                                       \
	}

#define AUDIT_LOG_MAX_BYTES (1u << 20) /* a log that is longer is emptied */

struct hv_err *audit_open(const char *log_path, enum audit_sink sink, const char *domain,
			  const char *id, struct audit *ret) hv_must_use;
void audit_close(struct audit *a);

/* As this process was when it asked first. */
struct audit_actor audit_actor_self(void);
/* Who connected, or sent a signal. */
struct audit_actor audit_actor_sender(uid_t uid, pid_t pid);

struct audit_entry {
	struct audit *audit; /* borrowed */
	struct hv_text line; /* owned, until audit_end() */
};

/* Begins a line. WHAT is "attach", "change", "hold", "refusal", "detach" and so on. */
struct audit_entry audit_begin(struct audit *a, const struct audit_actor *who, const char *what);
void audit_text(struct audit_entry *e, const char *key, const char *value);
void audit_number(struct audit_entry *e, const char *key, uint64_t value);
/* Writes the line. */
void audit_end(struct audit_entry *e);
/* Writes a line of ours to the system's log, if that is A's sink. */
void audit_syslog(const struct audit *a, const char *line);
/* The same for a line of another process of the session, which is left out if it is not about the
 * session, and loses what could end a line. */
void audit_forwarded(const struct audit *a, const char *line);
/* Empties a log that has become too long. */
void audit_trim(struct audit *a);

/* Writes to the service's own log only. */
void audit_log(struct audit *a, const char *fmt, ...) hv_printf(2, 3);
