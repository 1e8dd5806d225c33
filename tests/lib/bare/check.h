/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the Check API that a unit test needs to run in a guest of another architecture, where
 * libcheck is missing. Adding a test runs it. The first failed assertion ends the program. */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct TCase {
	const char *name;
} TCase, Suite, SRunner;

enum fork_status { CK_FORK_GETENV };
enum print_output { CK_ENV };

static inline Suite *suite_create(const char *name)
{
	static Suite suite;

	suite.name = name;
	return &suite;
}
#define tcase_create(name)		       suite_create(name)
#define suite_add_tcase(suite, tc)	       ((void)(suite), (void)(tc))
#define srunner_create(suite)		       (suite)
#define srunner_set_fork_status(runner, forks) ((void)(runner), (void)(forks))
#define srunner_run_all(runner, output)	       ((void)(runner))
#define srunner_ntests_failed(runner)	       ((void)(runner), 0)
#define srunner_free(runner)		       ((void)(runner))

#define START_TEST(test)                                                                           \
	static void test(void)                                                                     \
	{
#define END_TEST }

#define ck_assert_msg(is_true, ...)                                                                \
	((is_true) ? (void)0                                                                       \
		   : (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"),    \
		      exit(EXIT_FAILURE)))
#define ck_assert(is_true) ck_assert_msg(is_true, "%s", #is_true)
#define bare_compare(type, format, a, op, b)                                                       \
	do {                                                                                       \
		type bare_a = (a), bare_b = (b);                                                   \
		ck_assert_msg(bare_a op bare_b, "%s is %" format ", not " #op " %" format, #a,     \
			      bare_a, bare_b);                                                     \
	} while (0)
#define ck_assert_int_eq(a, b)	 bare_compare(intmax_t, PRIdMAX, a, ==, b)
#define ck_assert_int_ge(a, b)	 bare_compare(intmax_t, PRIdMAX, a, >=, b)
#define ck_assert_int_gt(a, b)	 bare_compare(intmax_t, PRIdMAX, a, >, b)
#define ck_assert_int_lt(a, b)	 bare_compare(intmax_t, PRIdMAX, a, <, b)
#define ck_assert_uint_eq(a, b)	 bare_compare(uintmax_t, PRIuMAX, a, ==, b)
#define ck_assert_ptr_null(p)	 ck_assert_msg((p) == NULL, "%s is not NULL", #p)
#define ck_assert_ptr_nonnull(p) ck_assert_msg((p) != NULL, "%s is NULL", #p)

#define tcase_add_test(tc, test)                                                                   \
	(test(), printf("%s: %s\n", (tc)->name, #test), fflush(stdout), (void)0)
#define tcase_set_timeout(tc, seconds) ((void)(tc), (void)(seconds))
