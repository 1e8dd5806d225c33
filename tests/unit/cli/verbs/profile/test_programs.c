/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and functions of programs from a session's answers, which may contain anything. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/guard.h"
#include "cli/verbs/profile/programs.h"
#include "tests/lib/run_suite.h"

#define MAPS                                                                                       \
	"401000 479000 1000 ffff888001 7 1000 abcd12 /bin/fra mes\n"                               \
	"7f0000 7f1000 0 0 0 0 - [vdso]\n"                                                         \
	"800000 801000 0 0 0 0 - \n"

static struct programs programs;
static struct hv_chains chains;
static const char *maps, *functions;
static unsigned nr_asked;
static char request[256];
static bool is_gone;
static uint64_t clock_ns;  /* the time, which only the tests advance */
static uint64_t answer_ns; /* time until an answer */

/* The linker replaces clock_gettime() by this function. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock hv_unused, struct timespec *ret)
{
	ret->tv_sec = (time_t)(clock_ns / HV_NS_PER_S);
	ret->tv_nsec = (long)(clock_ns % HV_NS_PER_S);
	return 0;
}

static struct hv_err *answer(const char *text, char **ret)
{
	nr_asked++;
	clock_ns += answer_ns;
	if (is_gone)
		return hv_err_new(ECONNRESET, "gone");
	*ret = hv_strdup(text);
	return NULL;
}

struct hv_err *client_program(struct client *c hv_unused, uint32_t pid hv_unused, char **ret)
{
	return answer(maps, ret);
}

struct hv_err *client_functions(struct client *c hv_unused, const char *places, char **ret)
{
	snprintf(request, sizeof(request), "%s", places);
	return answer(functions, ret);
}

bool client_is_gone(const struct hv_err *err)
{
	return err && err->code == ECONNRESET;
}

static void set_up(void)
{
	programs = (struct programs){0};
	chains = (struct hv_chains){0};
	maps = MAPS;
	functions = "";
	nr_asked = 0;
	is_gone = false;
	answer_ns = 0;
	clock_ns = 100 * HV_NS_PER_S;
}

static void tear_down(void)
{
	programs_deinit(&programs);
	hv_chains_deinit(&chains);
}

static enum hv_profile_place find(uint32_t pid, const char *comm, uint64_t address, uint32_t *file,
				  uint64_t *off)
{
	return programs_find(&programs, pid, comm, address, file, off);
}

START_TEST(addresses_and_files)
{
	uint32_t file = 0, other = 0;
	uint64_t off = 0;

	ck_assert_int_eq(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(off, 0x1234);
	ck_assert_int_eq(find(5, "a", 0x478fff, &other, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(other, file);
	ck_assert_int_eq(find(5, "a", 0x479000, &other, &off), HV_PROFILE_NO_CODE);
	ck_assert_int_eq(find(5, "a", 0x400fff, &other, &off), HV_PROFILE_NO_CODE);
	ck_assert_uint_eq(nr_asked, 1); /* a process is not looked up again at once */
	ck_assert_int_eq(find(6, "b", 0x401234, &other, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(other, file);
	ck_assert_uint_eq(nr_asked, 2);
	maps = "";
	ck_assert_int_eq(find(7, "c", 0x401234, &other, &off), HV_PROFILE_UNKNOWN);
}
END_TEST

/* The path of the cgroup precedes the mappings, which may be missing. */
START_TEST(cgroups)
{
	uint32_t file;
	uint64_t off;

	ck_assert_ptr_null(programs_cgroup(&programs, 4, "a"));
	maps = "/web shop/x\n" MAPS;
	ck_assert_str_eq(programs_cgroup(&programs, 5, "a"), "/web shop/x");
	ck_assert_int_eq(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(nr_asked, 2);
	ck_assert_ptr_null(programs_cgroup(&programs, 4, "a")); /* asked a moment ago */
	maps = "/\n";
	ck_assert_str_eq(programs_cgroup(&programs, 6, "kworker"), "/");
	ck_assert_str_eq(programs_cgroup(&programs, 5, "b"), "/");
	ck_assert_int_eq(find(5, "b", 0x401234, &file, &off), HV_PROFILE_FILE);
}
END_TEST

START_TEST(a_program_that_executes_another)
{
	uint32_t file, other;
	uint64_t off;

	ck_assert_int_eq(find(5, "sh", 0x401234, &file, &off), HV_PROFILE_FILE);
	maps = "401000 479000 0 ffff888002 8 1000 - /bin/other\n";
	ck_assert_int_eq(find(5, "other", 0x401234, &other, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(off, 0x234);
	ck_assert_uint_ne(file, other);
}
END_TEST

/* The first sample may arrive while the process executes a program and has no mappings. It is looked
 * up again soon, but a process that never gets any is not looked up often. */
START_TEST(a_program_that_is_looked_up_again)
{
	uint32_t file;
	uint64_t off;

	maps = "";
	ck_assert_int_eq(find(5, "sh", 0x401234, &file, &off), HV_PROFILE_UNKNOWN);
	maps = MAPS;
	clock_ns += 40 * HV_NS_PER_MS;
	ck_assert_int_eq(find(5, "sh", 0x401234, &file, &off), HV_PROFILE_UNKNOWN);
	clock_ns += 10 * HV_NS_PER_MS;
	ck_assert_int_eq(find(5, "sh", 0x401234, &file, &off), HV_PROFILE_FILE);
	maps = "";
	nr_asked = 0;
	for (unsigned i = 0; i < 10000; i++, clock_ns += HV_NS_PER_MS)
		ck_assert_int_eq(find(6, "sh", 0x401234, &file, &off), HV_PROFILE_UNKNOWN);
	ck_assert_uint_ge(nr_asked, 10);
	ck_assert_uint_le(nr_asked, 15);
}
END_TEST

/* The address of an address_space can be reused for another inode. */
START_TEST(another_file_at_the_same_address)
{
	uint32_t file, other;
	uint64_t off;

	ck_assert_int_eq(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	maps = "401000 479000 1000 ffff888001 9 1000 - /bin/new\n";
	ck_assert_int_eq(find(6, "a", 0x401234, &other, &off), HV_PROFILE_FILE);
	ck_assert_uint_ne(file, other);
}
END_TEST

/* Each file is stored once, also anonymous memory and a changed file. */
START_TEST(files_are_stored_once)
{
	uint32_t file;
	uint64_t off;

	ck_assert_int_eq(find(5, "a", 0x800004, &file, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(programs.nr_files, 3);
	ck_assert_int_eq(find(6, "a", 0x800004, &file, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(programs.nr_files, 3);
	maps = "401000 479000 1000 ffff888001 9 1000 - /bin/new\n";
	for (uint32_t pid = 7; pid < 10; pid++)
		ck_assert_int_eq(find(pid, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	ck_assert_uint_eq(programs.nr_files, 4);
}
END_TEST

/* The guest chooses the numbers of tasks. */
START_TEST(tasks_without_end)
{
	uint32_t file;
	uint64_t off;

	maps = "";
	for (uint32_t pid = 1; pid < 3 * PROGRAMS_TASKS_MAX; pid++)
		find(pid, "a", 0x401234, &file, &off);
	ck_assert_uint_le(programs.nr, PROGRAMS_TASKS_MAX);
	maps = MAPS;
	programs.period_ns = 0;
	ck_assert_int_eq(find(1, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
}
END_TEST

/* A request that takes long is followed by a pause of three times this length. */
START_TEST(slow_answers)
{
	uint32_t file;
	uint64_t off, begin_ns = hv_now_ns();

	answer_ns = 3 * HV_NS_PER_S / 10;
	ck_assert_int_eq(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	for (uint32_t pid = 6; nr_asked == 1; pid++)
		if (find(pid, "a", 0x401234, &file, &off) != HV_PROFILE_FILE)
			clock_ns += HV_NS_PER_MS;
	ck_assert_uint_ge(hv_now_ns() - begin_ns, 3 * HV_NS_PER_S / 2);
}
END_TEST

START_TEST(names)
{
	static const uint64_t addresses[] = {0x401234, 0x401300, 0x7f0008, 0x800004};
	static const char *const wanted[] = {"main", "fra mes+0x1300 [abcd12]", "[vdso]",
					     "[anonymous memory]"};
	uint32_t frames[HV_ARRAY_LEN(addresses)];

	functions = "1234 401234 main\n1300 401300 -\n";
	for (unsigned i = 0; i < HV_ARRAY_LEN(addresses); i++) {
		uint32_t file;
		uint64_t off;

		ck_assert_int_eq(find(5, "a", addresses[i], &file, &off), HV_PROFILE_FILE);
		ck_assert(hv_chains_frame(&chains, HV_CHAIN_USER, file, off, &frames[i]));
	}
	ck_assert_ptr_null(programs_name(&programs, &chains, 0, PROGRAMS_NAMES_NS));
	for (unsigned i = 0; i < HV_ARRAY_LEN(addresses); i++)
		ck_assert_str_eq(chains.frames[frames[i]].name, wanted[i]);
	ck_assert_str_eq(request, "ffff888001 7 1000 1234 1300");
}
END_TEST

/* Frames before FIRST have been looked up, and without time no name is looked up. */
START_TEST(some_names_only)
{
	static const uint64_t addresses[] = {0x401234, 0x401300};
	uint32_t frames[HV_ARRAY_LEN(addresses)];

	functions = "1300 401300 other\n";
	for (unsigned i = 0; i < HV_ARRAY_LEN(addresses); i++) {
		uint32_t file;
		uint64_t off;

		ck_assert_int_eq(find(5, "a", addresses[i], &file, &off), HV_PROFILE_FILE);
		ck_assert(hv_chains_frame(&chains, HV_CHAIN_USER, file, off, &frames[i]));
	}
	ck_assert_ptr_null(programs_name(&programs, &chains, frames[1], PROGRAMS_NAMES_NS));
	ck_assert_ptr_null(chains.frames[frames[0]].name);
	ck_assert_str_eq(chains.frames[frames[1]].name, "other");
	ck_assert_str_eq(request, "ffff888001 7 1000 1300");
	functions = "1234 401234 main\n";
	ck_assert_ptr_null(programs_name(&programs, &chains, 0, 0));
	ck_assert_str_eq(chains.frames[frames[0]].name, "fra mes+0x1234 [abcd12]");
}
END_TEST

/* Answers that are short, in another order, or no lines at all. */
START_TEST(names_that_are_wrong)
{
	static const char *const wrong[] = {"",	     "\n",     "x",	  "1300 1 main\n", "1234",
					    "1234 ", "1234 1", "1234 \n", "1234 z\n"};
	uint32_t file, frame;
	uint64_t off;

	functions = wrong[_i];
	ck_assert_int_eq(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	ck_assert(hv_chains_frame(&chains, HV_CHAIN_USER, file, off, &frame));
	ck_assert_ptr_null(programs_name(&programs, &chains, 0, PROGRAMS_NAMES_NS));
	ck_assert_str_eq(chains.frames[frame].name, "fra mes+0x1234 [abcd12]");
}
END_TEST

START_TEST(mappings_that_are_wrong)
{
	static const char *const wrong[] = {
		"",
		"x",
		"401000",
		"401000 479000 1000 1 2 3",
		"401000 479000 1000 1 2 3 -",
		"479000 401000 1000 1 2 3 - /x",
		"500000 500001 0 1 2 3 - /x\n401000 479000 1000 1 2 3 - /x"};
	uint32_t file;
	uint64_t off;

	maps = wrong[_i];
	ck_assert_int_ne(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
}
END_TEST

START_TEST(a_closed_session)
{
	uint32_t file, frame;
	uint64_t off;
	struct hv_err *err;

	ck_assert_int_eq(find(5, "a", 0x401234, &file, &off), HV_PROFILE_FILE);
	ck_assert(hv_chains_frame(&chains, HV_CHAIN_USER, file, off, &frame));
	is_gone = true;
	ck_assert_int_eq(find(6, "a", 0x401234, &file, &off), HV_PROFILE_UNKNOWN);
	ck_assert_int_eq(find(7, "a", 0x401234, &file, &off), HV_PROFILE_UNKNOWN);
	ck_assert_uint_eq(nr_asked, 2);
	err = programs_name(&programs, &chains, 0, PROGRAMS_NAMES_NS);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, addresses_and_files);
	tcase_add_test(tc, cgroups);
	tcase_add_test(tc, a_program_that_executes_another);
	tcase_add_test(tc, a_program_that_is_looked_up_again);
	tcase_add_test(tc, another_file_at_the_same_address);
	tcase_add_test(tc, files_are_stored_once);
	tcase_add_test(tc, tasks_without_end);
	tcase_add_test(tc, slow_answers);
	tcase_add_test(tc, names);
	tcase_add_test(tc, some_names_only);
	tcase_add_loop_test(tc, names_that_are_wrong, 0, 9);
	tcase_add_loop_test(tc, mappings_that_are_wrong, 0, 7);
	tcase_add_test(tc, a_closed_session);
}

int main(void)
{
	return run_suite("programs", add_tests);
}
