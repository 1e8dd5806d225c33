/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text for Prometheus with more and less information about a session. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/metrics/metrics.h"
#include "tests/lib/run_suite.h"

#define ID "{domain=\"web\",id=\"1\""

static struct metrics_config config;
static struct metrics_domain domain;
static struct hv_text text;

static void begin(void)
{
	config = (struct metrics_config){.has_runqueue = true};
	domain = (struct metrics_domain){.name = "web", .id = "1"};
	domain.stat = json_tokener_parse("{\"events\":7,\"budget\":{\"limit_ppm\":0,\"load_ppm\":"
					 "15000,\"taken_ns\":2500000000}}");
	text = (struct hv_text){0};
}

static void end(void)
{
	json_object_put(domain.stat);
	hv_text_deinit(&text);
}

static void make(void)
{
	hv_text_deinit(&text);
	text = (struct hv_text){0};
	metrics_text_add(&text, &config, &domain, 1);
}

static void has(const char *line)
{
	HV_AUTO_FREE char *whole = hv_format("\n%s\n", line);

	ck_assert_msg(strstr(text.data, whole) != NULL, "no line %s", line);
}

static void has_none(const char *begin_of_line)
{
	HV_AUTO_FREE char *begin_of_it = hv_format("\n%s{", begin_of_line);

	ck_assert_ptr_null(strstr(text.data, begin_of_it));
}

START_TEST(overhead)
{
	make();
	has("hvtrace_events_total" ID "} 7");
	has("# TYPE hvtrace_overhead_ratio gauge");
	has("hvtrace_overhead_ratio" ID "} 0.015");
	has("# TYPE hvtrace_overhead_seconds_total counter");
	has("hvtrace_overhead_seconds_total" ID "} 2.5");
}
END_TEST

START_TEST(overhead_that_is_not_measured_has_no_series)
{
	json_object_object_del(domain.stat, "budget");
	make();
	has_none("hvtrace_overhead_ratio");
	has_none("hvtrace_overhead_seconds_total");
	has("hvtrace_events_total" ID "} 7");
}
END_TEST

START_TEST(steal)
{
	make();
	has_none("hvtrace_steal_seconds_total");
	has_none("hvtrace_vcpu_run_seconds_total");
	domain.has_time = true;
	domain.time = (struct vcpu_time){.run_ns = 90 * HV_NS_PER_S, .wait_ns = HV_NS_PER_S / 4};
	make();
	has("# TYPE hvtrace_steal_seconds_total counter");
	has("hvtrace_steal_seconds_total" ID "} 0.25");
	has("hvtrace_vcpu_run_seconds_total" ID "} 90");
}
END_TEST

START_TEST(waits)
{
	make();
	has("hvtrace_runqueue_measured" ID "} 0");
	has_none("hvtrace_runqueue_wait_seconds_count");
	domain.has_waits = domain.waits.has_tasks = true;
	domain.waits.times.tasks.nr[0] = 3;
	domain.waits.times.tasks.nr[6] = 2;
	domain.waits.times.tasks.nr[HV_WAIT_TIMES_BOUNDS] = 1;
	domain.waits.times.tasks.sum_ns = 6500 * HV_NS_PER_MS;
	domain.waits.times.tasks.nr_lost = 4;
	make();
	has("hvtrace_runqueue_measured" ID "} 1");
	has("# TYPE hvtrace_runqueue_wait_seconds histogram");
	has("hvtrace_runqueue_wait_seconds_bucket" ID ",le=\"1e-06\"} 3");
	has("hvtrace_runqueue_wait_seconds_bucket" ID ",le=\"0.0005\"} 3");
	has("hvtrace_runqueue_wait_seconds_bucket" ID ",le=\"0.001\"} 5");
	has("hvtrace_runqueue_wait_seconds_bucket" ID ",le=\"5\"} 5");
	has("hvtrace_runqueue_wait_seconds_bucket" ID ",le=\"+Inf\"} 6");
	has("hvtrace_runqueue_wait_seconds_sum" ID "} 6.5");
	has("hvtrace_runqueue_wait_seconds_count" ID "} 6");
	has("hvtrace_runqueue_lost_events_total" ID "} 4");
}
END_TEST

START_TEST(waits_of_vcpus)
{
	config = (struct metrics_config){.has_steal = true};
	domain.has_waits = domain.waits.has_vcpus = true;
	domain.waits.times.vcpus.nr[2] = 5;
	domain.waits.times.vcpus.sum_ns = 30000;
	make();
	has("hvtrace_steal_measured" ID "} 1");
	has("hvtrace_steal_wait_seconds_bucket" ID ",le=\"1e-05\"} 5");
	has("hvtrace_steal_wait_seconds_count" ID "} 5");
	has("hvtrace_steal_wait_seconds_sum" ID "} 3e-05");
	ck_assert_ptr_null(strstr(text.data, "runqueue"));
}
END_TEST

START_TEST(no_waits_without_the_options)
{
	config = (struct metrics_config){0};
	domain.has_waits = true;
	make();
	ck_assert_ptr_null(strstr(text.data, "runqueue"));
	ck_assert_ptr_null(strstr(text.data, "steal_wait"));
}
END_TEST

START_TEST(names_are_made_harmless)
{
	domain.name = "a\"b\\c\nd";
	make();
	ck_assert_ptr_nonnull(strstr(text.data, "hvtrace_up{domain=\"a\\\"b\\\\c?d\",id=\"1\"} 1"));
	/* Invalid UTF-8 would make Prometheus reject the whole page. */
	domain.name = "\xc3\xa4\xff\xc2\x9b\xc3";
	make();
	ck_assert_ptr_nonnull(strstr(text.data, "hvtrace_up{domain=\"\xc3\xa4????\",id=\"1\"} 1"));
}
END_TEST

START_TEST(a_silent_domain_is_down)
{
	json_object_put(domain.stat);
	domain.stat = NULL;
	make();
	has("hvtrace_up" ID "} 0");
	has_none("hvtrace_events_total");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, overhead);
	tcase_add_test(tc, overhead_that_is_not_measured_has_no_series);
	tcase_add_test(tc, steal);
	tcase_add_test(tc, waits);
	tcase_add_test(tc, waits_of_vcpus);
	tcase_add_test(tc, no_waits_without_the_options);
	tcase_add_test(tc, names_are_made_harmless);
	tcase_add_test(tc, a_silent_domain_is_down);
}

int main(void)
{
	return run_suite("metrics_text", add_tests);
}
