/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages are unmapped before text in them is written. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "vmm/inject/icache.h"

#define PAGE 4096ull

static void add(struct hv_held_writes *w, uint64_t hva, size_t len)
{
	hv_held_writes_add(w, hva, &(uint64_t){0}, len);
	w->list[w->nr - 1].is_text = true;
}

START_TEST(pages_of_text)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;
	uint64_t block = 5 * HV_ICACHE_BLOCK;

	add(&w, block + 2 * PAGE + 4, 4);
	add(&w, block + 7 * PAGE + 4092, 4);
	add(&w, block + 3 * PAGE, 8);
	hv_held_writes_add(&w, block + 100 * PAGE, &(uint64_t){0}, 8); /* no text */
	add(&w, block + 3 * HV_ICACHE_BLOCK, 4);
	add(&w, block + 9 * PAGE, 4);
	ck_assert_uint_eq(hv_icache_runs(&w, PAGE, &runs), 2);
	ck_assert_uint_eq(runs[0].start, block + 2 * PAGE);
	ck_assert_uint_eq(runs[0].end, block + 10 * PAGE);
	ck_assert_uint_eq(runs[1].start, block + 3 * HV_ICACHE_BLOCK);
	ck_assert_uint_eq(runs[1].end, block + 3 * HV_ICACHE_BLOCK + PAGE);
}
END_TEST

/* A write across pages touches two of them, also at the end of a block. */
START_TEST(across_pages)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;

	add(&w, HV_ICACHE_BLOCK - 4, 8);
	ck_assert_uint_eq(hv_icache_runs(&w, PAGE, &runs), 2);
	ck_assert_uint_eq(runs[0].start, HV_ICACHE_BLOCK - PAGE);
	ck_assert_uint_eq(runs[0].end, HV_ICACHE_BLOCK);
	ck_assert_uint_eq(runs[1].start, HV_ICACHE_BLOCK);
	ck_assert_uint_eq(runs[1].end, HV_ICACHE_BLOCK + PAGE);
}
END_TEST

START_TEST(none)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;

	hv_held_writes_add(&w, PAGE, &(uint64_t){0}, 8);
	ck_assert_uint_eq(hv_icache_runs(&w, 65536, &runs), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, pages_of_text);
	tcase_add_test(tc, across_pages);
	tcase_add_test(tc, none);
}

int main(void)
{
	return run_suite("inject_icache", add_tests);
}
