/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides a region into rings, return stacks, counts and drafts. */
#include <check.h>

#include "patcher/region.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

/* Checks that each part of PLAN begins after the previous one, and that the last ends in the
 * region. */
static void check_parts(const struct hv_region *r, const struct hv_ring_plan *plan)
{
	uint64_t stacks_end = HV_REGION_STACKS_OFF + plan->nr_stacks * sizeof(struct hv_stack);

	ck_assert_uint_eq(plan->nr_stacks, (1u << plan->homes_shift) + HV_STACK_LOOKUPS - 1);
	ck_assert_uint_eq(plan->nr_counts, (1u << plan->counts_shift) + HV_COUNT_LOOKUPS - 1);
	ck_assert_uint_ge(plan->counts_shift, 1);
	ck_assert_uint_ge(plan->counts_off, stacks_end);
	ck_assert_uint_ge(plan->vcpus_off, hv_plan_counts_off(plan, plan->nr_cpus));
	ck_assert_uint_eq(plan->vcpus_off % 64, 0);
	ck_assert_uint_le(hv_plan_end_off(plan), r->len_bytes);
	if (!plan->drafts_off)
		return;
	ck_assert_uint_eq(plan->drafts_off % 4096, 0);
	ck_assert_uint_ge(plan->drafts_off, hv_plan_state_off(plan, plan->nr_cpus));
}

START_TEST(ring_plans)
{
	static const struct {
		unsigned nr_cpus;
		uint64_t ring_bytes;
		unsigned homes_shift;
		unsigned counts_shift;
		uint64_t len_bytes;
		bool drafts;
	} plans[] = {
		{1, 32 << 20, 11, 17, 64 << 20, true},	 {2, 16 << 20, 11, 16, 64 << 20, true},
		{3, 8 << 20, 11, 16, 64 << 20, true},	 {4, 8 << 20, 11, 15, 64 << 20, true},
		{64, 512 << 10, 11, 11, 64 << 20, true}, {1, 4 << 20, 9, 15, 16 << 20, true},
		{64, 64 << 10, 9, 9, 16 << 20, false},
	};
	struct hv_region r = {{0x80000000}, NULL, 0};
	struct hv_ring_plan plan;

	for (unsigned i = 0; i < HV_ARRAY_LEN(plans); i++) {
		r.len_bytes = plans[i].len_bytes;
		ck_assert_ptr_null(hv_region_plan_rings(&r, plans[i].nr_cpus, &plan));
		ck_assert_uint_eq(hv_plan_ring_bytes(&plan), plans[i].ring_bytes);
		ck_assert_uint_eq(plan.homes_shift, plans[i].homes_shift);
		ck_assert_uint_eq(plan.counts_shift, plans[i].counts_shift);
		ck_assert(!plan.drafts_off == !plans[i].drafts);
		check_parts(&r, &plan);
	}
	expect_error(hv_region_plan_rings(&r, 4096, &plan), ENOSPC,
		     " MiB is too small for rings of 4096 vCPUs");
	expect_error(hv_region_plan_rings(&r, 0, &plan), EINVAL,
		     "region: rings for 0 vCPUs: at most ");
	for (unsigned nr_cpus = 1; nr_cpus < 4096; nr_cpus++) {
		HV_AUTO_ERR struct hv_err *no = hv_region_plan_rings(&r, nr_cpus, &plan);

		if (!no)
			check_parts(&r, &plan);
	}
	r.len_bytes = 8 << 20;
	expect_error(hv_region_plan_rings(&r, 1, &plan), EINVAL, "region: ");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, ring_plans);
}

int main(void)
{
	return run_suite("region", add_tests);
}
