/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times of a VMM's threads. This process acts as the VMM. */
#include <check.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/metrics/host_counts.h"
#include "tests/lib/run_suite.h"

static pthread_barrier_t named, done;

static void *vcpu_main(void *name)
{
	struct timespec now;

	prctl(PR_SET_NAME, name);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_nsec < 10000000);
	pthread_barrier_wait(&named);
	pthread_barrier_wait(&done);
	return NULL;
}

/* Calls READ while a thread with NAME exists. */
static bool read_beside(const char *name, struct vcpu_time *ret)
{
	pthread_t thread;
	bool found;

	ck_assert_int_eq(pthread_barrier_init(&named, NULL, 2), 0);
	ck_assert_int_eq(pthread_barrier_init(&done, NULL, 2), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, vcpu_main, (void *)name), 0);
	pthread_barrier_wait(&named);
	found = vcpu_time_read(getpid(), ret);
	pthread_barrier_wait(&done);
	pthread_join(thread, NULL);
	return found;
}

START_TEST(only_vcpus_count)
{
	struct vcpu_time time = {1, 2};

	ck_assert(!read_beside("worker", &time));
	ck_assert_uint_eq(time.run_ns, 1);
	ck_assert(read_beside("CPU 3/KVM", &time));
	ck_assert_uint_ge(time.run_ns, 10000000);
	ck_assert(read_beside("ALL CPUs/TCG", &time));
}
END_TEST

START_TEST(no_such_process)
{
	struct vcpu_time time = {1, 2};

	ck_assert(!vcpu_time_read(-1, &time));
	ck_assert_uint_eq(time.wait_ns, 2);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, only_vcpus_count);
	tcase_add_test(tc, no_such_process);
}

int main(void)
{
	return run_suite("vcpu_time", add_tests);
}
