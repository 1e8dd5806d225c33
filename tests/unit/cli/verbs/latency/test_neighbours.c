/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes are recognized, whatever their names. */
#include <check.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/verbs/latency/neighbours.h"
#include "tests/lib/run_suite.h"

static pid_t start(const char *name)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const struct latency_neighbour *find(const struct latency_neighbours *n, pid_t pid)
{
	for (size_t i = 0; i < n->nr; i++)
		if (n->list[i].pid == (uint32_t)pid)
			return &n->list[i];
	return NULL;
}

START_TEST(names_with_parentheses_are_parsed)
{
	struct latency_neighbours n = {0};
	pid_t odd = start(") R 1 9 (9 9"), plain = start("plain");

	latency_neighbours_begin(&n);
	ck_assert_ptr_nonnull(find(&n, odd));
	ck_assert_ptr_nonnull(find(&n, plain));
	ck_assert_uint_le(find(&n, odd)->start, find(&n, plain)->start);
	ck_assert_uint_gt(find(&n, odd)->start, 0);
	end(odd);
	end(plain);
	latency_neighbours_end(&n, 1);
	ck_assert_uint_ne(n.busiest.pid, (uint32_t)odd);
	latency_neighbours_deinit(&n);
}
END_TEST

/* The process has used CPU time, and its pid belonged to another process before. None of the time
 * counts. */
START_TEST(a_reused_pid_starts_at_zero)
{
	struct latency_neighbours n = {0};

	latency_neighbours_begin(&n);
	for (size_t i = 0; i < n.nr; i++) {
		n.list[i].start++;
		n.list[i].ticks = 0;
	}
	latency_neighbours_end(&n, 1);
	ck_assert_uint_eq(n.busiest_ppm, 0);
	ck_assert_uint_eq(n.nr_guests, 0);
	latency_neighbours_deinit(&n);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, names_with_parentheses_are_parsed);
	tcase_add_test(tc, a_reused_pid_starts_at_zero);
}

int main(void)
{
	return run_suite("latency_neighbours", add_tests);
}
