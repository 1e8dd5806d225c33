/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main part of every test program that uses Check: one suite with one test case set, to which
 * the program adds its tests. Setup and cleanup of the whole program are done in its main(). */
#pragma once

#include <check.h>
#include <stdlib.h>

/* Check records the location of each passed assertion to report where a crashed test was. This
 * costs a write and later a move of 8 KiB, which was most of the time in tests with many
 * assertions. The sanitizers report the location of a crash as well. */
#define _mark_point(file, line) ((void)0)

/* Runs the tests that ADD adds. FORKS: CK_NOFORK runs all tests in this process, CK_FORK runs each
 * in a child process. The environment variable CK_VERBOSITY sets the amount of output. Returns the
 * exit status for main(): EXIT_FAILURE if a test failed. */
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

/* Like run_suite_in(), with each test in a child process unless the environment has CK_FORK=no, as
 * under meson. */
static inline int run_suite(const char *name, void (*add)(TCase *tc))
{
	return run_suite_in(CK_FORK_GETENV, name, add);
}
