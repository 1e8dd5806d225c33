/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of the host, from /proc. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* -- a process --------------------------------------------------------------------------------- */

/* The VMM as a process, from /proc: its user, its arguments and its files. */

struct hv_process {
	pid_t pid;
	uid_t uid; /* effective */
	gid_t gid;
	char **args; /* nr_args strings and NULL at the end; owned */
	size_t nr_args;
	char *rights; /* owned; the lines of its status about users, groups and capabilities */
};

/* Fails with ESRCH if there is no such process. */
struct hv_err *hv_process_open(pid_t pid, struct hv_process *ret) hv_must_use;
void hv_process_close(struct hv_process *p);

/* Fails with EPERM if process P has other rights than when it was opened. Then it can be another
 * program, because executing a set-uid program changes neither its id nor its pidfd. */
struct hv_err *hv_process_check_rights(const struct hv_process *p) hv_must_use;

/* Finds the process that thread TID belongs to. */
struct hv_err *hv_process_of_thread(pid_t tid, pid_t *ret) hv_must_use;

/* The most entries of /proc/PID/task that are read. A process that keeps starting threads makes the
 * list endless, because new threads appear in it while it is read. Only tests change the value. */
extern size_t hv_process_threads_max;

/* Calls FN for each thread of process PID until it returns false. Fails with E2BIG if more than
 * hv_process_threads_max entries were read, or with the error of opening the list. */
struct hv_err *hv_process_each_thread(pid_t pid, bool (*fn)(void *ctx, pid_t tid),
				      void *ctx) hv_must_use;

/* Whether TID is currently a thread of process PID. */
bool hv_process_has_thread(pid_t pid, pid_t tid);

/* Returns the number after KEY ("Seccomp:") in the status of thread TID of process PID (proc(5)), 0 if
 * it has no such line, or -1 if it cannot be read. */
long hv_thread_status(pid_t pid, pid_t tid, const char *key);

/* Translates IDS of threads of process PID from its pid namespace to this one. Returns the index of
 * the first id that is not a thread of the process, or NR. */
unsigned hv_process_find_threads(pid_t pid, pid_t *ids, unsigned nr);

/* Searches for argument OPTION ("-name", also found as "--name") from index FROM. Returns the index
 * after it, or 0 if not found. *RET_VALUE (may be NULL) is the argument that follows it, "" at the
 * end. */
size_t hv_process_arg(const struct hv_process *p, const char *option, size_t from,
		      const char **ret_value);

/* Whether the link of an open file of the process contains TARGET_PART ("kvm-gmem"). */
bool hv_process_has_file(const struct hv_process *p, const char *target_part);

/* -- kernel threads ---------------------------------------------------------------------------- */

/* Identifies kernel threads of the host. Names do not identify them, because any program can choose
 * its name. Needs no privileges if /proc shows every process. */

/* False also if TID has ended. */
bool hv_is_kernel_thread(pid_t tid);

/* Whether TID never runs in user mode: a kernel thread, or a thread that the kernel started in a
 * process, for io_uring or vhost. False also if TID has ended. */
bool hv_stays_in_kernel(pid_t tid);

/* Like hv_is_kernel_thread(), from the contents of its /proc/TID/stat. */
bool hv_stat_is_kernel_threads(const char *stat);

/* Returns the flags (PF_*) in STAT, the contents of a /proc/TID/stat, or false if STAT has no
 * flags. */
bool hv_stat_flags(const char *stat, unsigned *ret);
