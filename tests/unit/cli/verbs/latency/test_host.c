/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads are recognized as vCPU threads. The test renames this program's threads. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/guard.h"
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
	ck_assert_uint_eq(host.nr_vcpus, 0);
	ck_assert_ptr_nonnull(strstr(why, "debug-threads=on"));
}
END_TEST

START_TEST(the_vmm_must_be_known)
{
	latency_host_open(&host, 0, &why);
	ck_assert_str_eq(why, "the VMM's threads cannot be seen (its pid is not known)");
}
END_TEST

START_TEST(a_thread_is_seen)
{
	prctl(PR_SET_NAME, "CPU 3/KVM");
	latency_host_open(&host, (uint64_t)getpid(), &why);
	ck_assert_uint_eq(host.nr_vcpus, 1);
	ck_assert_uint_eq(host.threads[0].cpu, 3);
	ck_assert_str_eq(host.threads[0].task.comm, "CPU 3/KVM");
	ck_assert_ptr_null(why);
}
END_TEST

/* If nothing is known about the host, the tenant must not be blamed. */
START_TEST(an_unreadable_host_is_unseen)
{
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit limit;

	close(next);
	getrlimit(RLIMIT_NOFILE, &limit);
	/* Two descriptors: for the directory and the name or schedstat, but not the state. */
	limit.rlim_cur = (rlim_t)next + 2;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	prctl(PR_SET_NAME, "CPU 3/KVM");
	latency_host_open(&host, (uint64_t)getpid(), &why);
	ck_assert_uint_eq(host.nr, 0);
	ck_assert_ptr_nonnull(strstr(why, "schedstat and stat of a vCPU's thread (of pid "));
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

static void put(int fd, const char *text)
{
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* Sets a thread's time of waiting for a CPU to MS milliseconds. */
static void wait_for(const struct latency_thread *t, unsigned ms)
{
	HV_AUTO_FREE char *text = hv_format("1000 %u000000 %u\n", ms, ms + 1);

	put(t->schedstat, text);
}

/* Makes a thread that runs CPU, with files written by the test. */
static struct latency_thread made(unsigned cpu)
{
	struct latency_thread t = {
		.cpu = cpu,
		.task = hv_stall_task(77, "worker"),
		.schedstat = memfd_create("schedstat", 0),
		.stat = memfd_create("stat", 0),
	};

	wait_for(&t, 0);
	put(t.stat, "77 (worker) S 1");
	return t;
}

static struct hv_latency latency;

static void begin_with(unsigned cpu)
{
	host.threads = hv_realloc_array(NULL, 1, sizeof(*host.threads));
	host.threads[0] = made(cpu);
	host.nr = 1;
	host.nr_vcpus = cpu != LATENCY_NO_CPU;
	host.looked_ns = UINT64_MAX / 2; /* the search for others is off */
	hv_outages_init(&latency.host, 1);
	hv_outages_init(&latency.vmm, 1);
	latency_host_begin(&host);
}

/* Waits for an outage and returns the time taken. All outages must be between BEGIN_NS and
 * END_NS. */
static uint64_t taken(const struct hv_outages *o, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t ns = 0;

	while (!o->cpus[0].nr) {
		usleep(1000);
		latency_host_take(&host, &latency);
	}
	for (unsigned i = 0; i < o->cpus[0].nr; i++) {
		const struct hv_outage *s = &o->cpus[0].spans[i];

		ck_assert_uint_ge(s->from_ns, begin_ns);
		ck_assert_uint_le(s->to_ns, end_ns);
		ck_assert_uint_le(s->taken_ns, s->to_ns - s->from_ns);
		ns += s->taken_ns;
	}
	return ns;
}

static void end_latency(void)
{
	hv_outages_deinit(&latency.host);
	hv_outages_deinit(&latency.vmm);
}

START_TEST(waits_before_measuring_do_not_count)
{
	uint64_t begin_ns;

	begin_with(0);
	begin_ns = host.begin_ns;
	wait_for(&host.threads[0], 1000000);
	ck_assert_uint_gt(taken(&latency.host, begin_ns, UINT64_MAX), 0);
	end_latency();
}
END_TEST

/* The wait began before the end and is an hour longer than the measurement. */
START_TEST(a_wait_counts_up_to_the_end_of_measuring)
{
	uint64_t begin_ns, end_ns;

	begin_with(0);
	begin_ns = host.begin_ns;
	latency_host_end(&host);
	end_ns = hv_now_ns();
	ck_assert_uint_eq(latency.host.cpus[0].nr, 0);
	wait_for(&host.threads[0], 3600000);
	ck_assert_uint_gt(taken(&latency.host, begin_ns, end_ns), 0);
	ck_assert_uint_eq(latency.host.cpus[0].nr, 1);
	end_latency();
}
END_TEST

START_TEST(a_wait_after_measuring_does_not_count)
{
	begin_with(0);
	latency_host_end(&host);
	usleep(10000);
	wait_for(&host.threads[0], 5);
	usleep(100000);
	latency_host_take(&host, &latency);
	ck_assert_uint_eq(latency.host.cpus[0].nr, 0);
	end_latency();
}
END_TEST

START_TEST(other_threads_of_the_vmm_wait)
{
	begin_with(LATENCY_NO_CPU);
	wait_for(&host.threads[0], 1000000);
	ck_assert_uint_gt(taken(&latency.vmm, host.begin_ns, UINT64_MAX), 0);
	ck_assert_uint_eq(latency.host.cpus[0].nr, 0);
	ck_assert_str_eq(latency.vmm.cpus[0].spans[0].by.comm, "worker");
	end_latency();
}
END_TEST

static void put_times(const struct latency_thread *t, unsigned ran_ms, unsigned waited_ms)
{
	HV_AUTO_FREE char *text = hv_format("%u000000 %u000000 9\n", ran_ms, waited_ms);

	put(t->schedstat, text);
}

/* A vCPU thread's times in the window, limited to the window's length. */
START_TEST(shares_of_a_window)
{
	struct hv_shares shares;
	uint64_t begin_ns;

	begin_with(0);
	begin_ns = hv_now_ns();
	latency_host_shares(&host, 2, &shares);
	hv_shares_deinit(&shares);
	while (hv_now_ns() < begin_ns + 200 * HV_NS_PER_MS)
		usleep(1000);
	put_times(&host.threads[0], 30, 90);
	latency_host_end(&host);
	latency_host_shares(&host, 2, &shares);
	ck_assert_uint_eq(shares.nr, 2);
	ck_assert_uint_ge(shares.list[0].window_ns, 200 * HV_NS_PER_MS);
	ck_assert_uint_eq(shares.list[0].waited_ns, 90 * HV_NS_PER_MS);
	ck_assert_uint_ge(shares.list[0].ran_ns, 29 * HV_NS_PER_MS);
	ck_assert_uint_eq(shares.list[1].window_ns, 0);
	hv_shares_deinit(&shares);
	put_times(&host.threads[0], 30, 3600000);
	do {
		hv_shares_deinit(&shares);
		usleep(1000);
		latency_host_shares(&host, 2, &shares);
	} while (shares.list[0].waited_ns == 90 * HV_NS_PER_MS);
	ck_assert_uint_le(shares.list[0].waited_ns + shares.list[0].ran_ns,
			  shares.list[0].window_ns);
	hv_shares_deinit(&shares);
	end_latency();
}
END_TEST

/* The thread is stopped in all samples. */
START_TEST(a_share_that_was_stopped)
{
	struct hv_shares shares;
	uint64_t begin_ns;

	begin_with(LATENCY_ALL_CPUS);
	put(host.threads[0].stat, "77 (worker) T 1");
	begin_ns = hv_now_ns();
	while (hv_now_ns() < begin_ns + 200 * HV_NS_PER_MS)
		usleep(1000);
	latency_host_end(&host);
	latency_host_shares(&host, 2, &shares);
	ck_assert(shares.is_together);
	ck_assert_uint_ge(shares.list[1].stopped_ns, 190 * HV_NS_PER_MS);
	ck_assert(hv_share_decides(&shares.list[1]));
	hv_shares_deinit(&shares);
	end_latency();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, shares_of_a_window);
	tcase_add_test(tc, a_share_that_was_stopped);
	tcase_add_test(tc, threads_have_names);
	tcase_add_test(tc, the_vmm_must_be_known);
	tcase_add_test(tc, a_thread_is_seen);
	tcase_add_test(tc, an_unreadable_host_is_unseen);
	tcase_add_test(tc, a_vmm_may_count_instructions);
	tcase_add_test(tc, waits_before_measuring_do_not_count);
	tcase_add_test(tc, a_wait_counts_up_to_the_end_of_measuring);
	tcase_add_test(tc, a_wait_after_measuring_does_not_count);
	tcase_add_test(tc, other_threads_of_the_vmm_wait);
}

int main(void)
{
	return run_suite("latency_host", add_tests);
}
