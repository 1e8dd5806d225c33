/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel without names of data: a variable must be found if two sources confirm it, and must not
 * be found if only one does. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_unnamed.h"

static struct fu u;

static void set_up(void)
{
	fu_init(&u);
}

static void tear_down(void)
{
	fu_deinit(&u);
}

static void find(void)
{
	struct hv_err *err;

	fu_forget(&u);
	err = hv_unnamed_find(&u.f.k.core);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* Returns the address of NAME, or 0 if it was not found. */
static uint64_t place_of(const char *name)
{
	struct hv_gva at;

	return hv_symbols_find(&u.f.k.core.unnamed, name, &at) ? at.v : 0;
}

static void fails(const char *says)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	fu_forget(&u);
	err = hv_unnamed_find(&u.f.k.core);
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, says) != NULL, "%s", err->message);
	ck_assert_int_eq(err->code, ENOENT);
	ck_assert(err->facts & HV_ERR_NEEDS_VMLINUX);
	ck_assert_uint_eq(u.f.k.core.unnamed.nr, 0);
}

START_TEST(finds_all_unnamed_symbols)
{
	find();
	ck_assert_uint_eq(place_of("linux_banner"), u.banner);
	ck_assert_uint_eq(place_of("init_mm"), u.mm);
	ck_assert_uint_eq(place_of("init_task"), u.task);
	ck_assert_uint_eq(place_of("nr_cpu_ids"), u.nr_cpu_ids);
	ck_assert_uint_eq(place_of("runqueues"), u.percpu + FU_RUNQUEUES);
	ck_assert_uint_eq(u.f.k.core.unnamed.nr, 5);
}
END_TEST

START_TEST(the_banner_matches_init_uts_ns)
{
	fk_str(&u.f, u.uts + FU_UTS_RELEASE, "6.1.0-51-cloud");
	fails("kernel without CONFIG_KALLSYMS_ALL: 0 texts match the banner of init_uts_ns's "
	      "release; exactly one must");
	fk_str(&u.f, u.uts + FU_UTS_RELEASE, FU_RELEASE);
	fk_str(&u.f, u.uts + FU_UTS_VERSION, "SMP Debian 6.1.1");
	find(); /* the version ends there; compiler text may follow */
	fk_str(&u.f, u.uts + FU_UTS_VERSION, "Debian 6.1.2");
	fails("kernel without CONFIG_KALLSYMS_ALL: 0 texts match the banner of init_uts_ns's "
	      "release; exactly one must");
	fk_str(&u.f, u.uts + FU_UTS_VERSION, "");
	fails("init_uts_ns is empty");
}
END_TEST

START_TEST(the_banner_is_in_one_place)
{
	/* The banner's copy in the log comes after the types. */
	fk_str(&u.f, u.nr_cpu_ids + 64, FU_BANNER);
	find();
	fk_str(&u.f, u.banner + 1024, FU_BANNER);
	fails("2 texts match the banner");
}
END_TEST

START_TEST(fails_without_exports)
{
	fk_u32(&u.f, fu_entry(&u, FU_NR) + 4, 0x40000000);
	fails("no table of exported symbols with init_uts_ns");
}
END_TEST

START_TEST(init_mm_has_page_tables_and_text)
{
	/* Since 6.12, init_mm of arm64 contains the start of the image. */
	fk_u64(&u.f, u.mm + FU_START, FK_BASE);
	find();
	ck_assert_uint_eq(place_of("init_mm"), u.mm);
	fk_u64(&u.f, u.mm + FU_START, FK_BASE + 0x2000);
	find();
	ck_assert_uint_eq(place_of("init_mm"), 0);
	fk_u64(&u.f, u.mm + FU_START, FK_BASE);
	fk_u64(&u.f, u.mm + FU_END, FK_DATA + 8);
	find();
	ck_assert_uint_eq(place_of("init_mm"), 0);
	fk_u64(&u.f, u.mm + FU_END, FK_DATA);
	fk_u64(&u.f, u.mm + FU_PGD, u.root + 8);
	find();
	ck_assert_uint_eq(place_of("init_mm"), 0);
}
END_TEST

START_TEST(init_mm_must_be_unique)
{
	memcpy(fk_host(&u.f, u.nr_cpu_ids + 64), fk_host(&u.f, u.mm), 128);
	find();
	ck_assert_uint_eq(place_of("init_mm"), 0);
}
END_TEST

START_TEST(init_task_is_the_first_task)
{
	fk_u32(&u.f, u.task + FU_PID, 1);
	find();
	ck_assert_uint_eq(place_of("init_task"), 0);
	fk_u32(&u.f, u.task + FU_PID, 0);
	fk_str(&u.f, u.task + FU_COMM, "kthreadd");
	find();
	ck_assert_uint_eq(place_of("init_task"), 0);
}
END_TEST

/* Two variables determine the position of the per-CPU section. */
START_TEST(two_variables_locate_the_per_cpu_section)
{
	uint64_t second = fu_entry(&u, u.nr_exported - 1);

	fk_u32(&u.f, second, (uint32_t)(u.percpu + FU_SECOND + 8 - second));
	find();
	ck_assert_uint_eq(place_of("runqueues"), 0);
	fk_u32(&u.f, second, (uint32_t)(u.percpu + FU_SECOND - second));
	find();
	ck_assert_uint_eq(place_of("runqueues"), u.percpu + FU_RUNQUEUES);
	fk_u32(&u.f, second + 4, 0x40000000);
	find();
	ck_assert_uint_eq(place_of("runqueues"), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, finds_all_unnamed_symbols);
	tcase_add_test(tc, the_banner_matches_init_uts_ns);
	tcase_add_test(tc, the_banner_is_in_one_place);
	tcase_add_test(tc, fails_without_exports);
	tcase_add_test(tc, init_mm_has_page_tables_and_text);
	tcase_add_test(tc, init_mm_must_be_unique);
	tcase_add_test(tc, init_task_is_the_first_task);
	tcase_add_test(tc, two_variables_locate_the_per_cpu_section);
}

int main(void)
{
	return run_suite("unnamed_find", add_tests);
}
