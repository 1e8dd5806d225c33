/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of the host's ring buffer: times, kinds of entries, and truncated or corrupt pages. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/host_event.h"

#define HEAD 16

static uint8_t page[4096];
static size_t len; /* of the entries */

static void put(uint32_t word)
{
	memcpy(page + HEAD + len, &word, sizeof(word));
	len += sizeof(word);
}

/* Writes an entry with one word, DELTA after the previous one. */
static void put_entry(uint32_t delta, uint32_t word)
{
	put(delta << 5 | 1);
	put(word);
}

static struct hv_host_page begin(uint64_t ticks, uint32_t flags)
{
	uint32_t commit = (uint32_t)len | flags;
	struct hv_host_page p;

	memcpy(page, &ticks, sizeof(ticks));
	memcpy(page + 8, &commit, sizeof(commit));
	ck_assert(hv_host_page_begin((struct hv_span){page, sizeof(page)}, &p));
	return p;
}

static void expect(struct hv_host_page *p, uint64_t ticks, uint32_t word)
{
	struct hv_span entry;
	uint32_t found;

	ck_assert(hv_host_page_next(p, &entry));
	ck_assert_uint_eq(p->ticks, ticks);
	ck_assert(hv_span_u32(entry, 0, &found));
	ck_assert_uint_eq(found, word);
}

static void expect_end(struct hv_host_page *p)
{
	struct hv_span entry;

	ck_assert(!hv_host_page_next(p, &entry));
	ck_assert(!hv_host_page_next(p, &entry));
}

START_TEST(times_add_up)
{
	struct hv_host_page p;

	put_entry(0, 11);
	put_entry(5, 12);
	p = begin(1000, 0);
	expect(&p, 1000, 11);
	expect(&p, 1005, 12);
	expect_end(&p);
	ck_assert_uint_eq(p.nr_lost, 0);
}
END_TEST

START_TEST(long_times_and_entries)
{
	struct hv_host_page p;

	put(7u << 5 | 30); /* 2 << 27 and 7 more */
	put(2);
	put_entry(1, 11);
	put(3u << 5); /* a separate length: 12 bytes with it */
	put(12);
	put(12);
	put(13);
	put(9u << 5 | 29); /* discarded: 8 bytes with the length */
	put(8);
	put(99);
	put_entry(0, 14);
	p = begin(0, 0);
	expect(&p, (2ull << 27) + 8, 11);
	expect(&p, (2ull << 27) + 11, 12);
	expect(&p, (2ull << 27) + 20, 14);
	expect_end(&p);
}
END_TEST

START_TEST(an_absolute_time_keeps_the_top_bits)
{
	const uint64_t top = UINT64_C(0xf8) << 56;
	struct hv_host_page p;

	put(5u << 5 | 31);
	put(4);
	put_entry(0, 11);
	p = begin(top | 77, 0);
	expect(&p, top | (4ull << 27 | 5), 11);
	expect_end(&p);
}
END_TEST

START_TEST(padding_ends_the_page)
{
	struct hv_host_page p;

	put_entry(0, 11);
	put(29);
	put(4);
	put_entry(0, 12);
	p = begin(0, 0);
	expect(&p, 0, 11);
	expect_end(&p);
}
END_TEST

START_TEST(lost_counts_of_a_page)
{
	uint64_t lost = 42;
	struct hv_host_page p;

	put_entry(0, 11);
	ck_assert_uint_eq(begin(0, 0x80000000).nr_lost, 1);
	memcpy(page + HEAD + len, &lost, sizeof(lost));
	p = begin(0, 0xc0000000);
	ck_assert_uint_eq(p.nr_lost, 42);
	expect(&p, 0, 11);
	expect_end(&p);
}
END_TEST

/* A page truncated at every length, and an entry longer than the page. */
START_TEST(nothing_outside_is_read)
{
	struct hv_span entry;
	struct hv_host_page p;
	uint32_t commit = sizeof(page);

	for (size_t cut = 0; cut < HEAD; cut++)
		ck_assert(!hv_host_page_begin((struct hv_span){page, cut}, &p));
	memcpy(page + 8, &commit, sizeof(commit));
	ck_assert(!hv_host_page_begin((struct hv_span){page, sizeof(page)}, &p));
	put(28);
	put(0);
	p = begin(0, 0);
	ck_assert(!hv_host_page_next(&p, &entry));
	len = 0;
	put(0); /* 4 GiB */
	put(UINT32_MAX);
	p = begin(0, 0);
	ck_assert(!hv_host_page_next(&p, &entry));
	len = 0;
	put(0); /* shorter than its length */
	put(0);
	put_entry(0, 11);
	p = begin(0, 0);
	ck_assert(hv_host_page_next(&p, &entry));
	ck_assert_uint_eq(entry.len_bytes, 0);
	expect(&p, 0, 11);
}
END_TEST

static void setup(void)
{
	memset(page, 0, sizeof(page));
	len = 0;
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, times_add_up);
	tcase_add_test(tc, long_times_and_entries);
	tcase_add_test(tc, an_absolute_time_keeps_the_top_bits);
	tcase_add_test(tc, padding_ends_the_page);
	tcase_add_test(tc, lost_counts_of_a_page);
	tcase_add_test(tc, nothing_outside_is_read);
}

int main(void)
{
	return run_suite("host_page", add);
}
