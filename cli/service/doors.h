/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service's requests to the host that do not concern the guest (doors): its place in the run
 * directory, the access rules, the system's log, names of users and processes. The service has no
 * rights, so it sends them to its warden (warden.h). If a request fails, the service continues;
 * most functions log the error. */
#pragma once

#include "cli/audit.h"
#include "cli/service/state.h"

/* Kinds of messages, in addition to those in vmm/warden/wire.h. */
enum door {
	DOOR_FIRST = 256,
	DOOR_HOME = DOOR_FIRST, /* -> has_left; path of the directory; the log */
	DOOR_LISTEN,		/* -> the socket */
	DOOR_KEEP,		/* -> the log and the socket, if they were created again */
	DOOR_POLICY, /* number of the service's policy -> current number; the rules, if it changed
		      */
	DOOR_ACTOR,  /* uid, pid -> struct audit_actor */
	DOOR_SYSLOG, /* a line */
	DOOR_DUMP,   /* -> the file */
	DOOR_UMOUNT, /* a path */
	DOOR_PROCESSES, /* -> JSON */
	DOOR_BTF,	/* the kernel's release -> whether it is proved, the path; the copy
			   (btf_files.h) */
	DOOR_LEAVE,	/* has_left, whether there is a reason; the reason */
	DOOR_END,
};

/* The session's place in the run directory (warden.h): create it, listen there, create it again if
 * it was removed. */
struct hv_err *doors_home(struct service *s) hv_must_use;
struct hv_err *doors_listen(struct service *s) hv_must_use;
void doors_keep_home(struct service *s);
/* Removes the session's directory or, if REASON is not NULL, keeps it and stores REASON, why the
 * session ended, for later clients. */
void doors_leave_home(struct service *s, const char *reason);

/* For hv_btf_files.open; S is a struct service. */
struct hv_err *doors_open_btf(void *s, const char *release, struct hv_btf_given *ret) hv_must_use;

/* Updates s->access from the file of rules. */
void doors_read_policy(struct service *s);
struct audit_actor doors_actor(struct service *s, uid_t uid, pid_t pid);
/* Returns a file that is open for appending; the caller closes it. -1 with errno on failure. */
int doors_open_dump(struct service *s);
/* Unmounts a mount of hvtrace lazily. */
void doors_umount(struct service *s, const char *dir);
struct json_object *doors_processes(struct service *s);
