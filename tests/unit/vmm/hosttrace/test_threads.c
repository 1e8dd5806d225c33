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

#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
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

static struct hv_err *find_tracefs(void *ctx hv_unused)
{
	const char *path;

	return hv_host_tracefs(&path);
}

/* DIR stands for the host's tracefs. */
START_TEST(hosts_that_do_not_trace)
{
	static const struct failing_call calls[] = {
		{SCMP_SYS(access), ENOENT}, {SCMP_SYS(faccessat), ENOENT}, {0}};
	HV_AUTO_TEXT struct hv_text formats = {0};
	char dir[] = "/tmp/hvtrace-test-XXXXXX", path[64];
	pid_t tid = 1;
	FILE *f;

	expect_failure(calls, find_tracefs, NULL, ENOENT,
		       "this host's tracefs is not mounted at /sys/kernel/tracing, or its kernel "
		       "has no tracing");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	expect_error(hv_host_trace_formats(dir, &formats), ENOENT,
		     "this host's tracing has no clock x86-tsc");
	snprintf(path, sizeof(path), "%s/trace_clock", dir);
	f = fopen(path, "we");
	ck_assert(f && fputs("[local] x86-tsc\n", f) >= 0 && fclose(f) == 0);
	expect_error(hv_host_trace_formats(dir, &formats), ENOENT,
		     "this host's kernel has no trace events of KVM");
	expect_error(hv_host_trace_switch(dir, "a/b", 1, &tid, 1), EINVAL,
		     "'a/b' cannot be the name of a tracing instance");
	expect_error(hv_host_trace_switch(dir, "web1", 1, &tid, 0), ENOENT,
		     "the guest has no vCPU threads");
	unlink(path);
	rmdir(dir);
}
END_TEST

static long nr_cpus; /* of the host; 0: 4096 */

/* Replaces the function of the C library. */
long sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF && nr_cpus ? nr_cpus : 4096;
}

START_TEST(hosts_with_many_cpus)
{
	unsigned next = 0;
	size_t nr = 0;
	int fd;

	nr_cpus = 513;
	expect_error(hv_host_trace_open("/nowhere", "web1", 0, &fd, 1, &nr, &next), EMFILE,
		     "this host has 513 CPUs; at most 512 are supported");
	nr_cpus = 0;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, hosts_with_many_cpus);
	tcase_add_test(tc, hosts_that_do_not_trace);
	tcase_add_test(tc, threads_of_the_process);
	tcase_add_test(tc, a_program_named_as_a_thread_of_the_kernel);
	tcase_add_test(tc, no_process);
}

int main(void)
{
	return run_suite("hosttrace_threads", add_tests);
}
