/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/filter.h"

static struct hv_site list[] = {
	{.ip = {0x300}, .name = "vfs_read"},
	{.ip = {0x100}, .name = "vfs_write"},
	{.ip = {0x200}, .name = "__ftrace_invalid_address___16", .invalid = true},
	{.ip = {0x400}, .name = "ext4_read", .module = "ext4"},
};
static const struct hv_sites sites = {.list = list, .nr = HV_ARRAY_LEN(list)};

/* Applies [!]GLOB, INDEX or [!]GLOB:mod:[!]MODULE. Refuses other commands. */
static int apply(struct hv_filter *f, const char *word)
{
	char text[64], *next = text, *func, *command;

	strcpy(text, word);
	func = strsep(&next, ":");
	command = next ? strsep(&next, ":") : NULL;
	if (command && strcmp(command, "mod") != 0)
		return EINVAL;
	return hv_filter_change(f, &sites, func, next) ? 0 : EINVAL;
}

static void is(const struct hv_filter *f, size_t nr, const uint64_t *ips)
{
	ck_assert_uint_eq(f->nr, nr);
	for (size_t i = 0; i < nr; i++) {
		ck_assert_uint_eq(f->ips[i], ips[i]);
		ck_assert(hv_filter_has(f, hv_gva(ips[i])));
	}
}

START_TEST(a_filter_is_a_set)
{
	struct hv_filter f = {0}, copy;

	ck_assert(!hv_filter_has(&f, hv_gva(0x300)));
	ck_assert_int_eq(apply(&f, "vfs_*"), 0);
	ck_assert_int_eq(apply(&f, "*read"), 0);
	is(&f, 3, (uint64_t[]){0x100, 0x300, 0x400});
	copy = hv_filter_dup(&f);
	ck_assert_int_eq(apply(&f, "!*read"), 0);
	is(&f, 1, (uint64_t[]){0x100});
	is(&copy, 3, (uint64_t[]){0x100, 0x300, 0x400});
	ck_assert(!hv_filter_has(&copy, hv_gva(0x200)));
	hv_filter_deinit(&f);
	hv_filter_deinit(&copy);
}
END_TEST

START_TEST(no_match_changes_nothing)
{
	struct hv_filter f = {0};
	const char *words[] = {
		"no_such",	     "!no_such", "0",	      "5",  "-1",      "!",
		"__ftrace_invalid*", ":",	 "vfs_read:", ":x", "*:mod:x", "1x",
		"vfs_read:off",	     "*:mod:4",
	};

	ck_assert_int_eq(apply(&f, "vfs_read"), 0);
	for (size_t i = 0; i < HV_ARRAY_LEN(words); i++)
		ck_assert_int_eq(apply(&f, words[i]), EINVAL);
	is(&f, 1, (uint64_t[]){0x300});
	hv_filter_deinit(&f);
}
END_TEST

START_TEST(index_counts_every_site)
{
	struct hv_filter f = {0};

	ck_assert_int_eq(apply(&f, "1"), 0);
	ck_assert_int_eq(apply(&f, "3"), 0);
	ck_assert_int_eq(apply(&f, "0x4"), 0);
	is(&f, 3, (uint64_t[]){0x200, 0x300, 0x400});
	ck_assert_int_eq(apply(&f, "!3"), 0);
	is(&f, 2, (uint64_t[]){0x300, 0x400});
	hv_filter_deinit(&f);
}
END_TEST

START_TEST(modules)
{
	static const struct {
		const char *word;
		size_t nr;
	} cases[] = {
		{":mod:ext4", 1}, {"*read:mod:ext4", 1}, {"*read:mod:!ext4", 1}, {"*:mod:!ext4", 2},
		{":mod:*", 1},	  {":mod:", 1},		 {"vfs_*:mod:!", 2},	 {"*:mod:e??4", 1},
		{"vfs_*:mod", 2}, {"4:mod:no_such", 1},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		struct hv_filter f = {0};

		ck_assert_int_eq(apply(&f, cases[i].word), 0);
		ck_assert_uint_eq(f.nr, cases[i].nr);
		hv_filter_deinit(&f);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_filter_is_a_set);
	tcase_add_test(tc, no_match_changes_nothing);
	tcase_add_test(tc, index_counts_every_site);
	tcase_add_test(tc, modules);
}

int main(void)
{
	return run_suite("filter", add_tests);
}
