/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detection of modules that check the kernel's text. */
#include "kernel/sites/integrity.h"

#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"

static struct hv_symbol symbols[] = {{{0xffffffffc0000100}, "init_module", 't'},
				     {{0xffffffffc0000200}, "hash_from_ex_table", 't'}};
static struct hv_module list[] = {{.name = "virtio_net"}, {.name = "lkrg_not"}};
static const struct hv_modules modules = {.list = list, .nr = 2};

static void check_refused(const char *name)
{
	struct hv_err *err = hv_integrity_refusal(&modules);

	ck_assert(err && err->code == EPERM);
	ck_assert_uint_eq(err->facts, HV_ERR_NEEDS_FORCE);
	ck_assert_msg(strstr(err->message, name) != NULL, "%s", err->message);
	ck_assert_ptr_eq(hv_integrity_checker(&modules), &list[1]);
	hv_err_free(err);
}

START_TEST(other_modules_are_allowed)
{
	list[1].symbols = (struct hv_symbols){.by_addr = symbols, .nr = 1};
	ck_assert_ptr_null(hv_integrity_refusal(&modules));
	ck_assert_ptr_null(hv_integrity_checker(&modules));
}
END_TEST

START_TEST(a_checker_is_known_by_its_name)
{
	strcpy(list[1].name, _i ? "p_lkrg" : "lkrg");
	check_refused(list[1].name);
}
END_TEST

START_TEST(a_renamed_checker_is_known_by_its_function)
{
	strcpy(list[1].name, "innocent");
	list[1].symbols = (struct hv_symbols){.by_addr = symbols, .nr = 2};
	check_refused("innocent");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, other_modules_are_allowed);
	tcase_add_loop_test(tc, a_checker_is_known_by_its_name, 0, 2);
	tcase_add_test(tc, a_renamed_checker_is_known_by_its_function);
}

int main(void)
{
	return run_suite("integrity", add_tests);
}
