/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMM as a process, from /proc: its user, its arguments and its files. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_process {
	pid_t pid;
	uid_t uid; /* effective */
	gid_t gid;
	char **args; /* nr_args strings and NULL at the end; owned */
	size_t nr_args;
};

/* ESRCH: no such process. */
struct hv_err *hv_process_open(pid_t pid, struct hv_process *ret) hv_must_use;
void hv_process_close(struct hv_process *p);

/* Finds the process that thread TID belongs to. */
struct hv_err *hv_process_of_thread(pid_t tid, pid_t *ret) hv_must_use;

/* Whether TID is a thread of process PID now. */
bool hv_process_has_thread(pid_t pid, pid_t tid);

/* Replaces IDS of threads of process PID, which its own pid namespace has, by their ids here.
 * Returns the index of the first one that is no thread of the process; NR: all are. */
unsigned hv_process_find_threads(pid_t pid, pid_t *ids, unsigned nr);

/* Looks for argument OPTION ("-name", also found as "--name") from index FROM on. Returns the index
 * behind it; 0: not found. *RET_VALUE (may be NULL) is the argument that follows it, "" at the end.
 */
size_t hv_process_arg(const struct hv_process *p, const char *option, size_t from,
		      const char **ret_value);

/* Whether the link of an open file of the process contains TARGET_PART ("kvm-gmem"). */
bool hv_process_has_file(const struct hv_process *p, const char *target_part);
