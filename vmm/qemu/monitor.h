/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The monitor of a VMM: QEMU's QMP and its human monitor, accessed through a QMP socket or libvirt.
 * One command at a time, each with an answer. Only an unprivileged process parses answers
 * (parser.h); others forward them. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"
#include "vmm/unix_socket.h"

struct hv_monitor;

struct hv_monitor_ops {
	void (*free)(void *self);
	/* REQUEST is a JSON object on one line, with members and without an id. *RET is the answer,
	 * with "return" or "error"; the caller frees it. Fails with ETIMEDOUT if no answer arrived
	 * in time. A later answer is dropped, but the command may still take effect. */
	struct hv_err *(*transact)(void *self, const char *request, char **ret);
	/* unset: unknown */
	bool (*is_paused_by_other)(void *self);
};

struct hv_monitor *hv_monitor_new(const struct hv_monitor_ops *ops, void *self);
void hv_monitor_free(struct hv_monitor *m);
/* Calls ops->transact and does not parse the answer. */
struct hv_err *hv_monitor_transact(struct hv_monitor *m, const char *request,
				   char **ret) hv_must_use;

static inline void hv_monitor_free_at(struct hv_monitor **m)
{
	hv_monitor_free(*m);
}
#define HV_AUTO_MONITOR hv_cleanup(hv_monitor_free_at)

static inline void hv_json_free_at(struct json_object **o)
{
	json_object_put(*o);
}
#define HV_AUTO_JSON hv_cleanup(hv_json_free_at)

/* Takes ARGS, which may be NULL. *RET is the "return" member; release it with json_object_put().
 * Fails with ENOTSUP if the VMM lacks the command, or EIO and the VMM's message on any other error
 * of the command. */
struct hv_err *hv_monitor_execute(struct hv_monitor *m, const char *command,
				  struct json_object *args, struct json_object **ret) hv_must_use;
/* Executes a line of the human monitor. *RET is its output; the caller frees it. Errors of the line
 * are in the output. */
struct hv_err *hv_monitor_hmp(struct hv_monitor *m, const char *line, char **ret) hv_must_use;
/* Like hv_monitor_hmp(), for VCPU, an index in query-cpus-fast. */
struct hv_err *hv_monitor_hmp_on(struct hv_monitor *m, unsigned vcpu, const char *line,
				 char **ret) hv_must_use;

/* Whether a program other than hvtrace has paused the guest, if known: for a guest stopped by the
 * gdb stub, QEMU's status is also "paused", without a reason. libvirt knows who requested a
 * pause. */
bool hv_monitor_is_paused_by_other(struct hv_monitor *m);

/* Timeout of a command, also through libvirt. Tests change it. */
extern uint64_t hv_qmp_timeout_ns;
/* Connects to a unix socket. EXPECTED and RET_PEER as for hv_unix_peer(). Sends and receives
 * nothing. */
struct hv_err *hv_qmp_connect(const char *path, pid_t expected, int *ret_fd,
			      struct hv_unix_peer *ret_peer) hv_must_use;
/* Takes FD, such a connection, and starts QMP on it. PATH is for messages. */
struct hv_err *hv_qmp_open(int fd, const char *path, struct hv_monitor **ret) hv_must_use;

/* Members of an answer; NULL or FALLBACK if there is no such member of that type. */
const char *hv_json_string(struct json_object *o, const char *key);
int64_t hv_json_int(struct json_object *o, const char *key, int64_t fallback);
bool hv_json_true(struct json_object *o, const char *key);
/* Returns the number of elements of O, or 0 if it is not an array. */
size_t hv_json_len(struct json_object *o);
