/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of pids: the contents of set_ftrace_pid or set_ftrace_notrace_pid (trace_pid_write).
 * Leaves to others: when it takes effect (instance/trace.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* The kernel's own lists take only pids below this (kernel/trace/pid_list.h). */
#define HV_PIDLIST_PID_MAX (1u << 30)

struct hv_pidlist {
	uint32_t *pids; /* owned, ascending, without duplicates */
	size_t nr;
	bool is_spent; /* tasks were in it, and have left it: it means no task, not all */
};

void hv_pidlist_deinit(struct hv_pidlist *l);
bool hv_pidlist_has(const struct hv_pidlist *l, uint32_t pid);

/* Whether L chooses tasks: not all are meant. */
static inline bool hv_pidlist_limits(const struct hv_pidlist *l)
{
	return l->nr || l->is_spent;
}

/* Tasks that come and go (trace_filter_add_remove_task). A pid that no task has, and one more than
 * HV_PIDLIST_FOLLOWED_MAX, is not added. */
#define HV_PIDLIST_FOLLOWED_MAX 65536
void hv_pidlist_insert(struct hv_pidlist *l, uint32_t pid);
void hv_pidlist_remove(struct hv_pidlist *l, uint32_t pid);

/* Makes a new list of the pids of OLD and those in BUF. *RET_USED is what write(2) returns. EINVAL:
 * BUF contains something that is not a number. EPERM, as in the kernel: it contains a number that
 * no pid has. */
struct hv_err *hv_pidlist_add(const struct hv_pidlist *old, const char *buf, size_t len_bytes,
			      struct hv_pidlist *ret, size_t *ret_used) hv_must_use;
/* Adds the pids, one a line, or "no pid". */
void hv_pidlist_text(const struct hv_pidlist *l, struct hv_text *ret);
