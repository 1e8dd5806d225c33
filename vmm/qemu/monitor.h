/* The monitor of a VMM: QEMU's QMP, and its human monitor behind it, whoever carries the bytes (a
 * QMP socket or libvirt). One command at a time, each with an answer. Leaves to others: what the
 * answers mean. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"

struct hv_monitor;

struct hv_monitor_ops {
	void (*free)(void *self);
	/* REQUEST: one JSON object on one line. *RET: the answer, with "return" or "error"; caller
	 * frees. */
	struct hv_err *(*transact)(void *self, const char *request, char **ret);
};

struct hv_monitor *hv_monitor_new(const struct hv_monitor_ops *ops, void *self);
void hv_monitor_free(struct hv_monitor *m);

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

/* ARGS (may be NULL) is taken. *RET is the "return" member; caller puts. ENOTSUP: the VMM does not
 * know the command; EIO with the VMM's own words for any other refusal. */
struct hv_err *hv_monitor_execute(struct hv_monitor *m, const char *command,
				  struct json_object *args, struct json_object **ret) hv_must_use;
/* A line of the human monitor; *RET is what it prints, caller frees. Its failures are text too. */
struct hv_err *hv_monitor_hmp(struct hv_monitor *m, const char *line, char **ret) hv_must_use;

/* QMP on a unix socket. *RET_PEER: the process at the other end, 0 when the kernel does not say. */
struct hv_err *hv_qmp_open(const char *path, struct hv_monitor **ret, pid_t *ret_peer) hv_must_use;

/* Members of an answer, with the type checked. NULL or FALLBACK when there is none. */
const char *hv_json_string(struct json_object *o, const char *key);
int64_t hv_json_int(struct json_object *o, const char *key, int64_t fallback);
bool hv_json_true(struct json_object *o, const char *key);
/* Elements of array O; 0 when it is no array. */
size_t hv_json_len(struct json_object *o);
