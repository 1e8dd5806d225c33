/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops threads of another process briefly with ptrace(2). The ptracer is the calling thread: when
 * it ends in any way, the kernel detaches every thread, and the threads continue. Signals that
 * arrive during the stop are passed on immediately; job-control stops are preserved. kvm.h chooses
 * the threads; call.h makes them execute calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_filters;

struct hv_thread {
	pid_t tid;
	bool seized;
	bool stopped;
	bool at_rest; /* stopped right after rt_sigreturn has restored its registers */
	/* proof.h: its seccomp filters, read in this stop if HAS_FILTERS; owned, NULL: none */
	struct hv_filters *filters;
	bool has_filters;
	/* Called with CTX each time the thread has stopped, before it can run again; may be NULL. */
	void (*has_stopped)(struct hv_thread *t, const void *ctx);
	const void *ctx;
};

struct hv_threads {
	struct hv_thread *list; /* owned */
	size_t nr;
	pid_t pid; /* the process that they must belong to; 0: any */
	int pidfd; /* pidfd of that process, borrowed; used if pid is not 0 */
};

/* The threads may belong to any process unless the caller sets PID and PIDFD. */
void hv_threads_init(struct hv_threads *t, const pid_t *tids, size_t nr);
void hv_threads_deinit(struct hv_threads *t);

/* Makes this thread the ptracer of all of them without stopping them, and checks that they belong
 * to PID: the id of a traced thread cannot be reused. Fails with ESRCH if one has ended or belongs
 * to another process, or EPERM without permission or if it has another ptracer. */
struct hv_err *hv_threads_seize(struct hv_threads *t) hv_must_use;
/* Stops all of them, after seizing them if necessary. On error none is stopped. Fails with ESRCH if
 * one has ended, or ETIMEDOUT if one did not stop by DEADLINE. */
struct hv_err *hv_threads_stop(struct hv_threads *t, uint64_t deadline_ns) hv_must_use;
/* Resumes a stopped thread for a short time and stops it again. */
struct hv_err *hv_thread_again(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;
/* Resumes and detaches all stopped threads. A thread that is not stopped stays seized until this
 * process ends. */
void hv_threads_release(struct hv_threads *t);

/* Resumes a stopped thread and waits until it stops at the entry or exit of a system call. Signals
 * are passed on. */
struct hv_err *hv_thread_await_syscall(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;

/* Resumes a thread that is stopped at the exit of a system call, and stops it again before it
 * executes anything. Some hosts show all its registers only then. */
struct hv_err *hv_thread_settle(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;

/* For tests: called before and after each step; WHERE names the step. May be NULL. */
extern void (*hv_inject_step)(const char *where);
void hv_inject_at(const char *where);

/* Access the memory of a thread's process. Return false if not all of it can be read or written. */
bool hv_thread_read(pid_t pid, uint64_t at, void *to, size_t len_bytes);
bool hv_thread_write(pid_t pid, uint64_t at, const void *from, size_t len_bytes);
