/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of pids: the contents of set_ftrace_pid or set_ftrace_notrace_pid (trace_pid_write).
 * instance/trace.h applies it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* The kernel's lists accept only pids below this limit (kernel/trace/pid_list.h). */
#define HV_PIDLIST_PID_MAX (1u << 30)

struct hv_pidlist {
	uint32_t *pids; /* owned, ascending, without duplicates */
	size_t nr;
	bool is_spent; /* all its tasks have exited: empty means none, not all */
};

void hv_pidlist_deinit(struct hv_pidlist *l);
bool hv_pidlist_has(const struct hv_pidlist *l, uint32_t pid);

/* Returns whether L selects tasks, as opposed to all tasks. */
static inline bool hv_pidlist_limits(const struct hv_pidlist *l)
{
	return l->nr || l->is_spent;
}

/* Add and remove tasks that start and exit (trace_filter_add_remove_task). An invalid pid, or one
 * that exceeds HV_PIDLIST_FOLLOWED_MAX pids, is not added. */
#define HV_PIDLIST_FOLLOWED_MAX 65536
void hv_pidlist_insert(struct hv_pidlist *l, uint32_t pid);
void hv_pidlist_remove(struct hv_pidlist *l, uint32_t pid);

/* Makes a list of the pids in OLD and in BUF. *RET_USED is the return value of write(2). EINVAL:
 * BUF contains something other than numbers. EPERM, as in the kernel: a number is not a valid
 * pid. */
struct hv_err *hv_pidlist_add(const struct hv_pidlist *old, const char *buf, size_t len_bytes,
			      struct hv_pidlist *ret, size_t *ret_used) hv_must_use;
/* Adds the pids, one per line, or "no pid". */
void hv_pidlist_text(const struct hv_pidlist *l, struct hv_text *ret);
