/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins events of several pages into one page, and reads them back. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "export/raw_pages.h"
#include "tests/lib/run_suite.h"
#include "tree/format/raw_page.h"

static struct hv_raw_page page;
static uint8_t bytes_of_page[HV_RAW_PAGE_LEN];
static struct hv_page_joiner joiner;

static struct hv_span page_of(uint64_t time_ns, unsigned nr, uint64_t lost)
{
	struct hv_event e = {.kind = HV_EVENT_FUNCTION, .time_ns = time_ns, .lost_before = lost};

	memset(bytes_of_page, 0, sizeof(bytes_of_page));
	hv_raw_page_init(&page, &hv_raw_layout_known, bytes_of_page, HV_RAW_DATA_LEN);
	for (unsigned i = 0; i < nr; i++, e.time_ns += 10, e.lost_before = 0)
		ck_assert(hv_raw_page_add(&page, &e));
	hv_raw_page_finish(&page);
	return (struct hv_span){bytes_of_page, sizeof(bytes_of_page)};
}

static struct hv_span joined(void)
{
	return (struct hv_span){joiner.page, joiner.page_bytes};
}

/* Reads the times of the events in S. */
static size_t read_times(struct hv_span s, uint64_t *ret, size_t max, struct hv_raw_events *r)
{
	struct hv_raw_event e;
	size_t nr = 0;

	ck_assert(hv_raw_events_begin(r, s));
	for (; nr < max && hv_raw_events_next(r, &e); nr++) {
		ret[nr] = e.time_ns;
		ck_assert_uint_eq(e.payload.len_bytes, 24);
	}
	return nr;
}

START_TEST(joined_pages_keep_times)
{
	static const uint64_t want[] = {1000, 1010, 5000, 5000 + (1ull << 40),
					10 + 5000 + (1ull << 40)};
	struct hv_raw_events r;
	uint64_t got[8];

	hv_page_joiner_init(&joiner, HV_RAW_PAGE_LEN);
	ck_assert(hv_page_joiner_add(&joiner, page_of(1000, 2, 0)));
	ck_assert(hv_page_joiner_add(&joiner, page_of(5000, 1, 0)));
	ck_assert(hv_page_joiner_add(&joiner, page_of(5000 + (1ull << 40), 2, 0)));
	ck_assert_uint_eq(read_times(joined(), got, 8, &r), 5);
	ck_assert_mem_eq(got, want, sizeof(want));
	hv_page_joiner_deinit(&joiner);
}
END_TEST

/* A loss can only be recorded at the head of a page. The number of lost events moves to the end. */
START_TEST(losses)
{
	struct hv_raw_events r;
	uint64_t got[8];

	hv_page_joiner_init(&joiner, HV_RAW_PAGE_LEN);
	ck_assert(hv_page_joiner_add(&joiner, page_of(1000, 1, 77)));
	ck_assert(hv_page_joiner_add(&joiner, page_of(2000, 1, 0)));
	ck_assert(!hv_page_joiner_add(&joiner, page_of(3000, 1, 5)));
	ck_assert_uint_eq(read_times(joined(), got, 8, &r), 2);
	ck_assert(r.has_lost && r.has_number);
	ck_assert_uint_eq(r.lost, 77);
	hv_page_joiner_clear(&joiner);
	ck_assert(hv_page_joiner_add(&joiner, page_of(3000, 1, 0)));
	ck_assert_uint_eq(read_times(joined(), got, 8, &r), 1);
	ck_assert(!r.has_lost);
	hv_page_joiner_deinit(&joiner);
}
END_TEST

START_TEST(fills_up)
{
	unsigned nr = 0;

	hv_page_joiner_init(&joiner, HV_RAW_PAGE_LEN);
	while (hv_page_joiner_add(&joiner, page_of(1000 + nr * 100, 1, 0)))
		nr++;
	ck_assert_uint_eq(nr, 1 + (HV_RAW_DATA_LEN - 28) / 36);
	/* a decreasing time begins a page */
	hv_page_joiner_clear(&joiner);
	ck_assert(hv_page_joiner_add(&joiner, page_of(1000, 1, 0)));
	ck_assert(!hv_page_joiner_add(&joiner, page_of(999, 1, 0)));
	hv_page_joiner_deinit(&joiner);
}
END_TEST

/* Pages with random bytes: nothing outside them is read, which the sanitizer checks. */
START_TEST(hostile_pages)
{
	struct hv_raw_events r;
	struct hv_raw_event e;

	srand(1);
	hv_page_joiner_init(&joiner, 256);
	for (unsigned i = 0; i < 100000; i++) {
		size_t len = (size_t)rand() % 257, sum = 0;
		uint8_t *bytes = hv_alloc(len + 1);
		struct hv_span s = {bytes, len};

		for (size_t j = 0; j < len; j++)
			bytes[j] = (uint8_t)rand();
		if (len > 12)
			memset(bytes + 9, 0, 3);
		if (hv_raw_events_begin(&r, s))
			while (hv_raw_events_next(&r, &e))
				for (size_t j = 0; j < e.payload.len_bytes; j++)
					sum += e.payload.data[j];
		if (sum == SIZE_MAX || !hv_page_joiner_add(&joiner, s))
			hv_page_joiner_clear(&joiner);
		free(bytes);
	}
	hv_page_joiner_deinit(&joiner);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, joined_pages_keep_times);
	tcase_add_test(tc, losses);
	tcase_add_test(tc, fills_up);
	tcase_add_test(tc, hostile_pages);
}

int main(void)
{
	return run_suite("page_joiner", add_tests);
}
