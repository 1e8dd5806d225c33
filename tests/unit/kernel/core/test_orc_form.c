/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form of ORC tables is found by comparison with the code, once, and then cached. */
#include <check.h>

#include "base/cancel.h"
#include "kernel/tasks/unwind.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_orc.h"

#define CALL 2 /* a type of FO_SIGNAL */

static struct fo o;
static struct hv_orc *orc;

static void refused(const char *message)
{
	struct hv_err *err = fo_derive(&o);

	ck_assert(err != NULL);
	ck_assert_int_eq(err->code, EOPNOTSUPP);
	ck_assert_msg(strstr(err->message, message) != NULL, "%s", err->message);
	hv_err_free(err);
}

START_TEST(kernels_without_orc)
{
	fo_init(&o, FO_END);
	hv_btf_free(o.f.k.core.btf);
	o.f.k.core.btf = NULL;
	refused("unknown layout of struct orc_entry");
	fo_deinit(&o);
	fo_init(&o, FO_END);
	o.f.k.core.symbols.nr = 0;
	refused("no ORC tables");
	fo_deinit(&o);
}
END_TEST

static bool is_cancelled(void *ctx)
{
	(void)ctx;
	return true;
}

static void expect_code(struct hv_err *err, int code)
{
	ck_assert_int_eq(err ? err->code : 0, code);
	hv_err_free(err);
}

/* hv_orc_check() must not search. An interrupted search is repeated. A result is cached. */
START_TEST(the_form_is_found_when_it_is_needed)
{
	struct hv_orc_found *found;

	fo_init(&o, FO_END);
	expect_code(hv_orc_new(&o.f.k, &orc), EOPNOTSUPP); /* the search is not enabled */
	o.f.k.core.orc = found = hv_alloc(sizeof(*found));
	expect_code(hv_orc_check(&o.f.k), 0);
	ck_assert_uint_eq(found->was_sought, 0);
	hv_cancel_when(is_cancelled, NULL);
	expect_code(hv_orc_new(&o.f.k, &orc), ECANCELED);
	hv_cancel_when(NULL, NULL);
	ck_assert_uint_eq(found->was_sought, 0);
	hv_orc_prepare(&o.f.k);
	ck_assert_uint_eq(found->was_sought, 1);
	ck_assert_ptr_null(found->none);
	o.f.k.core.symbols.nr = 0; /* a second search would fail */
	expect_code(hv_orc_check(&o.f.k), 0);
	fo_deinit(&o);
}
END_TEST

/* A negative result is cached, too. */
START_TEST(a_missing_layout_is_cached)
{
	struct hv_orc_found *found;

	fo_init(&o, FO_SHORT);
	o.f.k.core.orc = found = hv_alloc(sizeof(*found));
	expect_code(hv_orc_check(&o.f.k), EOPNOTSUPP);
	ck_assert_uint_eq(found->was_sought, 0);
	expect_code(hv_orc_new(&o.f.k, &orc), EOPNOTSUPP);
	ck_assert_ptr_nonnull(found->none);
	expect_code(hv_orc_new(&o.f.k, &orc), EOPNOTSUPP);
	expect_code(hv_orc_check(&o.f.k), EOPNOTSUPP);
	fo_deinit(&o);
}
END_TEST

/* A guest may have the symbols and types of another architecture's tables. */
START_TEST(an_architecture_without_orc)
{
	struct hv_arch without = hv_arch_x86_64;

	without.follow_code = NULL;
	fo_init(&o, FO_END);
	o.f.k.core.as.arch = &without;
	refused("ORC: not supported on x86_64");
	fo_deinit(&o);
}
END_TEST

START_TEST(tables_that_do_not_fit)
{
	fo_init(&o, FO_SHORT);
	refused("no ORC tables");
	fo_deinit(&o);
	fo_init(&o, FO_BEYOND);
	refused("unknown layout of struct orc_entry");
	fo_deinit(&o);
}
END_TEST

/* One wrong entry among many does not matter. */
START_TEST(entries_that_contradict_the_code)
{
	struct fo_rule r = {fo_function(0), SP_REG, 24, UNDEFINED, 0, CALL, 0};
	struct hv_err *err;

	fo_init(&o, FO_RENUMBERED);
	fo_set(&o, o.ips, o.entries, 0, &r);
	err = fo_derive(&o);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	for (unsigned n = 0; n < FO_FUNCTIONS; n += 4) {
		r.ip = fo_function(n);
		fo_set(&o, o.ips, o.entries, 4 * n, &r);
	}
	refused("agree with the code at only");
	fo_deinit(&o);
}
END_TEST

/* An entry that looks like a change of stacks, at an address outside the image. */
START_TEST(entries_beyond_the_image)
{
	static const uint64_t ends[] = {FK_END + 0x1000, FK_END + 3};

	for (unsigned i = 0; i < HV_ARRAY_LEN(ends); i++) {
		struct hv_err *err;

		fo_init(&o, FO_SIGNAL);
		fo_rule(&o, FO_ENTRIES - 2,
			(struct fo_rule){ends[i] - 0x100, SP_REG, 8, UNDEFINED, 0, CALL, 0});
		fo_rule(&o, FO_ENTRIES - 1,
			(struct fo_rule){ends[i], 11, 8, UNDEFINED, 0, CALL, 0});
		err = fo_derive(&o);
		ck_assert_msg(!err, "%s", err ? err->message : "");
		fo_deinit(&o);
	}
}
END_TEST

START_TEST(too_few_functions)
{
	fo_init(&o, FO_SIGNAL);
	for (unsigned n = 4; n < FO_FUNCTIONS; n++)
		memset(fk_host(&o.f, fo_function(n)), 0xcc, FO_FUNCTION_LEN);
	refused("only 4 functions begin with known code");
	fo_deinit(&o);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, the_form_is_found_when_it_is_needed);
	tcase_add_test(tc, a_missing_layout_is_cached);
	tcase_add_test(tc, entries_that_contradict_the_code);
	tcase_add_test(tc, entries_beyond_the_image);
	tcase_add_test(tc, too_few_functions);
	tcase_add_test(tc, kernels_without_orc);
	tcase_add_test(tc, an_architecture_without_orc);
	tcase_add_test(tc, tables_that_do_not_fit);
}

int main(void)
{
	return run_suite("orc_form", add_tests);
}
