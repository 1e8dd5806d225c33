/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a session that the parts of the library share, and sessions of hvtrace's own
 * commands. hvtrace/hvtrace.h is the contract. */
#pragma once

#include <stdbool.h>

#include "lib/conn.h"
#include "lib/session_info.h"
#include "lib/task_names.h"

struct hvt_session {
	struct conn *conn;
	char *path;   /* owned; the directory of the socket, for more connections */
	char *domain; /* owned */
	pid_t service_pid;
	pid_t pid;    /* of the process that joined */
	int epoll_fd; /* contains the connections of the registered ops; -1: there can be none */
	unsigned timeout_ms;
	struct hvt_file *files; /* the open ones, borrowed */
	struct hvt_ops *ops;	/* the registered ones, borrowed */
	struct hvt_instance *instances;
	struct hvt_probe *probes;
	struct task_names *names; /* owned, or NULL */
	uint64_t round;		  /* number of the call of hvt_session_dispatch() */
	bool dispatches;	  /* hvt_session_dispatch() runs */
	bool closes;		  /* a callback has closed the session */
};

/* An open file. */
struct hvt_file {
	struct hvt_session *session; /* NULL: the session was closed */
	struct hvt_file *next;
	uint32_t handle;
};

/* Connects to the service of INFO, or adopts the connection FD if it is not -1; takes ownership of
 * FD on success. Messages name the guest by a copy of PEER->domain. The session cannot register
 * ops. */
struct hvt_error *session_join(const struct rundir_info *info, int fd, const struct conn_peer *peer,
			       struct hvt_session **ret) hv_must_use;
/* Opens a file with KIND, WIRE_OPEN or WIRE_OPEN_PROC. */
struct hvt_error *session_open(struct hvt_session *s, enum wire_kind kind, const char *path,
			       int flags, struct hvt_file **ret) hv_must_use;
/* Refuses a missing session, one of the parent process, and one that a callback has closed. */
struct hvt_error *session_check(const struct hvt_session *s) hv_must_use;
/* Returns the error for errno of a call of epoll. */
struct hvt_error *session_epoll_failed(const struct hvt_session *s) hv_must_use;
/* Makes a directory in instances/ that exists as long as connection C. NAME NULL: a unique name.
 * *RET_PATH is owned by the caller. */
struct hvt_error *session_make_instance(struct conn *c, const char *name,
					char **ret_path) hv_must_use;
/* Unregisters ops or forgets an instance without asking the service. */
void ops_abandon(struct hvt_ops *ops);
/* Reads the events of OPS and calls its callbacks, until *NR reaches MAX (0: no limit). Adds the
 * number of delivered events to *NR. */
struct hvt_error *ops_dispatch(struct hvt_ops *ops, size_t max, size_t *nr) hv_must_use;
/* The next registered ops that this round has not dispatched, or NULL. */
struct hvt_ops *ops_next(const struct hvt_session *s);
