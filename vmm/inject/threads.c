/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/threads.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "vmm/process/process.h"

#define SPINS	   200
#define PAUSE_US   20
#define STOP_EVENT 128 /* PTRACE_EVENT_STOP */

void (*hv_inject_step)(const char *where);

void hv_inject_at(const char *where)
{
	if (hv_inject_step)
		hv_inject_step(where);
}

void hv_threads_init(struct hv_threads *t, const pid_t *tids, size_t nr)
{
	*t = (struct hv_threads){.list = hv_alloc(nr * sizeof(*t->list)), .nr = nr, .pidfd = -1};
	for (size_t i = 0; i < nr; i++)
		t->list[i].tid = tids[i];
}

static void drop_filters(struct hv_thread *t)
{
	free(hv_take(t->filters));
	t->has_filters = false;
}

void hv_threads_deinit(struct hv_threads *t)
{
	for (size_t i = 0; i < t->nr; i++)
		drop_filters(&t->list[i]);
	free(t->list);
	*t = (struct hv_threads){0};
}

static struct hv_err *gone(struct hv_thread *t)
{
	t->seized = t->stopped = false;
	return hv_err_new(ESRCH, "thread %d has ended", (int)t->tid);
}

/* waitpid(2) with a deadline. A thread stops within microseconds, so the first tries do not
 * sleep. */
static struct hv_err *next_stop(struct hv_thread *t, uint64_t deadline_ns, int *ret)
{
	for (unsigned tries = 0;; tries++) {
		pid_t got = waitpid(t->tid, ret, __WALL | WNOHANG);

		if (got < 0 || (got > 0 && !WIFSTOPPED(*ret)))
			return gone(t);
		if (got > 0)
			return NULL;
		if (hv_now_ns() > deadline_ns)
			return hv_err_new(
				ETIMEDOUT,
				"thread %d of the VMM does not stop: the host may be too busy",
				(int)t->tid);
		if (tries < SPINS)
			sched_yield();
		else
			usleep(PAUSE_US);
	}
}

static bool is_syscall_stop(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* Returns the signal that caused a stop. It can be passed on only when the thread is resumed from
 * that stop. */
static int signal_of(int status)
{
	return status >> 16 || is_syscall_stop(status) ? 0 : WSTOPSIG(status);
}

static struct hv_err *resume(struct hv_thread *t, enum __ptrace_request how, int sig)
{
	drop_filters(t);
	hv_inject_at("resume");
	if (ptrace(how, t->tid, NULL, (void *)(intptr_t)sig) < 0)
		return gone(t);
	hv_inject_at("resumed");
	return NULL;
}

static struct hv_err *await_interrupt(struct hv_thread *t, uint64_t deadline_ns)
{
	for (;;) {
		int status = 0;
		struct hv_err *err = next_stop(t, deadline_ns, &status);

		if (err)
			return err;
		if (t->has_stopped)
			t->has_stopped(t, t->ctx);
		hv_inject_at("stopped");
		if (status >> 16 == STOP_EVENT) {
			t->stopped = true;
			t->at_rest = false;
			return NULL;
		}
		err = resume(t, PTRACE_CONT, signal_of(status));
		if (err)
			return err;
	}
}

struct hv_err *hv_thread_await_syscall(struct hv_thread *t, uint64_t deadline_ns)
{
	int sig = 0;

	for (;;) {
		int status = 0;
		struct hv_err *err = resume(t, PTRACE_SYSCALL, sig);

		t->stopped = false;
		if (!err)
			err = next_stop(t, deadline_ns, &status);
		if (err)
			return err;
		t->stopped = true;
		hv_inject_at("syscall");
		if (is_syscall_stop(status))
			return NULL;
		sig = signal_of(status);
	}
}

static struct hv_err *seize(struct hv_thread *t)
{
	/* Never use PTRACE_O_EXITKILL: it would kill the VMM when this process ends. */
	if (ptrace(PTRACE_SEIZE, t->tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0)
		return hv_err_new(errno, "thread %d: cannot be traced: %s", (int)t->tid,
				  strerror(errno));
	t->seized = true;
	hv_inject_at("seized");
	return NULL;
}

static struct hv_err *interrupt(struct hv_thread *t)
{
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0)
		return gone(t);
	hv_inject_at("interrupted");
	return NULL;
}

/* PID belongs to the process of PIDFD as long as that process lives. */
static struct hv_err *check_owner(const struct hv_threads *t)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

	for (size_t i = 0; i < t->nr; i++)
		if (!hv_process_has_thread(t->pid, t->list[i].tid))
			return hv_err_new(ESRCH, "thread %d is not of process %d",
					  (int)t->list[i].tid, (int)t->pid);
	return poll(&p, 1, 0) == 0 ? NULL : hv_err_new(ESRCH, "process %d has ended", (int)t->pid);
}

struct hv_err *hv_threads_seize(struct hv_threads *t)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < t->nr; i++)
		err = seize(&t->list[i]);
	return err || !t->pid ? err : check_owner(t);
}

struct hv_err *hv_threads_stop(struct hv_threads *t, uint64_t deadline_ns)
{
	struct hv_err *err = t->nr && t->list[0].seized ? NULL : hv_threads_seize(t);

	for (size_t i = 0; !err && i < t->nr; i++)
		err = interrupt(&t->list[i]);
	for (size_t i = 0; !err && i < t->nr; i++)
		err = await_interrupt(&t->list[i], deadline_ns);
	if (err)
		hv_threads_release(t);
	return err;
}

struct hv_err *hv_thread_again(struct hv_thread *t, uint64_t deadline_ns)
{
	struct hv_err *err = resume(t, PTRACE_CONT, 0);

	t->stopped = false;
	usleep(10 * PAUSE_US);
	if (!err && ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0)
		err = gone(t);
	return err ? err : await_interrupt(t, deadline_ns);
}

struct hv_err *hv_thread_settle(struct hv_thread *t, uint64_t deadline_ns)
{
	struct hv_err *err;

	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0)
		return gone(t);
	hv_inject_at("settle");
	err = resume(t, PTRACE_CONT, 0);
	t->stopped = false;
	return err ? err : await_interrupt(t, deadline_ns);
}

void hv_threads_release(struct hv_threads *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		struct hv_thread *at = &t->list[i];

		if (!at->stopped)
			continue;
		hv_inject_at("release");
		if (ptrace(PTRACE_DETACH, at->tid, NULL, NULL) == 0)
			at->seized = false;
		at->stopped = at->at_rest = false;
		drop_filters(at);
		hv_inject_at("released");
	}
}

bool hv_thread_read(pid_t pid, uint64_t at, void *to, size_t len_bytes)
{
	struct iovec ours = {to, len_bytes};
	struct iovec theirs = {(void *)(uintptr_t)at, len_bytes};

	return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == (ssize_t)len_bytes;
}

bool hv_thread_write(pid_t pid, uint64_t at, const void *from, size_t len_bytes)
{
	struct iovec ours = {(void *)(uintptr_t)from, len_bytes};
	struct iovec theirs = {(void *)(uintptr_t)at, len_bytes};

	return process_vm_writev(pid, &ours, 1, &theirs, 1, 0) == (ssize_t)len_bytes;
}
