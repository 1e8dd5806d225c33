/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service's requests to the host that do not concern the guest (host requests): its files in
 * the run directory, the access rules, the system's log, names of users and processes. The service
 * has no rights, so it sends them to its broker (broker.h). If a request fails, the service
 * continues; most functions log the error. */
#pragma once

#include "cli/audit.h"
#include "cli/service/state.h"

/* Kinds of messages, in addition to those in vmm/broker/wire.h. */
enum host_request {
	HOST_REQUEST_FIRST = 256,
	HOST_OPEN_RUNDIR = HOST_REQUEST_FIRST, /* -> has_left; path of the directory; the log */
	HOST_LISTEN,			       /* -> the socket */
	HOST_KEEP_RUNDIR, /* -> the log and the socket, if they were created again */
	HOST_POLICY, /* number of the service's policy -> current number; the rules, if it changed
		      */
	HOST_ACTOR,  /* uid, pid -> struct audit_actor */
	HOST_SYSLOG, /* a line */
	HOST_DUMP,   /* -> the file */
	HOST_UMOUNT, /* a path */
	HOST_PROCESSES,	   /* -> JSON */
	HOST_BTF,	   /* the kernel's release -> whether it is proved, the path; the copy
			      (btf_files.h) */
	HOST_FACTS,	   /* the facts that were derived (kept_facts.h) */
	HOST_LEAVE_RUNDIR, /* has_left, whether there is a reason; the reason */
	HOST_REQUEST_END,
};

/* The session's directory in the run directory (broker.h): create it, listen there, create it again
 * if it was removed. */
struct hv_err *host_open_rundir(struct service *s) hv_must_use;
struct hv_err *host_listen(struct service *s) hv_must_use;
void host_keep_rundir(struct service *s);
/* Removes the session's directory or, if REASON is not NULL, keeps it and stores REASON, why the
 * session ended, for later clients. */
void host_leave_rundir(struct service *s, const char *reason);

/* For hv_btf_files.open; S is a struct service. */
struct hv_err *host_open_btf(void *s, const char *release, struct hv_btf_given *ret) hv_must_use;

/* For hv_btf_files.keep_facts. */
struct hv_err *host_keep_facts(void *s, struct hv_span facts) hv_must_use;

/* Updates s->access from the file of rules. */
void host_read_policy(struct service *s);
struct audit_actor host_actor(struct service *s, uid_t uid, pid_t pid);
/* Returns a file that is open for appending; the caller closes it. -1 with errno on failure. */
int host_open_dump(struct service *s);
/* Unmounts a mount of hvtrace lazily. */
void host_umount(struct service *s, const char *dir);
struct json_object *host_processes(struct service *s);
