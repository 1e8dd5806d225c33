/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Top's text for two domains: rates, unknown values, ended sessions. */
#include <check.h>
#include <string.h>

#include "cli/verbs/top/text.h"
#include "tests/lib/run_suite.h"

#define SECOND UINT64_C(1000000000)

static struct top_domain domains[2];
static struct top_view view;
static struct hv_text text;

static void set_up(void)
{
	domains[0] = (struct top_domain){.name = (char *)"web1"};
	domains[0].before = (struct top_look){
		.at_ns = SECOND,
		.nr_events = 100,
		.nr_lost = 1,
		.held_ns = 1000000,
		.has_time = 1,
		.time = {SECOND, 2 * SECOND},
		.has_exits = 1,
		.nr_exits = 1000,
	};
	domains[0].now = (struct top_look){
		.at_ns = 3 * SECOND,
		.nr_events = 1101,
		.nr_lost = 4,
		.nr_not_counted = 1,
		.held_ns = 1500000,
		.load_ppm = 20000,
		.has_load = 1,
		.has_time = 1,
		.time = {4 * SECOND, 2 * SECOND + SECOND / 5},
		.has_exits = 1,
		.nr_exits = 5000,
	};
	domains[1] = (struct top_domain){
		.name = (char *)"a-domain-with-a-long-name",
		.before = {.at_ns = SECOND},
		.now = {.at_ns = 2 * SECOND},
	};
	view = (struct top_view){.domains = domains, .nr_domains = 2, .rows_max = 2};
	text = (struct hv_text){0};
}

static void tear_down(void)
{
	hv_text_deinit(&text);
	top_table_deinit(&view.table);
	top_counts_deinit(&domains[0].now.counts);
}

static void count_functions(void)
{
	struct top_counts *counts = &domains[0].now.counts;

	top_counts_add(counts, "vfs_read", 1000000, 3000.5);
	top_counts_add(counts, "vfs_write", 4, 1);
	top_counts_add(counts, "vfs_open", 2, 0.5);
	top_counts_join(counts);
	top_table_add(&view.table, 0, &domains[0].before.counts, counts);
	top_table_sort(&view.table, TOP_BY_TIME, 0);
}

START_TEST(two_domains)
{
	domains[1].no_functions =
		(char *)"the profile and func_stack_trace cannot be used together";
	top_text_lines(&view, &text);
	ck_assert_str_eq(
		text.data,
		"DOMAIN             EVENTS/s     LOST   COST %   vCPU %  STEAL %  HELD ms EXITS/s\n"
		"web1                  500.5        3     2.00   150.00    10.00    0.500    2000\n"
		"                 not counted: 1 call\n"
		"a-domain-with-a-        0.0        0        -        -        -    0.000       -\n"
		"                 no functions: the profile and func_stack_trace cannot be used "
		"together\n");
}
END_TEST

/* A profiled call costs about 26 ns: a million in two seconds are 1.3 %. */
START_TEST(functions)
{
	view.nr_domains = 1;
	domains[0].now.nr_not_counted = 0;
	count_functions();
	top_text_lines(&view, &text);
	ck_assert_str_eq(
		text.data,
		"DOMAIN             EVENTS/s     LOST   COST %   vCPU %  STEAL %  HELD ms EXITS/s\n"
		"web1                  500.5        3     3.30   150.00    10.00    0.500    2000\n"
		"DOMAIN           FUNCTION                             HITS       TIME ms    "
		"AVERAGE us\n"
		"web1             vfs_read                          1000000         3.001         "
		"0.003\n"
		"web1             vfs_write                               4         0.001         "
		"0.250\n");
}
END_TEST

START_TEST(an_ended_domain)
{
	view.domains++;
	view.nr_domains = 1;
	domains[1].ended = (char *)"the session has ended";
	top_text_lines(&view, &text);
	ck_assert_str_eq(
		text.data,
		"DOMAIN             EVENTS/s     LOST   COST %   vCPU %  STEAL %  HELD ms EXITS/s\n"
		"a-domain-with-a- ended: the session has ended\n");
}
END_TEST

/* The service that counts may have restarted. */
START_TEST(counts_that_restarted)
{
	struct top_rates rates;

	domains[0].now.nr_events = 50;
	domains[0].now.has_time = 0;
	top_look_rates(&domains[0].before, &domains[0].now, &rates);
	ck_assert_double_eq_tol(rates.events_per_s, 25, 1e-9);
	ck_assert_double_lt(rates.run, 0);
}
END_TEST

/* Of 1000 waits, 11 took longer than a microsecond. */
START_TEST(run_queues)
{
	struct top_rates rates;

	view.has_waits = 1;
	domains[0].before.has_waits = domains[0].now.has_waits = 1;
	domains[0].before.waits.nr[0] = 5;
	domains[0].now.waits = (struct hv_wait_times){
		.nr = {994, 1, [6] = 9, [HV_WAIT_TIMES_BOUNDS] = 1}, .sum_ns = 7000000};
	domains[1].waits.why = (char *)"no \x1b events";
	top_text_lines(&view, &text);
	ck_assert_ptr_nonnull(strstr(text.data, " HELD ms EXITS/s  RUNQ us  99 % us\n"));
	ck_assert_ptr_nonnull(strstr(text.data, "    2000        7        5\n"));
	ck_assert_ptr_nonnull(strstr(text.data, "       -        -        -\n"));
	ck_assert_ptr_nonnull(strstr(text.data, " no run queue: no ? events\n"));
	domains[0].now.waits.nr[HV_WAIT_TIMES_BOUNDS] = 10000;
	top_look_rates(&domains[0].before, &domains[0].now, &rates);
	ck_assert(rates.wait_99_us > 1e12);
	domains[0].now.waits = domains[0].before.waits;
	top_look_rates(&domains[0].before, &domains[0].now, &rates);
	ck_assert_double_lt(rates.wait_us, 0);
	hv_text_deinit(&text);
	text = (struct hv_text){0};
	domains[0].now.waits.nr[1] += 2;
	domains[0].now.waits.sum_ns += 5000;
	top_text_json(&view, 1234, &text);
	ck_assert_ptr_nonnull(strstr(text.data, "\"runqueue_us\":2.500,\"runqueue_99_us\":5.000,"
						"\"no_runqueue\":null"));
	ck_assert_ptr_nonnull(strstr(text.data, "\"no_runqueue\":\"no ? events\""));
}
END_TEST

/* Samples of programs; the names come from the guest. */
START_TEST(programs)
{
	struct top_program list[] = {
		{"fra\x1bmes", "spin\x1bleft", "/bin/fra\x1bmes", 6},
		{"dd", "0x7f0010", NULL, 2},
		{"dd", "main", "/bin/dd", 1},
	};

	view.has_programs = 1;
	view.programs_max = 2;
	domains[0].now.nr_not_counted = 0;
	domains[0].programs =
		(struct top_programs){.list = list, .nr = HV_ARRAY_LEN(list), .nr_samples = 8};
	domains[1].programs.why = (char *)"no \x1b probe";
	top_text_lines(&view, &text);
	ck_assert_ptr_nonnull(strstr(text.data, "\n                 no programs: no ? probe\n"));
	ck_assert_ptr_nonnull(strstr(text.data, "\nDOMAIN           PROGRAM          FUNCTION      "
						"                            SAMPLES        %\n"
						"web1             fra?mes          spin?left       "
						"                                6     75.0\n"
						"web1             dd               0x7f0010        "
						"                                2     25.0\n"));
	ck_assert_ptr_null(strstr(text.data, "main  "));
	hv_text_deinit(&text);
	text = (struct hv_text){0};
	top_text_json(&view, 1234, &text);
	ck_assert_ptr_nonnull(strstr(
		text.data,
		"\"programs\":{\"samples\":8,\"functions\":[{\"program\":\"fra?mes\",\"function\":"
		"\"spin?left\","
		"\"file\":\"/bin/"
		"fra?mes\",\"samples\":6,\"percent\":75.000},{\"program\":\"dd\",\"function\":"
		"\"0x7f0010\",\"file\":null,\"samples\":2,\"percent\":25.000}]},\"no_programs\":"
		"null,"));
	ck_assert_ptr_nonnull(strstr(text.data, "\"no_programs\":\"no ? probe\""));
}
END_TEST

START_TEST(json)
{
	view.rows_max = 1;
	domains[1].ended = (char *)"the session has ended";
	count_functions();
	top_text_json(&view, 1234, &text);
	ck_assert_str_eq(
		text.data,
		"{\"at_ms\":1234,\"domains\":[{\"domain\":\"web1\",\"ended\":null,\"interval_s\":2."
		"000,"
		"\"events_per_s\":500.500,\"lost\":3,\"cost_percent\":3.300,\"vcpu_percent\":150."
		"000,"
		"\"steal_percent\":10.000,\"held_ms\":0.500,\"exits_per_s\":2000.000,\"not_"
		"counted\":1,\"no_functions\":"
		"null,"
		"\"functions\":[{\"name\":\"vfs_read\",\"hits\":1000000,\"time_us\":3000.500,"
		"\"average_us\":0.003}]},{\"domain\":\"a-domain-with-a-long-name\","
		"\"ended\":\"the session has ended\"}]}\n");
}
END_TEST

/* Names come from the guest, and JSON is UTF-8. */
START_TEST(json_is_utf8)
{
	view.nr_domains = 1;
	domains[0].name = (char *)"w\xff";
	domains[0].no_functions = (char *)"\x1b[2J\xc4?\xc3\xa4";
	top_text_json(&view, 1, &text);
	ck_assert_ptr_nonnull(strstr(text.data, "\"domain\":\"w?\""));
	ck_assert_ptr_nonnull(strstr(text.data, "\"no_functions\":\"?[2J??\xc3\xa4\""));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, two_domains);
	tcase_add_test(tc, functions);
	tcase_add_test(tc, an_ended_domain);
	tcase_add_test(tc, counts_that_restarted);
	tcase_add_test(tc, run_queues);
	tcase_add_test(tc, programs);
	tcase_add_test(tc, json);
	tcase_add_test(tc, json_is_utf8);
}

int main(void)
{
	return run_suite("top_text", add_tests);
}
