/* The main part of every test program that uses Check: one suite with one test case set, to which
 * the program adds its tests. Leaves to others: what has to be there before the first test or to go
 * after the last, which is main()'s. */
#pragma once

#include <check.h>
#include <stdlib.h>

/* Runs what ADD adds. FORKS: CK_NOFORK runs all tests in this process. CK_VERBOSITY in the
 * environment says how much is printed. Returns the status that main() is to return: EXIT_FAILURE
 * when a test failed. */
static inline int run_suite_in(enum fork_status forks, const char *name, void (*add)(TCase *tc))
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int nr_failed;

	add(tc);
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner, forks);
	srunner_run_all(runner, CK_ENV);
	nr_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return nr_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Likewise, with each test in a process of its own unless CK_FORK=no is in the environment. */
static inline int run_suite(const char *name, void (*add)(TCase *tc))
{
	return run_suite_in(CK_FORK_GETENV, name, add);
}
