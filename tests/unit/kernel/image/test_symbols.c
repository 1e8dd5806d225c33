/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol table: order, names, aliases. */
#include <check.h>

#include "kernel/image/symbols.h"
#include "tests/lib/run_suite.h"

#include <stdio.h>
#include <string.h>

static struct hv_symbols table(const struct hv_symbol *list, size_t nr)
{
	struct hv_symbols s = {.nr = nr, .names = hv_strdup("")};

	s.by_addr = hv_realloc_array(NULL, nr, sizeof(*s.by_addr));
	memcpy(s.by_addr, list, nr * sizeof(*list));
	hv_symbols_index(&s);
	return s;
}

static const struct hv_symbol unsorted[] = {
	{{0x3000}, "gamma", 't'}, {{0x1000}, "zeta", 'T'}, {{0x3000}, "beta", 'T'},
	{{0x1000}, "alpha", 't'}, {{0x5000}, "beta", 'd'}, {{0x3000}, "delta", 't'},
};

START_TEST(equal_addresses_keep_their_order)
{
	static const char *const names[] = {"zeta", "alpha", "gamma", "beta", "delta", "beta"};
	struct hv_symbols s = table(unsorted, HV_ARRAY_LEN(unsorted));

	for (size_t i = 0; i < s.nr; i++)
		ck_assert_str_eq(s.by_addr[i].name, names[i]);
	hv_symbols_deinit(&s);
}
END_TEST

START_TEST(finds_first_of_a_name)
{
	struct hv_symbols s = table(unsorted, HV_ARRAY_LEN(unsorted));
	struct hv_gva at = {1};

	ck_assert(hv_symbols_find(&s, "beta", &at));
	ck_assert_uint_eq(at.v, 0x3000);
	ck_assert(hv_symbols_find(&s, "alpha", &at));
	ck_assert_uint_eq(at.v, 0x1000);
	ck_assert(hv_symbols_find(&s, "zeta", &at));
	ck_assert(!hv_symbols_find(&s, "alph", &at));
	ck_assert(!hv_symbols_find(&s, "zetaa", &at));
	ck_assert(!hv_symbols_find(&s, "", &at));
	ck_assert_uint_eq(at.v, 0x1000);
	hv_symbols_deinit(&s);
}
END_TEST

START_TEST(an_address_is_the_first_alias)
{
	struct hv_symbols s = table(unsorted, HV_ARRAY_LEN(unsorted));

	ck_assert_ptr_null(hv_symbols_at(&s, hv_gva(0xfff)));
	ck_assert_str_eq(hv_symbols_at(&s, hv_gva(0x1000))->name, "zeta");
	ck_assert_str_eq(hv_symbols_at(&s, hv_gva(0x2fff))->name, "zeta");
	ck_assert_str_eq(hv_symbols_at(&s, hv_gva(0x3000))->name, "gamma");
	ck_assert_str_eq(hv_symbols_at(&s, hv_gva(0x4fff))->name, "gamma");
	ck_assert_uint_eq(hv_symbols_at(&s, hv_gva(UINT64_MAX))->addr.v, 0x5000);
	hv_symbols_deinit(&s);
}
END_TEST

START_TEST(an_empty_table_has_no_symbols)
{
	struct hv_symbols s = {0};
	struct hv_gva at;

	hv_symbols_index(&s);
	ck_assert(!hv_symbols_find(&s, "a", &at));
	ck_assert_ptr_null(hv_symbols_at(&s, hv_gva(1)));
	hv_symbols_deinit(&s);
}
END_TEST

/* Names with common beginnings, and names that are the beginning of others. */
START_TEST(finds_every_name)
{
	static char names[2000][24];
	struct hv_symbol list[2000];
	struct hv_symbols s;

	for (size_t i = 0; i < 2000; i++) {
		snprintf(names[i], sizeof(names[i]), "__x64_s%.*s%zu", (int)(i % 9), "aaaaaaaaa",
			 i);
		list[i] = (struct hv_symbol){hv_gva(i * 7919 % 2000 * 16), names[i], 't'};
	}
	s = table(list, 2000);
	for (size_t i = 0; i < 2000; i++) {
		struct hv_gva at;

		if (!hv_symbols_find(&s, names[i], &at) || at.v != list[i].addr.v ||
		    strcmp(hv_symbols_at(&s, hv_gva_add(at, 15))->name, names[i]) != 0)
			ck_abort_msg("%s is not found", names[i]);
	}
	hv_symbols_deinit(&s);
}
END_TEST

/* Per-CPU symbols, then kernel symbols, dense or as far apart as a guest likes, with aliases. _i:
 * distance. */
START_TEST(every_address_has_the_symbol_below_it)
{
	struct hv_symbol list[500];
	uint64_t at = UINT64_C(0xffffffff80000000), random = 1;
	struct hv_symbols s;

	for (size_t i = 0; i < 500; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		list[i] = (struct hv_symbol){hv_gva(i < 20 ? i * 64 : at), "a", 't'};
		at += i % 5 == 0 ? 0 : (random >> 33) % (UINT64_C(16) << _i);
	}
	s = table(list, 500);
	for (size_t i = 0; i < 500; i++)
		for (int off = -1; off <= 1; off++) {
			uint64_t addr = list[i].addr.v + (uint64_t)(int64_t)off;
			const struct hv_symbol *expected = NULL;

			for (size_t j = 0; j < 500; j++)
				if (list[j].addr.v <= addr &&
				    (!expected || list[j].addr.v > expected->addr.v))
					expected = &s.by_addr[j];
			ck_assert_ptr_eq(hv_symbols_at(&s, hv_gva(addr)), expected);
		}
	hv_symbols_deinit(&s);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, every_address_has_the_symbol_below_it, 0, 18);
	tcase_add_test(tc, equal_addresses_keep_their_order);
	tcase_add_test(tc, finds_first_of_a_name);
	tcase_add_test(tc, an_address_is_the_first_alias);
	tcase_add_test(tc, an_empty_table_has_no_symbols);
	tcase_add_test(tc, finds_every_name);
}

int main(void)
{
	return run_suite("symbols", add_tests);
}
