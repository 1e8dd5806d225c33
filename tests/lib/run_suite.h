/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main part of every test program that uses Check: one suite with one test case set, to which
 * the program adds its tests. Leaves to others: preparation before the first test and cleanup after
 * the last, which is main()'s. */
#pragma once

#include <check.h>
#include <stdlib.h>

/* Check notes the place of each assertion that holds, for the report of a test that dies behind it:
 * a write, and later a move of 8 KiB. In tests of many assertions that was most of the time. The
 * sanitizers tell such places, too. */
#define _mark_point(file, line) ((void)0)

/* Runs the tests that ADD adds. FORKS: CK_NOFORK runs all tests in this process, CK_FORK each in
 * one of its own. CK_VERBOSITY in the environment says how much is printed. Returns the exit status
 * for main(): EXIT_FAILURE if a test failed. */
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

/* The same, with each test in a process of its own unless CK_FORK=no is in the environment, as it
 * is under meson. */
static inline int run_suite(const char *name, void (*add)(TCase *tc))
{
	return run_suite_in(CK_FORK_GETENV, name, add);
}
