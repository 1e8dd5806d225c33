/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which probe sites of a function share a jump, as probes are added and removed. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tracer/probe_sites/probe_sites.h"

#define AT  0xffffffff81001000ull
#define MAX 8

/* A function: the offsets of its instructions, and the bytes that move for each. */
static const unsigned begins[] = {0, 2, 3, 6, 11, 12, 14, 20};
#define NR HV_ARRAY_LEN(begins)

static struct hv_probe_want wants[MAX];
static struct hv_probe_run now[MAX], next[MAX];
static size_t nr_now, nr_next;

static struct hv_probe_site probe_site_at(unsigned off)
{
	struct hv_probe_site site = {.at = hv_gva(AT + off)};

	for (unsigned i = 0; i < NR && site.len_bytes < 5; i++)
		if (begins[i] >= off && i + 1 < NR) {
			site.begins |= 1u << (begins[i] - off);
			site.len_bytes = begins[i + 1] - off;
			site.nr++;
		}
	return site;
}

/* Plans runs for probes at OFFS, each with its offset as action group. The plan becomes the present
 * state. */
static void want(const unsigned *offs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		wants[i] = (struct hv_probe_want){probe_site_at(offs[i]), offs[i], false};
	nr_next = hv_probe_runs_plan(wants, nr, now, nr_now, next);
	for (size_t i = 0; i < nr; i++)
		ck_assert(!wants[i].is_refused);
	for (size_t i = 1; i < nr_next; i++)
		ck_assert(!hv_probe_runs_meet(&next[i - 1], &next[i]));
	memcpy(now, next, sizeof(now));
	nr_now = nr_next;
}

#define WANT(...)                                                                                  \
	want((const unsigned[]){__VA_ARGS__},                                                      \
	     sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* OFFS: offsets of the probes from AT. */
static void check_run(size_t run, unsigned head, const unsigned *offs, unsigned nr)
{
	ck_assert_uint_lt(run, nr_next);
	ck_assert_uint_eq(next[run].head.at.v, AT + head);
	ck_assert_uint_eq(next[run].nr_probes, nr);
	for (unsigned i = 0; i < nr; i++) {
		ck_assert_uint_eq(next[run].probes[i].off, offs[i] - head);
		ck_assert(hv_probe_run_records(&next[run], hv_gva(AT + offs[i]), offs[i]));
		ck_assert(!hv_probe_run_records(&next[run], hv_gva(AT + offs[i]), offs[i] + 1));
	}
}

#define CHECK_RUN(run, head, ...)                                                                  \
	check_run(run, head, (const unsigned[]){__VA_ARGS__},                                      \
		  sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void set_up(void)
{
	nr_now = 0;
}

START_TEST(probe_sites_of_one_jump_are_one_run)
{
	WANT(0, 2, 3);
	ck_assert_uint_eq(nr_next, 1);
	CHECK_RUN(0, 0, 0, 2, 3);
}
END_TEST

START_TEST(all_instructions_of_a_function)
{
	WANT(0, 2, 3, 6, 11, 12, 14);
	ck_assert_uint_eq(nr_next, 3);
	CHECK_RUN(0, 0, 0, 2, 3);
	CHECK_RUN(1, 6, 6);
	CHECK_RUN(2, 11, 11, 12, 14);
}
END_TEST

START_TEST(a_run_stays_while_a_probe_is_enabled)
{
	WANT(0, 2, 3);
	WANT(2, 3);
	ck_assert_uint_eq(nr_next, 1);
	CHECK_RUN(0, 0, 2, 3);
	WANT(3);
	CHECK_RUN(0, 0, 3);
	WANT(0, 3);
	CHECK_RUN(0, 0, 0, 3);
	WANT(6);
	ck_assert_uint_eq(nr_next, 1);
	CHECK_RUN(0, 6, 6);
}
END_TEST

START_TEST(an_earlier_probe_site_starts_a_new_run)
{
	WANT(3, 6); /* for 3, everything up to 11 moves */
	ck_assert_uint_eq(nr_next, 1);
	CHECK_RUN(0, 3, 3, 6);
	WANT(2, 3, 6); /* and for 2 up to 11, too */
	CHECK_RUN(0, 2, 2, 3, 6);
	WANT(0, 3, 6); /* for 0 up to 6: the rest gets a separate run */
	ck_assert_uint_eq(nr_next, 2);
	CHECK_RUN(0, 0, 0, 3);
	CHECK_RUN(1, 6, 6);
}
END_TEST

START_TEST(probe_sites_can_be_added_in_any_order)
{
	WANT(14);
	WANT(12, 14);
	CHECK_RUN(0, 12, 12, 14);
	WANT(11, 14);
	CHECK_RUN(0, 11, 11, 14);
	WANT(12);
	ck_assert_uint_eq(nr_next, 1);
	CHECK_RUN(0, 11, 12);
}
END_TEST

START_TEST(a_site_inside_an_instruction_is_refused)
{
	struct hv_probe_want two[] = {{probe_site_at(0), 0, false}, {probe_site_at(2), 2, false}};

	two[1].site.at = hv_gva(AT + 1);
	nr_next = hv_probe_runs_plan(two, 2, NULL, 0, next);
	ck_assert_uint_eq(nr_next, 1);
	CHECK_RUN(0, 0, 0);
	ck_assert(two[1].is_refused);
	two[1] = (struct hv_probe_want){probe_site_at(2), 2, true};
	nr_next = hv_probe_runs_plan(two, 2, NULL, 0, next);
	CHECK_RUN(0, 0, 0);
}
END_TEST

START_TEST(a_run_contains_its_subset)
{
	struct hv_probe_run one;

	WANT(0, 2);
	one = next[0];
	WANT(0, 2, 3);
	ck_assert(hv_probe_run_has(&next[0], &one));
	ck_assert(!hv_probe_run_has(&one, &next[0]));
	one.probes[0].group++;
	ck_assert(!hv_probe_run_has(&next[0], &one));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, probe_sites_of_one_jump_are_one_run);
	tcase_add_test(tc, all_instructions_of_a_function);
	tcase_add_test(tc, a_run_stays_while_a_probe_is_enabled);
	tcase_add_test(tc, an_earlier_probe_site_starts_a_new_run);
	tcase_add_test(tc, probe_sites_can_be_added_in_any_order);
	tcase_add_test(tc, a_site_inside_an_instruction_is_refused);
	tcase_add_test(tc, a_run_contains_its_subset);
}

int main(void)
{
	return run_suite("probe_runs", add_tests);
}
