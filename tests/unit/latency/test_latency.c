/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the guest's clock, whatever it says. */
#include <check.h>

#include "latency/latency.h"
#include "tests/lib/run_suite.h"

/* In the first second the clocks were APART_NS apart, and in the last one LAST_NS. */
static enum hv_host_view view(int64_t apart_ns, int64_t last_ns)
{
	struct hv_latency l = {.sees_host = true, .nr_seconds = 2 * HV_LATENCY_SECONDS};

	for (unsigned i = 0; i < HV_LATENCY_SECONDS; i++) {
		l.first_ones_ns[i] = apart_ns;
		l.last_ones_ns[i] = last_ns;
	}
	return hv_latency_view(&l);
}

START_TEST(a_clock_that_jumps_is_not_the_hosts)
{
	ck_assert_int_eq(view(5, 6), HV_HOST_SEEN);
	ck_assert_int_eq(view(0, INT64_MAX), HV_HOST_APART);
	ck_assert_int_eq(view(INT64_MIN, 0), HV_HOST_APART);
	ck_assert_int_eq(view(INT64_MIN, INT64_MAX), HV_HOST_APART);
	ck_assert_int_eq(view(INT64_MAX, INT64_MIN), HV_HOST_APART);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_clock_that_jumps_is_not_the_hosts);
}

int main(void)
{
	return run_suite("latency", add_tests);
}
