/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads work for a VMM: all threads that it creates, but no program that only has its
 * name. */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/run_suite.h"
#include "vmm/hosttrace/instance.h"

#define MAX 64

static bool has(const pid_t *list, size_t nr, pid_t tid)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == tid)
			return true;
	return false;
}

struct thread {
	pid_t tid;
	int ready[2], end[2];
};

static void *run(void *arg)
{
	struct thread *t = arg;
	char byte = 0;

	t->tid = (pid_t)syscall(SYS_gettid);
	ck_assert_int_eq(write(t->ready[1], &byte, 1), 1);
	ck_assert_int_eq(read(t->end[0], &byte, 1), 1);
	return NULL;
}

START_TEST(threads_of_the_process)
{
	pid_t list[MAX] = {7777777};
	struct thread t;
	pthread_t thread;
	size_t nr = 1;
	char byte;

	ck_assert_int_eq(pipe(t.ready) | pipe(t.end), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run, &t), 0);
	ck_assert_int_eq(read(t.ready[0], &byte, 1), 1);
	hv_host_trace_add_threads(getpid(), list, MAX, &nr);
	ck_assert_uint_eq(nr, 3);
	ck_assert_int_eq(list[0], 7777777);
	ck_assert(has(list, nr, getpid()) && has(list, nr, t.tid));
	hv_host_trace_add_threads(getpid(), list, MAX, &nr);
	ck_assert_uint_eq(nr, 3);
	nr = 1;
	hv_host_trace_add_threads(getpid(), list, 2, &nr);
	ck_assert_uint_eq(nr, 2);
	ck_assert_int_eq(write(t.end[1], "", 1), 1);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_program_named_as_a_thread_of_the_kernel)
{
	int ready[2], end[2];
	pid_t list[MAX], child;
	char name[32], byte = 0;
	size_t nr = 0;

	ck_assert_int_eq(pipe(ready) | pipe(end), 0);
	snprintf(name, sizeof(name), "vhost-%d", (int)getpid());
	child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, name);
		_exit(write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	hv_host_trace_add_threads(getpid(), list, MAX, &nr);
	ck_assert_uint_eq(nr, 1);
	ck_assert_int_eq(list[0], getpid());
	ck_assert_int_eq(write(end[1], &byte, 1), 1);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(no_process)
{
	pid_t list[MAX];
	size_t nr = 0;

	hv_host_trace_add_threads(0, list, MAX, &nr);
	hv_host_trace_add_threads(-1, list, MAX, &nr);
	hv_host_trace_add_threads(7777777, list, MAX, &nr);
	ck_assert_uint_eq(nr, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, threads_of_the_process);
	tcase_add_test(tc, a_program_named_as_a_thread_of_the_kernel);
	tcase_add_test(tc, no_process);
}

int main(void)
{
	return run_suite("hosttrace_threads", add_tests);
}
