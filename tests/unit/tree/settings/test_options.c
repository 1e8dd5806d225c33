/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options: names, defaults, and the input that trace_options accepts. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/options.h"

START_TEST(names_are_found)
{
	enum hv_option option;

	for (unsigned i = 0; i < HV_NR_OPTIONS; i++) {
		ck_assert_ptr_nonnull(hv_option_infos[i].name);
		ck_assert_uint_lt(strlen(hv_option_infos[i].name), 62);
		ck_assert(hv_option_find(hv_option_infos[i].name, &option));
		ck_assert_uint_eq(option, i);
	}
	ck_assert(!hv_option_find("", &option));
	ck_assert(!hv_option_find("print-paren", &option));
}
END_TEST

START_TEST(defaults_are_the_kernels)
{
	struct hv_options o = hv_options_default();

	ck_assert(hv_options_on(&o, HV_OPT_PRINT_PARENT));
	ck_assert(hv_options_on(&o, HV_OPT_CONTEXT_INFO));
	ck_assert(!hv_options_on(&o, HV_OPT_RAW));
	hv_options_set(&o, HV_OPT_RAW, HV_ON);
	ck_assert(hv_options_on(&o, HV_OPT_RAW));
	hv_options_set(&o, HV_OPT_RAW, HV_OFF);
	ck_assert_uint_eq(o.bits, hv_options_default().bits);
}
END_TEST

static bool parse(const char *text, enum hv_option *ret, bool *ret_on)
{
	char copy[64];

	strcpy(copy, text);
	struct hv_options o = hv_options_default();

	return hv_options_parse(&o, copy, "nop", ret, ret_on);
}

START_TEST(words_written_to_trace_options)
{
	enum hv_option option;
	bool on;

	ck_assert(parse(" sym-addr \n", &option, &on));
	ck_assert(on && option == HV_OPT_SYM_ADDR);
	ck_assert(parse("nosym-addr\n", &option, &on));
	ck_assert(!on && option == HV_OPT_SYM_ADDR);
	ck_assert(!parse("", &option, &on));
	ck_assert(!parse("no", &option, &on));
	ck_assert(!parse("nono", &option, &on));
	ck_assert(!parse("sym-addr sym-offset", &option, &on));
	ck_assert(!parse("SYM-ADDR", &option, &on));
	ck_assert(!parse("nonosym-addr", &option, &on));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, names_are_found);
	tcase_add_test(tc, defaults_are_the_kernels);
	tcase_add_test(tc, words_written_to_trace_options);
}

int main(void)
{
	return run_suite("options", add_tests);
}
