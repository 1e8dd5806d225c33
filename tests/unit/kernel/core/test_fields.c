/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types, members and enumerators that a kernel lacks, or that differ from what hvtrace expects: the
 * message names each one. */
#include "kernel/core/fields.h"

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

static struct fk f;

/* FROM: where the types come from. */
static void make(enum hv_types_from from)
{
	uint32_t base;

	fk_init(&f);
	FK_STRUCT("event", 16, {"id", 8, 4});
	FK_STRUCT("empty", 0, {"end", 0, 0});
	base = FK_STRUCT("rt_mutex_base", 24, {"owner", 8, 8});
	FK_STRUCT("mutex", 40, {"rtmutex", 8, 0, base});
	enumerator("STATE_LIVE", 7);
	fk_done(&f);
	f.k.core.types.from = from;
}

static void tear_down(void)
{
	fk_deinit(&f);
}

static struct hv_err *find_member(const char *type, const char *path, uint32_t len)
{
	uint32_t off = 99;
	const struct hv_field field = {path, len, &off};

	return hv_fields_find(&f.k.core, type, &field, 1);
}

static struct hv_err *find_any(const char *first, const char *second, uint32_t *ret)
{
	const char *const paths[] = {first, second};

	return hv_member_find_any(&f.k.core, "event", paths, 2, ret);
}

START_TEST(finds_members_and_values)
{
	uint32_t off = 99, owner = 99, size = 99;
	int64_t live = 99;

	make(HV_TYPES_IN_MEMORY);
	expect_success(find_member("event", "id", 4));
	expect_success(find_any("nr", "id", &off));
	ck_assert_uint_eq(off, 8);
	expect_success(hv_mutex_owner_find(&f.k.core, &owner));
	ck_assert_uint_eq(owner, 16);
	expect_success(hv_struct_size_find(&f.k.core, "event", 16, &size));
	ck_assert_uint_eq(size, 16);
	expect_success(hv_enumerator_find(&f.k.core, "STATE_LIVE", &live));
	ck_assert_int_eq(live, 7);
}
END_TEST

START_TEST(errors_name_missing_members)
{
	uint32_t size = 99;
	int64_t live;

	make(HV_TYPES_IN_MEMORY);
	expect_error(find_member("event", "name", 8), ENOENT,
		     "BTF: no member name in struct event");
	expect_error(find_member("event", "id", 8), ENOENT,
		     "BTF: member id of struct event has 4 bytes instead of 8");
	expect_error(find_any("nr", "number", &size), ENOENT, "BTF: no member nr in struct event");
	expect_error(hv_struct_size_find(&f.k.core, "none", 16, &size), ENOENT,
		     "BTF: struct none has 0 bytes instead of 1 to 16");
	expect_error(hv_struct_size_find(&f.k.core, "empty", 16, &size), ENOENT,
		     "BTF: struct empty has 0 bytes instead of 1 to 16");
	expect_error(hv_struct_size_find(&f.k.core, "event", 15, &size), ENOENT,
		     "BTF: struct event has 16 bytes instead of 1 to 15");
	ck_assert_uint_eq(size, 99);
	expect_error(hv_enumerator_find(&f.k.core, "STATE_GONE", &live), ENOENT,
		     "BTF: no enumerator STATE_GONE");
}
END_TEST

/* ERR must also advise to supply a BTF file. */
static void needs_btf(struct hv_err *err, const char *message)
{
	ck_assert(err && err->facts & HV_ERR_NEEDS_BTF);
	expect_error(err, ENOENT, message);
}

START_TEST(missing_derived_members_need_btf)
{
	uint32_t off;
	int64_t live;

	make(HV_TYPES_DERIVED);
	needs_btf(find_member("event", "name", 8),
		  "kernel without BTF: cannot find member name of struct event");
	needs_btf(find_any("nr", "number", &off),
		  "kernel without BTF: cannot find member nr of struct event");
	needs_btf(hv_enumerator_find(&f.k.core, "STATE_GONE", &live),
		  "kernel without BTF: cannot find enumerator STATE_GONE");
	hv_btf_free(f.k.core.btf);
	f.k.core.btf = NULL;
	expect_error(find_member("event", "id", 4), ENOENT,
		     "kernel without BTF: cannot find struct event");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, tear_down);
	tcase_add_test(tc, finds_members_and_values);
	tcase_add_test(tc, errors_name_missing_members);
	tcase_add_test(tc, missing_derived_members_need_btf);
}

int main(void)
{
	return run_suite("fields", add_tests);
}
