/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The monitor of a VMM: QEMU's QMP and its human monitor, reached by a QMP socket or by libvirt.
 * One command at a time, each with an answer. Only a process without rights reads answers
 * (parser.h); others pass them on. Leaves to others: what the answers mean. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"
#include "vmm/unix_socket.h"

struct hv_monitor;

struct hv_monitor_ops {
	void (*free)(void *self);
	/* REQUEST is a JSON object on one line, with members and without an id. *RET is the answer,
	 * with "return" or "error"; the caller frees it. ETIMEDOUT: no answer came in time. An
	 * answer that comes later is dropped; the command may have an effect all the same. */
	struct hv_err *(*transact)(void *self, const char *request, char **ret);
	/* unset: it is not known */
	bool (*is_paused_by_other)(void *self);
};

struct hv_monitor *hv_monitor_new(const struct hv_monitor_ops *ops, void *self);
void hv_monitor_free(struct hv_monitor *m);
/* ops->transact: the answer is not read. */
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

/* Takes ARGS, which may be NULL. *RET is the "return" member, which the caller puts
 * (json_object_put). ENOTSUP: the VMM does not have the command. EIO, with the VMM's own message:
 * any other error of the command. */
struct hv_err *hv_monitor_execute(struct hv_monitor *m, const char *command,
				  struct json_object *args, struct json_object **ret) hv_must_use;
/* Executes a line of the human monitor. *RET is what it prints; the caller frees it. Errors of the
 * line are printed text, too. */
struct hv_err *hv_monitor_hmp(struct hv_monitor *m, const char *line, char **ret) hv_must_use;
/* Likewise, a line about VCPU: its index in query-cpus-fast. */
struct hv_err *hv_monitor_hmp_on(struct hv_monitor *m, unsigned vcpu, const char *line,
				 char **ret) hv_must_use;

/* Whether somebody else than hvtrace has paused the guest, as far as it is known: QEMU's status of
 * a guest that the gdb stub has stopped is "paused", too, without a reason. libvirt knows who has
 * asked it to. */
bool hv_monitor_is_paused_by_other(struct hv_monitor *m);

/* How long a command waits for its answer. Tests change it. */
extern uint64_t hv_qmp_timeout_ns;
/* Connects to a unix socket. EXPECTED and RET_PEER: as of hv_unix_peer(). Not a byte is sent or
 * taken. */
struct hv_err *hv_qmp_connect(const char *path, pid_t expected, int *ret_fd,
			      struct hv_unix_peer *ret_peer) hv_must_use;
/* Takes FD, such a connection, and begins QMP on it. PATH is for messages. */
struct hv_err *hv_qmp_open(int fd, const char *path, struct hv_monitor **ret) hv_must_use;

/* Members of an answer; NULL or FALLBACK when there is none of that type. */
const char *hv_json_string(struct json_object *o, const char *key);
int64_t hv_json_int(struct json_object *o, const char *key, int64_t fallback);
bool hv_json_true(struct json_object *o, const char *key);
/* The number of elements of O; 0 when it is not an array. */
size_t hv_json_len(struct json_object *o);
