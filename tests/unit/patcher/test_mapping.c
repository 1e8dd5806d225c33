/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the region is mapped in a kernel whose page tables are made of data. */
#include <check.h>

#include "patcher/mapping.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define SLOT  (UINT64_C(2) << 20)
#define LEN   (26 * SLOT)
#define TIMES 64

static struct fk f;
static const struct hv_region region = {.gpa = {0x100000000}, .len_bytes = 64 << 20};

static void setup(void)
{
	fk_init(&f);
}

static void teardown(void)
{
	fk_deinit(&f);
}

static uint64_t plan_start(void)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

	ck_assert_ptr_null(hv_mapping_plan(&f.k, &region, LEN, &plan));
	ck_assert_uint_eq(plan.nr, LEN / SLOT);
	ck_assert_uint_eq(plan.range.end.v - plan.range.start.v, LEN);
	ck_assert(plan.range.end.v + SLOT <= FK_BASE || plan.range.start.v >= FK_END + SLOT);
	for (size_t i = 0; i < plan.nr; i++) {
		struct hv_mapping m;

		ck_assert_uint_eq(plan.changes[i].gva.v, plan.range.start.v + i * SLOT);
		ck_assert_ptr_null(hv_walk(&f.k.core.as, plan.changes[i].gva, &m));
		ck_assert(!m.present);
		ck_assert_uint_eq(m.entry_gpa.v, plan.changes[i].gpa.v);
	}
	return plan.range.start.v;
}

START_TEST(nobody_knows_where)
{
	uint64_t first = plan_start();
	unsigned nr_others = 0, nr_below = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_start();

		nr_others += start != first;
		nr_below += start < FK_BASE;
	}
	ck_assert_uint_ge(nr_others, TIMES / 2);
	ck_assert_uint_lt(nr_below, TIMES);
}
END_TEST

START_TEST(no_room)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_err *err = hv_mapping_plan(&f.k, &region, UINT64_C(1) << 30, &plan);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOSPC);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nobody_knows_where);
	tcase_add_test(tc, no_room);
}

int main(void)
{
	return run_suite("mapping", add_tests);
}
