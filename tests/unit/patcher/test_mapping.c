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

#define MIB (UINT64_C(1) << 20)

/* A kernel whose image can be anywhere. Code can begin in CODE_MIB above the image, and modules are
 * mapped from AREA_MIB above it on. */
static struct hv_arch moved;

static void move(uint64_t code_mib, uint64_t area_mib)
{
	moved = hv_arch_x86_64;
	moved.text_base = hv_gva(0);
	moved.free_window = (struct hv_gva_range){0};
	f.k.core.as.arch = &moved;
	f.k.core.reach = (struct hv_reach){
		.text_base = hv_gva(0xfffffffe80000000),
		.free_window = {hv_gva(FK_BASE - 3 * MIB), hv_gva(FK_END + 400 * MIB)},
		.code = {hv_gva(FK_END), hv_gva(FK_END + code_mib * MIB)},
		.module_areas = {{hv_gva(FK_END + area_mib * MIB),
				  hv_gva(FK_END + (area_mib + 500) * MIB)}},
	};
}

START_TEST(code_is_in_reach)
{
	move(20, 450);
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_start();

		ck_assert_uint_ge(start, FK_END);
		ck_assert_uint_lt(start, FK_END + 20 * MIB);
	}
}
END_TEST

/* The first 64 MiB of an area that are free stay the kernel's. */
START_TEST(room_for_modules_is_left)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_err *err;

	move(100, 16);
	for (unsigned i = 0; i < TIMES; i++)
		ck_assert_uint_ge(plan_start(), FK_END + 80 * MIB);
	move(70, 16);
	err = hv_mapping_plan(&f.k, &region, LEN, &plan);
	ck_assert(err && err->code == ENOSPC);
	hv_err_free(err);
}
END_TEST

START_TEST(what_is_refused)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	HV_AUTO_ERR struct hv_err *sixteen = NULL;
	HV_AUTO_ERR struct hv_err *unknown = NULL;

	f.k.core.as.arch = hv_arch_arm64.formats[3];
	sixteen = hv_mapping_refusal(&f.k.core);
	ck_assert(sixteen && strstr(sixteen->message, "aarch64 guests with pages of 16 KiB"));
	f.k.core.as.arch = hv_arch_arm64.formats[0];
	ck_assert_ptr_null(hv_mapping_refusal(&f.k.core));
	f.k.core.no_reach = hv_err_new(ENOTSUP, "nobody knows");
	unknown = hv_mapping_plan(&f.k, &region, LEN, &plan);
	ck_assert(unknown && !strcmp(unknown->message, "nobody knows"));
	hv_err_free(f.k.core.no_reach);
	f.k.core.no_reach = NULL;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nobody_knows_where);
	tcase_add_test(tc, no_room);
	tcase_add_test(tc, code_is_in_reach);
	tcase_add_test(tc, room_for_modules_is_left);
	tcase_add_test(tc, what_is_refused);
}

int main(void)
{
	return run_suite("mapping", add_tests);
}
