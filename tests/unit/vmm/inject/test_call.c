/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injects calls into a thread of another process. Tests their results, and that the thread
 * continues with all its registers: in a restarted system call, with its FPU in use, and if the
 * injecting process is killed at any step. Needs permission to ptrace a child. Without it, the test
 * is skipped, or fails if it has an argument. A guest of another architecture also runs this test
 * (tests/lib/bare/check.h).
 *
 *    test_call        run what is possible here
 *    test_call 0      run everything: fail without permission to ptrace
 *    test_call PID    inject calls into a process whose only thread runs a vCPU of KVM */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/round.h"
#include "vmm/inject/call.h"

#define ENOUGH_NS (20 * HV_NS_PER_S) /* limit for operations that take a moment */

struct shared {
	volatile uint64_t rounds;
	volatile uint64_t wrong;
};

static struct shared *shared;
static long steps_left;
static bool must_trace;

static pid_t start_child(int *ret_feed)
{
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		for (;;) {
			shared->wrong += !round_keeps_registers(ends[0]);
			shared->rounds++;
		}
	}
	ck_assert_int_ge(pid, 0);
	close(ends[0]);
	*ret_feed = ends[1];
	return pid;
}

static void end_child(pid_t pid, int feed)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(feed);
}

/* Checks that the child makes N more rounds and that no register was ever wrong. */
static void feed_and_check(int feed, unsigned n)
{
	uint64_t before = shared->rounds;
	uint64_t deadline_ns = hv_now_ns() + ENOUGH_NS;

	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(write(feed, "x", 1), 1);
	while (shared->rounds < before + n && hv_now_ns() < deadline_ns)
		usleep(100);
	ck_assert_uint_eq(shared->rounds, before + n);
	ck_assert_uint_eq(shared->wrong, 0);
}

static bool may_trace(pid_t pid)
{
	struct hv_threads threads;
	struct hv_err *err;

	hv_threads_init(&threads, &pid, 1);
	err = hv_threads_stop(&threads, hv_now_ns() + ENOUGH_NS);
	hv_threads_release(&threads);
	hv_threads_deinit(&threads);
	ck_assert_msg(!err || !must_trace, "%s", err ? err->message : "");
	hv_err_free(err);
	return !err;
}

static struct hv_err *stop_in_call(struct hv_threads *threads, uint64_t deadline_ns)
{
	struct hv_err *err = hv_threads_stop(threads, deadline_ns);

	while (!err && !hv_call_can(&threads->list[0])) /* the thread is not in its call now */
		err = hv_thread_again(&threads->list[0], deadline_ns);
	return err;
}

/* Stops the thread, makes two calls and resumes it, as the keeper does. */
static struct hv_err *inject(pid_t pid, struct hv_call *calls, char *data, size_t len)
{
	uint64_t deadline_ns = hv_now_ns() + ENOUGH_NS;
	struct hv_threads threads;
	struct hv_call_code code;
	struct hv_err *err = hv_call_code_find(pid, &code);

	if (err)
		return err;
	hv_threads_init(&threads, &pid, 1);
	err = stop_in_call(&threads, deadline_ns);
	if (!err)
		err = hv_call_run(pid, &threads.list[0], &code, calls, 2, data, len, deadline_ns);
	hv_threads_release(&threads);
	hv_threads_deinit(&threads);
	return err;
}

/* Makes two calls in one hold: the thread executes only the necessary instructions between them. */
static struct hv_err *inject_twice(pid_t pid)
{
	uint64_t deadline_ns = hv_now_ns() + ENOUGH_NS;
	struct hv_threads threads;
	struct hv_call_code code;
	struct hv_err *err = hv_call_code_find(pid, &code);

	if (err)
		return err;
	hv_threads_init(&threads, &pid, 1);
	err = stop_in_call(&threads, deadline_ns);
	for (int i = 0; !err && i < 2; i++) {
		struct hv_call call = {.nr = SYS_getpid};

		err = hv_call_run(pid, &threads.list[0], &code, &call, 1, NULL, 0, deadline_ns);
		ck_assert(err || call.result == pid);
	}
	hv_threads_release(&threads);
	hv_threads_deinit(&threads);
	return err;
}

static struct hv_err *inject_names(pid_t pid, char *name, struct hv_call calls[2])
{
	calls[0] = (struct hv_call){.nr = SYS_getpid};
	calls[1] = (struct hv_call){.nr = SYS_memfd_create, .args = {0, 1}, .data_args = 1};
	return inject(pid, calls, name, 16);
}

START_TEST(calls_and_back)
{
	char name[16] = "injected";
	struct hv_call calls[2];
	struct hv_err *err;
	int feed;
	pid_t pid = start_child(&feed);

	if (may_trace(pid)) {
		feed_and_check(feed, 3);
		for (int i = 0; i < 20; i++) {
			err = inject_names(pid, name, calls);
			ck_assert_msg(!err, "%s", err ? err->message : "");
			ck_assert_int_eq(calls[0].result, pid);
			ck_assert_int_ge(calls[1].result, 3);
			feed_and_check(feed, 2);
		}
	}
	end_child(pid, feed);
}
END_TEST

START_TEST(two_injections_in_one_hold)
{
	struct hv_err *err;
	int feed;
	pid_t pid = start_child(&feed);

	if (may_trace(pid)) {
		feed_and_check(feed, 1);
		for (int i = 0; i < 5; i++) {
			err = inject_twice(pid);
			ck_assert_msg(!err, "%s", err ? err->message : "");
			feed_and_check(feed, 1);
		}
	}
	end_child(pid, feed);
}
END_TEST

START_TEST(a_failing_call_is_the_last)
{
	char data[16] = "";
	struct hv_call calls[2] = {{.nr = SYS_close, .args = {9999}}, {.nr = SYS_getpid}};
	struct hv_err *err;
	int feed;
	pid_t pid = start_child(&feed);

	if (may_trace(pid)) {
		err = inject(pid, calls, data, sizeof(data));
		ck_assert_msg(!err, "%s", err ? err->message : "");
		ck_assert_int_eq(calls[0].result, -EBADF);
		ck_assert_int_eq(calls[1].result, -ECANCELED);
		feed_and_check(feed, 2);
	}
	end_child(pid, feed);
}
END_TEST

/* The call's argument is the address of a position in the data, as the process sees it. */
START_TEST(an_address_in_the_data)
{
	struct {
		uint64_t value;
		struct iovec ours, theirs;
	} data = {.ours = {NULL, 8}, .theirs = {(void *)&shared->rounds, 8}};
	struct hv_call calls[2] = {
		{.nr = SYS_process_vm_readv,
		 .args = {0, offsetof(__typeof__(data), ours), 1,
			  offsetof(__typeof__(data), theirs), 1},
		 .data_args = 1u << 1 | 1u << 3,
		 .pointer_off = offsetof(__typeof__(data), ours.iov_base)},
		{.nr = SYS_getpid},
	};
	int feed;
	pid_t pid = start_child(&feed);

	calls[0].args[0] = (uint64_t)pid;
	if (may_trace(pid)) {
		struct hv_err *err;

		feed_and_check(feed, 3);
		err = inject(pid, calls, (char *)&data, sizeof(data));
		ck_assert_msg(!err, "%s", err ? err->message : "");
		ck_assert_int_eq(calls[0].result, 8);
		ck_assert_int_eq(calls[1].result, pid);
		ck_assert_uint_eq(data.value, shared->rounds);
		feed_and_check(feed, 2);
	}
	end_child(pid, feed);
}
END_TEST

static void count_down(const char *where)
{
	(void)where;
	if (--steps_left == 0)
		kill(getpid(), SIGKILL);
}

/* Kills the injecting process at its step STEP. Returns true if it has fewer steps. */
static bool inject_and_die(pid_t pid, long step)
{
	char name[16] = "injected";
	struct hv_call calls[2];
	int status;
	pid_t injector = fork();

	if (injector == 0) {
		steps_left = step;
		hv_inject_step = count_down;
		hv_err_free(inject_names(pid, name, calls));
		_exit(0);
	}
	ck_assert_int_ge(injector, 0);
	waitpid(injector, &status, 0);
	return WIFEXITED(status);
}

START_TEST(death_at_every_step)
{
	int feed;
	pid_t pid = start_child(&feed);
	long step = 1;

	if (may_trace(pid)) {
		for (; step < 200 && !inject_and_die(pid, step); step++)
			feed_and_check(feed, 2);
		ck_assert_int_gt(step, 10);
		ck_assert_int_lt(step, 200);
	}
	end_child(pid, feed);
}
END_TEST

static pid_t vmm; /* the argument PID; 0: none */

/* Makes calls in one hold. After each, the thread is again at its original position. */
static struct hv_err *inject_into_vcpu(struct hv_thread *t, const struct hv_call_code *code,
				       uint64_t deadline_ns)
{
	struct hv_err *err = NULL;

	while (!err && !hv_call_in_kvm_run(t))
		err = hv_thread_again(t, deadline_ns);
	for (int i = 0; !err && i < 3; i++) {
		struct hv_call call = {.nr = SYS_getpid};

		err = hv_call_run(vmm, t, code, &call, 1, NULL, 0, deadline_ns);
		ck_assert(err || (hv_call_in_kvm_run(t) && call.result == vmm));
	}
	return err;
}

/* Under an emulated KVM, stopping and resuming a vCPU's thread is slow. */
START_TEST(a_vcpu_thread)
{
	uint64_t deadline_ns = hv_now_ns() + 5 * ENOUGH_NS;
	struct hv_threads threads;
	struct hv_call_code code;
	struct hv_err *err = hv_call_code_find(vmm, &code);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	hv_threads_init(&threads, &vmm, 1);
	err = hv_threads_stop(&threads, deadline_ns);
	if (!err)
		err = inject_into_vcpu(&threads.list[0], &code, deadline_ns);
	hv_threads_release(&threads);
	hv_threads_deinit(&threads);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}
END_TEST

/* A thread id from the monitor may belong to another process, which must continue untraced. */
START_TEST(a_thread_of_another_process)
{
	HV_AUTO_FD int pidfd = pidfd_open(getpid(), 0);
	struct hv_threads threads;
	struct hv_err *err;
	int feed;
	pid_t other = start_child(&feed);

	if (!may_trace(other)) {
		end_child(other, feed);
		return;
	}
	hv_threads_init(&threads, &other, 1);
	threads.pid = getpid();
	threads.pidfd = pidfd;
	err = hv_threads_stop(&threads, hv_now_ns() + ENOUGH_NS);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ESRCH);
	ck_assert(!threads.list[0].stopped);
	hv_err_free(err);
	hv_threads_deinit(&threads);
	feed_and_check(feed, 3);
	end_child(other, feed);
}
END_TEST

/* The VMM has ended, and another process may already have its pid. */
START_TEST(a_process_that_has_ended)
{
	HV_AUTO_FD int pidfd = -1;
	struct hv_threads threads;
	struct hv_err *err;
	int feed;
	pid_t other = start_child(&feed);
	pid_t ended = fork();

	if (ended == 0)
		_exit(0);
	pidfd = pidfd_open(ended, 0);
	waitpid(ended, NULL, 0);
	if (may_trace(other)) {
		hv_threads_init(&threads, &other, 1);
		threads.pid = other;
		threads.pidfd = pidfd;
		err = hv_threads_seize(&threads);
		ck_assert_ptr_nonnull(err);
		ck_assert_int_eq(err->code, ESRCH);
		hv_err_free(err);
		hv_threads_deinit(&threads);
		feed_and_check(feed, 3);
	}
	end_child(other, feed);
}
END_TEST

static void add_tests(TCase *tc)
{
	if (vmm) {
		tcase_add_test(tc, a_vcpu_thread);
		return;
	}
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, calls_and_back);
	tcase_add_test(tc, two_injections_in_one_hold);
	tcase_add_test(tc, a_failing_call_is_the_last);
	tcase_add_test(tc, an_address_in_the_data);
	tcase_add_test(tc, death_at_every_step);
	tcase_add_test(tc, a_thread_of_another_process);
	tcase_add_test(tc, a_process_that_has_ended);
}

int main(int argc, char **argv)
{
	must_trace = argc > 1;
	vmm = argc > 1 ? atoi(argv[1]) : 0;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return run_suite("inject_call", add_tests);
}
