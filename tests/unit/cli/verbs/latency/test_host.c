/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads are seen as those of vCPUs: those of this program, by their names. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/verbs/latency/host.h"
#include "tests/lib/run_suite.h"

static struct latency_host host;
static char *why;

static void begin(void)
{
	host = (struct latency_host){0};
	why = NULL;
}

static void end(void)
{
	latency_host_deinit(&host);
	free(why);
}

START_TEST(threads_have_names)
{
	latency_host_open(&host, (uint64_t)getpid(), &why);
	ck_assert_uint_eq(host.nr, 0);
	ck_assert_ptr_nonnull(strstr(why, "debug-threads=on"));
}
END_TEST

START_TEST(a_thread_is_seen)
{
	prctl(PR_SET_NAME, "CPU 3/KVM");
	latency_host_open(&host, (uint64_t)getpid(), &why);
	ck_assert_uint_eq(host.nr, 1);
	ck_assert_uint_eq(host.threads[0].cpu, 3);
	ck_assert_ptr_null(why);
}
END_TEST

/* Where nothing is known of the host, the tenant must not be blamed. */
START_TEST(what_cannot_be_read_is_not_seen)
{
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit limit;

	close(next);
	getrlimit(RLIMIT_NOFILE, &limit);
	/* Room for the directory and the name, or schedstat, but not for the thread's state. */
	limit.rlim_cur = (rlim_t)next + 2;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	prctl(PR_SET_NAME, "CPU 3/KVM");
	latency_host_open(&host, (uint64_t)getpid(), &why);
	ck_assert_uint_eq(host.nr, 0);
	ck_assert_ptr_nonnull(strstr(why, "schedstat"));
}
END_TEST

START_TEST(a_vmm_may_count_instructions)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execlp("sh", "sh", "-c", "kill -STOP $$", "-icount", "shift=0", NULL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	latency_host_open(&host, (uint64_t)pid, &why);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ck_assert(host.counts_instructions);
	free(why);
	latency_host_open(&host, (uint64_t)getpid(), &why);
	ck_assert(!host.counts_instructions);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, threads_have_names);
	tcase_add_test(tc, a_thread_is_seen);
	tcase_add_test(tc, what_cannot_be_read_is_not_seen);
	tcase_add_test(tc, a_vmm_may_count_instructions);
}

int main(void)
{
	return run_suite("latency_host", add_tests);
}
