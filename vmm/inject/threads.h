/* Threads of another process, stopped for a moment by ptrace. The tracer is the calling thread:
 * when it ends, whatever the way, the kernel detaches every thread and they run on. A signal that
 * comes meanwhile is passed on at once; a job-control stop is left as it is. Leaves to others:
 * which threads (kvm.h), what a stopped one is made to do (call.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_thread {
	pid_t tid;
	bool seized;
	bool stopped;
	bool at_rest; /* stopped where an injected call has given its registers back */
};

struct hv_threads {
	struct hv_thread *list; /* owned */
	size_t nr;
};

void hv_threads_init(struct hv_threads *t, const pid_t *tids, size_t nr);
void hv_threads_deinit(struct hv_threads *t);

/* Seizes and stops them all. On error none is held. ESRCH: one has ended; ETIMEDOUT: one did not
 * stop by DEADLINE; EPERM: no ptrace rights, or another tracer. */
struct hv_err *hv_threads_stop(struct hv_threads *t, uint64_t deadline_ns) hv_must_use;
/* Lets one stopped thread run a little and stops it again, wherever it is then. */
struct hv_err *hv_thread_again(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;
/* Lets them run on, without a tracer. One that is not stopped stays seized until we end. */
void hv_threads_release(struct hv_threads *t);

/* The next stop of a thread that runs: at an entry or exit of a system call (it was resumed with
 * PTRACE_SYSCALL), signals passed on. */
struct hv_err *hv_thread_await_syscall(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;

/* For tests: called before and after each thing done to a thread; WHERE says what. May be NULL. */
extern void (*hv_inject_step)(const char *where);
void hv_inject_at(const char *where);
