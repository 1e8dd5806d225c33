/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the service needs of the host beside the guest: its place in the run directory, the rules of
 * who may use it, the system's log, names of users and processes. The service, which has no rights,
 * asks its warden for it (warden.h).
 * A door that fails where nothing can be done about it is logged, and the service goes on. */
#pragma once

#include "cli/audit.h"
#include "cli/service/state.h"

/* What the service asks; kinds of messages beside those of vmm/warden/wire.h. */
enum door {
	DOOR_FIRST = 256,
	DOOR_HOME = DOOR_FIRST, /* -> has_left; path of the directory; the log */
	DOOR_LISTEN,		/* -> the socket */
	DOOR_KEEP,		/* -> the log and the socket, if they were made again */
	DOOR_POLICY,	/* number of the one that the service has -> number; the rules, if others */
	DOOR_ACTOR,	/* uid, pid -> struct audit_actor */
	DOOR_SYSLOG,	/* a line */
	DOOR_DUMP,	/* -> the file */
	DOOR_UMOUNT,	/* a path */
	DOOR_PROCESSES, /* -> JSON */
	DOOR_LEAVE,	/* has_left, whether there is a reason; the reason */
	DOOR_END,	/* of the enum */
};

/* The session's place in the run directory (warden.h): makes it, listens there, makes it again. */
struct hv_err *doors_home(struct service *s) hv_must_use;
struct hv_err *doors_listen(struct service *s) hv_must_use;
void doors_keep_home(struct service *s);
/* Removes the session's directory, or leaves it with the REASON why the session ended (NULL: none)
 * for those who ask later. */
void doors_leave_home(struct service *s, const char *reason);

/* Brings s->access up to date with the file of rules. */
void doors_read_policy(struct service *s);
struct audit_actor doors_actor(struct service *s, uid_t uid, pid_t pid);
/* Returns a file that is open for appending; the caller closes it. -1: errno says why. */
int doors_open_dump(struct service *s);
/* Unmounts a mount of hvtrace, lazily. */
void doors_umount(struct service *s, const char *dir);
/* The processes of the session and their rights. */
struct json_object *doors_processes(struct service *s);
