/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function of a program that causes a stall, from a session's answers, which may contain
 * anything. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "cli/verbs/latency/functions.h"
#include "cli/verbs/profile/ticks.h"
#include "tests/lib/run_suite.h"

static struct latency_functions functions;
static struct hv_latency latency;
static struct hv_verdict verdict;
static const char *maps, *names;
static unsigned nr_asked;
static bool is_gone;

static struct hv_err *answer(const char *text, char **ret)
{
	nr_asked++;
	if (is_gone)
		return hv_err_new(ECONNRESET, "gone");
	*ret = hv_strdup(text);
	return NULL;
}

struct hv_err *client_program(struct client *c hv_unused, uint32_t pid hv_unused, char **ret)
{
	return answer(maps, ret);
}

struct hv_err *client_functions(struct client *c hv_unused, const char *places hv_unused,
				char **ret)
{
	return answer(names, ret);
}

bool client_is_gone(const struct hv_err *err)
{
	return err && err->code == ECONNRESET;
}

struct hv_err *profile_ticks_define(struct profile_probe *p hv_unused, struct client *c hv_unused)
{
	return hv_err_new(ENOENT, "no such function");
}

struct hv_err *profile_probe_remove(struct profile_probe *p hv_unused, struct client *c hv_unused)
{
	return NULL;
}

struct hv_err *profile_explain(struct hv_err *err, char **ret_why)
{
	if (err)
		*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	return NULL;
}

static void set_up(void)
{
	functions = (struct latency_functions){0};
	latency = (struct hv_latency){0};
	verdict = (struct hv_verdict){.nr = 1};
	verdict.list[0] = (struct hv_cause){
		.fault = HV_FAULT_TENANTS_PROGRAM,
		.longest = {.kind = HV_STALL_RUNQUEUE,
			    .from_ns = 10,
			    .to_ns = 1000,
			    .by = hv_stall_task(8, "greedy")},
	};
	maps = "401000 479000 1000 ffff888001 7 1000 abcd12 /bin/gre edy\n";
	names = "";
	nr_asked = 0;
	is_gone = false;
	hv_program_ticks_init(&latency.finders.programs, 1);
	latency_functions_follow(&functions, NULL, &latency);
}

static void tear_down(void)
{
	hv_program_ticks_deinit(&latency.finders.programs);
	latency_functions_deinit(&functions);
}

/* The program is at ADDRESS at a tick. */
static void sample(uint64_t address)
{
	hv_program_ticks_add(&latency.finders.programs,
			     &(struct hv_moment){.kind = HV_MOMENT_SAMPLE,
						 .time_ns = 100,
						 .pid = 8,
						 .comm = "greedy",
						 .address = address});
}

static const struct latency_function *named(void)
{
	hv_program_ticks_choose(&latency.finders.programs, &verdict.list[0].longest);
	ck_assert_ptr_null(latency_functions_name(&functions, &verdict));
	return &functions.list[0];
}

/* Addresses of one function count together. */
START_TEST(most_samples)
{
	const struct latency_function *f;

	sample(0x401300);
	sample(0x401300);
	sample(0x401200);
	sample(0x401204);
	sample(0x401208);
	/* In the order of the request: the newest sample first. */
	names = "1208 401208 spin\n1204 401204 spin\n1200 401200 spin\n1300 401300 main\n";
	f = named();
	ck_assert_str_eq(f->name, "spin");
	ck_assert_str_eq(f->file, "/bin/gre edy");
	ck_assert_uint_eq(f->nr, 3);
	ck_assert_uint_eq(f->nr_samples, 5);
}
END_TEST

/* Functions that the session does not name are shown by their addresses: each on its own. */
START_TEST(no_name)
{
	const struct latency_function *f;

	sample(0x401200);
	sample(0x401204);
	sample(0x401204);
	names = "1204 0 -\n1200 0 -\n";
	f = named();
	ck_assert_str_eq(f->name, "gre edy+0x1204 [abcd12]");
	ck_assert_uint_eq(f->nr, 2);
	ck_assert_uint_eq(f->nr_samples, 3);
}
END_TEST

/* Code without a mapping: the address. Kernel addresses and larger offsets have no function. */
START_TEST(no_file)
{
	const struct latency_function *f;

	sample(0xffffffff81000000);
	sample(0xffffffff81000000);
	sample(0x7f0010);
	f = named();
	ck_assert_str_eq(f->name, "0x7f0010");
	ck_assert_ptr_null(f->file);
	ck_assert_uint_eq(f->nr, 1);
	ck_assert_uint_eq(f->nr_samples, 3);
}
END_TEST

/* The guest chooses the offsets of mappings, and answers may lie. */
START_TEST(answers_that_lie)
{
	const struct latency_function *f;

	maps = "401000 479000 ffffffffffffff00 ffff888001 7 1000 - /bin/x\n"
	       "500000 501000 0 ffff888001 7 1000 - /bin/x\n";
	sample(0x401010);
	sample(0x500000);
	names = "1 2 3 4\nxyz\n";
	f = named();
	ck_assert_str_eq(f->name, "x+0x0");
	ck_assert_uint_eq(f->nr, 1);
	ck_assert_uint_eq(f->nr_samples, 2);
}
END_TEST

/* Only a cause that is a program's fault has a function, and no other one is looked up. */
START_TEST(other_faults)
{
	sample(0x401200);
	nr_asked = 0;
	verdict.list[0].fault = HV_FAULT_UNKNOWN;
	ck_assert_ptr_null(named()->name);
	verdict.list[0].fault = HV_FAULT_TENANTS_PROGRAM;
	verdict.list[0].longest.kind = HV_STALL_SYSCALL;
	ck_assert_ptr_null(named()->name);
	ck_assert_uint_eq(nr_asked, 0);
}
END_TEST

START_TEST(the_session_ends)
{
	struct hv_err *err;

	sample(0x401200);
	is_gone = true;
	hv_program_ticks_choose(&latency.finders.programs, &verdict.list[0].longest);
	err = latency_functions_name(&functions, &verdict);
	ck_assert(client_is_gone(err));
	hv_err_free(err);
}
END_TEST

START_TEST(the_guest_has_no_probe)
{
	HV_AUTO_FREE char *why = NULL;

	ck_assert_ptr_null(latency_functions_begin(&functions, NULL, &why));
	ck_assert_str_eq(why, "no such function");
	ck_assert(!functions.is_on);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, most_samples);
	tcase_add_test(tc, no_name);
	tcase_add_test(tc, no_file);
	tcase_add_test(tc, answers_that_lie);
	tcase_add_test(tc, other_faults);
	tcase_add_test(tc, the_session_ends);
	tcase_add_test(tc, the_guest_has_no_probe);
}

int main(void)
{
	return run_suite("functions of programs", add_tests);
}
