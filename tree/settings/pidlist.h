/* A set of pids: what set_ftrace_pid holds (trace_pid_write).
 * Leaves to others: when it takes effect. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* The kernel's own lists hold pids below this (kernel/trace/pid_list.h). */
#define HV_PIDLIST_PID_MAX (1u << 30)

struct hv_pidlist {
	uint32_t *pids; /* owned, ascending, no two alike */
	size_t nr;
};

void hv_pidlist_deinit(struct hv_pidlist *l);
bool hv_pidlist_has(const struct hv_pidlist *l, uint32_t pid);

/* RET: a new list, of the pids of OLD and those that BUF names. *RET_USED is what write(2) returns.
 * EINVAL: not a number; EPERM, as in the kernel: a number that no pid has. */
struct hv_err *hv_pidlist_add(const struct hv_pidlist *old, const char *buf, size_t len_bytes,
			      struct hv_pidlist *ret, size_t *ret_used) hv_must_use;
/* One a line, or "no pid". */
void hv_pidlist_text(const struct hv_pidlist *l, struct hv_text *ret);
