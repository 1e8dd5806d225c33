/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session that logs endlessly: how many lines reach the system's log in a day and in a minute,
 * and that dropped lines are counted. */
#include <check.h>

#include "base/clock.h"
#include "cli/service/log_budget.h"
#include "tests/lib/run_suite.h"

#define DAY_S (24 * 60 * 60)

struct seen {
	uint64_t passed_bytes, passed, reported_dropped, firsts, sent;
};

static void send_line(struct log_budget *b, size_t len, uint64_t now_ns, struct seen *s)
{
	uint64_t nr_dropped = 0;
	enum log_verdict v = log_budget_take(b, len, now_ns, &nr_dropped);

	s->sent++;
	s->firsts += v == LOG_DROPPED_FIRST;
	if (v != LOG_PASSES)
		return;
	s->passed++;
	s->passed_bytes += len;
	s->reported_dropped += nr_dropped;
}

/* 200 lines of 8 KiB per second are 138 GB per day. */
START_TEST(a_day)
{
	struct log_budget b = {0};
	struct seen s = {0};
	uint64_t start_ns = 2 * DAY_S * HV_NS_PER_S; /* start of a day */

	for (uint64_t second = 0; second < DAY_S; second++)
		for (unsigned i = 0; i < 200; i++)
			send_line(&b, LOG_BYTES_OF_LINE, start_ns + second * HV_NS_PER_S + i, &s);
	ck_assert_uint_le(s.passed_bytes, LOG_BYTES_A_DAY + 24 * 60 * LOG_BYTES_OF_LINE);
	ck_assert_uint_ge(s.passed_bytes, LOG_BYTES_A_DAY);
	/* Nothing is dropped silently, and each series of drops is reported once. */
	ck_assert_uint_eq(s.passed + s.reported_dropped + b.nr_dropped, s.sent);
	ck_assert_uint_le(s.firsts, s.passed);
	/* The next day has a new budget. */
	s = (struct seen){0};
	for (unsigned i = 0; i < 10; i++)
		send_line(&b, 1000, start_ns + (DAY_S + 61ull) * HV_NS_PER_S, &s);
	ck_assert_uint_eq(s.passed, 10);
}
END_TEST

START_TEST(a_minute)
{
	struct log_budget b = {0};
	struct seen s = {0};

	for (unsigned i = 0; i < 60 * 100; i++)
		send_line(&b, 1000, HV_NS_PER_S * 1000 + i * (HV_NS_PER_S / 100), &s);
	ck_assert_uint_le(s.passed_bytes, LOG_BYTES_A_MINUTE);
	ck_assert_uint_eq(s.firsts, 1);
	/* The few lines of a normal session all pass. */
	b = (struct log_budget){0};
	s = (struct seen){0};
	for (unsigned i = 0; i < 10000; i++)
		send_line(&b, 300, i * HV_NS_PER_S, &s);
	ck_assert_uint_eq(s.passed, 10000);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_day);
	tcase_add_test(tc, a_minute);
}

int main(void)
{
	return run_suite("log_budget", add_tests);
}
