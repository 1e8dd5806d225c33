/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls are recorded. The settings must reach the memory that the guest's trampolines read,
 * and nothing else may change there. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/scope.h"

static struct fr r;
static struct hv_scope *scope;
static struct hv_control *control;

static void setup(void)
{
	fr_init(&r);
	r.tracee.plan.nr_cpus = 2;
	scope = hv_scope_new(&r.tracee);
	control = hv_region_control(&r.tracee.region);
}

static void teardown(void)
{
	hv_scope_free(scope);
	fr_deinit(&r);
}

static void filter(const uint32_t *only, size_t nr_only, const uint32_t * not, size_t nr_not)
{
	ck_assert_ptr_null(hv_scope_filter_pids(scope, only, nr_only, not, nr_not));
}

static void check_pids(enum hv_pid_kind kind, const uint32_t *expected, size_t nr)
{
	HV_AUTO_FREE uint32_t *pids = NULL;

	ck_assert_uint_eq(hv_scope_pids(scope, kind, &pids), nr);
	for (size_t i = 0; i < nr; i++)
		ck_assert_uint_eq(pids[i], expected[i]);
}

START_TEST(excluded_pids_are_not_recorded)
{
	static const uint32_t only[] = {1, 64, 70, HV_REGION_NR_PIDS - 1}, not [] = {70},
			      left[] = {1, 64, HV_REGION_NR_PIDS - 1};

	filter(only, HV_ARRAY_LEN(only), not, HV_ARRAY_LEN(not ));
	check_pids(HV_PIDS_RECORDED, left, HV_ARRAY_LEN(left));
	ck_assert_uint_eq(control->mode, HV_MODE_PID_FILTER);
	filter(NULL, 0, not, HV_ARRAY_LEN(not ));
	check_pids(HV_PIDS_NOT_RECORDED, not, HV_ARRAY_LEN(not ));
	ck_assert_uint_eq(control->mode, HV_MODE_PID_FILTER);
	filter(NULL, 0, NULL, 0);
	ck_assert_uint_eq(control->mode, 0);
}
END_TEST

START_TEST(a_pid_that_no_kernel_has_is_ignored)
{
	static const uint32_t only[] = {5, HV_REGION_NR_PIDS, UINT32_MAX};

	filter(only, HV_ARRAY_LEN(only), NULL, 0);
	check_pids(HV_PIDS_RECORDED, only, 1);
}
END_TEST

/* The guest also switches recording; the other settings stay. */
START_TEST(recording_changes_one_bit)
{
	static const uint8_t muted[] = {0, 1};

	hv_scope_mute_cpus(scope, muted);
	hv_scope_set_recording(scope, HV_OFF);
	ck_assert_uint_eq(control->mode, HV_MODE_OFF | HV_MODE_CPUS);
	control->mode &= ~(uint32_t)HV_MODE_OFF;
	ck_assert(hv_scope_recording(scope));
	hv_scope_set_recording(scope, HV_OFF);
	ck_assert(!hv_scope_recording(scope));
	hv_scope_mute_cpus(scope, NULL);
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
}
END_TEST

/* While recording is paused, the guest can still switch it. */
START_TEST(a_pause_changes_another_bit)
{
	hv_scope_set_paused(scope, HV_ON);
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED);
	ck_assert(hv_scope_recording(scope));
	control->mode |= HV_MODE_OFF;
	hv_scope_set_paused(scope, HV_OFF);
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	ck_assert(!hv_scope_recording(scope));
}
END_TEST

START_TEST(each_vcpu_has_a_muted_flag)
{
	static const uint8_t muted[] = {0, 7};

	hv_scope_mute_cpus(scope, muted);
	ck_assert_uint_eq(hv_tracee_state(&r.tracee, 0)->muted, 0);
	ck_assert_uint_ne(hv_tracee_state(&r.tracee, 1)->muted, 0);
	hv_scope_mute_cpus(scope, NULL);
	ck_assert_uint_eq(hv_tracee_state(&r.tracee, 1)->muted, 0);
}
END_TEST

START_TEST(following_forks_needs_two_functions)
{
	struct hv_sites *sites = &r.t.f.k.sites;
	struct hv_site list[] = {{.ip = hv_gva(0x1000), .name = "wake_up_new_task"},
				 {.ip = hv_gva(0x2000), .name = "release_task"}};
	struct hv_err *err = hv_scope_follow_forks(scope, HV_FORKS_OF_ONLY);

	ck_assert(err && err->code == EOPNOTSUPP);
	ck_assert_str_eq(err->message,
			 "wake_up_new_task() cannot be traced in this kernel: forks are "
			 "not seen");
	hv_err_free(err);
	ck_assert_uint_eq(hv_scope_task_bits(scope, 0x1000), 0);
	*sites = (struct hv_sites){.list = list, .nr = HV_ARRAY_LEN(list)};
	ck_assert_ptr_null(hv_scope_follow_forks(scope, HV_FORKS_OF_ONLY));
	ck_assert_uint_eq(hv_scope_task_bits(scope, 0x1000), HV_DOES_PID_INHERITS);
	ck_assert_uint_eq(hv_scope_task_bits(scope, 0x2000), HV_DOES_PID_CLEARS);
	ck_assert_uint_eq(hv_scope_task_bits(scope, 0x3000), 0);
	ck_assert_ptr_null(hv_scope_follow_forks(scope, HV_FORKS_OF_OTHERS));
	ck_assert_uint_eq(hv_scope_task_bits(scope, 0x2000), HV_DOES_PID_SETS);
	*sites = (struct hv_sites){0};
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, excluded_pids_are_not_recorded);
	tcase_add_test(tc, a_pid_that_no_kernel_has_is_ignored);
	tcase_add_test(tc, recording_changes_one_bit);
	tcase_add_test(tc, a_pause_changes_another_bit);
	tcase_add_test(tc, each_vcpu_has_a_muted_flag);
	tcase_add_test(tc, following_forks_needs_two_functions);
}

int main(void)
{
	return run_suite("scope", add_tests);
}
