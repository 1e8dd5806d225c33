/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separates host and guest events of one page. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "export/raw_pages.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/host_event.h"
#include "tree/format/raw_page.h"

#define OWN_ID	   300
#define NR_EVENTS  8
#define ENTRY_LEN  12
#define LONG_LEN   200
#define FAR_NS	   (UINT64_C(1) << 30) /* more than the 27 bits of an event's header */
#define OTHERS	   HV_SIFT_OTHERS
#define HOST	   HV_SIFT_HOST
#define HOST_FIRST HV_HOST_ID_FIRST
#define HOST_LAST  (HV_HOST_ID_END - 1)

static struct hv_page_sift sift;
static uint8_t bytes_of_page[HV_RAW_PAGE_LEN];
static struct hv_raw_page page;
static uint8_t entry[LONG_LEN];

static void begin(void)
{
	memset(bytes_of_page, 0, sizeof(bytes_of_page));
	hv_raw_page_init(&page, &hv_raw_layout_known, bytes_of_page, HV_RAW_DATA_LEN);
}

static bool put(uint64_t time_ns, uint16_t id, size_t len_bytes, uint64_t lost)
{
	struct hv_event e = {
		.kind = HV_EVENT_GUESTS,
		.time_ns = time_ns,
		.id = id,
		.entry = {entry, len_bytes},
		.lost_before = lost,
	};

	memcpy(entry, &id, sizeof(id));
	memset(entry + 4, (int)(time_ns % 251), len_bytes - 4);
	return hv_raw_page_add(&page, &e);
}

static struct hv_span made(void)
{
	hv_raw_page_finish(&page);
	return (struct hv_span){bytes_of_page, sizeof(bytes_of_page)};
}

struct found {
	unsigned nr;
	uint64_t times[NR_EVENTS];
	size_t lens[NR_EVENTS];
	uint64_t lost;
};

/* Reads the pages that sift makes of S. put() wrote the events in S. */
static void read_all(struct hv_span s, struct found *ret)
{
	enum hv_sift_side side;
	struct hv_raw_event e;
	struct hv_raw_events r;
	struct hv_span one;

	memset(ret, 0, HV_SIFT_NR * sizeof(*ret));
	ck_assert(hv_page_sift_begin(&sift, s));
	while (hv_page_sift_next(&sift, &side, &one)) {
		struct found *f = &ret[side];

		ck_assert(hv_raw_events_begin(&r, one));
		f->lost += r.lost;
		for (; hv_raw_events_next(&r, &e); f->nr++) {
			ck_assert_uint_lt(f->nr, NR_EVENTS);
			f->times[f->nr] = e.time_ns;
			f->lens[f->nr] = e.payload.len_bytes;
			if (side == HOST)
				ck_assert_uint_lt(e.payload.data[0] | e.payload.data[1] << 8,
						  HV_SIFT_HOST_ID + 32);
			ck_assert_uint_eq(e.payload.data[4], e.time_ns % 251);
			ck_assert_uint_eq(e.payload.data[e.payload.len_bytes - 1], e.time_ns % 251);
		}
	}
}

START_TEST(events_are_split_into_guest_and_host)
{
	static const uint64_t of_host[] = {1010, 1020, 1020 + 3 * FAR_NS};
	static const uint64_t of_guest[] = {1000, 1030 + FAR_NS, 1040 + 4 * FAR_NS};
	struct found got[HV_SIFT_NR];

	begin();
	ck_assert(put(1000, OWN_ID, ENTRY_LEN, 0));
	ck_assert(put(1010, HOST_FIRST, ENTRY_LEN, 0));
	ck_assert(put(1020, HOST_LAST, LONG_LEN, 0));
	ck_assert(put(1030 + FAR_NS, OWN_ID, LONG_LEN, 0));
	ck_assert(put(1020 + 3 * FAR_NS, HOST_FIRST, ENTRY_LEN, 0));
	ck_assert(put(1040 + 4 * FAR_NS, HV_HOST_ID_END, ENTRY_LEN, 0));
	read_all(made(), got);
	ck_assert_uint_eq(got[HOST].nr, 3);
	ck_assert_uint_eq(got[OTHERS].nr, 3);
	ck_assert_mem_eq(got[HOST].times, of_host, sizeof(of_host));
	ck_assert_mem_eq(got[OTHERS].times, of_guest, sizeof(of_guest));
	ck_assert_uint_eq(got[HOST].lens[0], ENTRY_LEN);
	ck_assert_uint_eq(got[HOST].lens[1], LONG_LEN);
	ck_assert_uint_eq(got[OTHERS].lens[1], LONG_LEN);
}
END_TEST

START_TEST(losses_count_for_the_guest)
{
	struct found got[HV_SIFT_NR];

	begin();
	ck_assert(put(1000, HOST_FIRST, ENTRY_LEN, 7));
	ck_assert(put(1010, OWN_ID, ENTRY_LEN, 0));
	read_all(made(), got);
	ck_assert_uint_eq(got[OTHERS].lost, 7);
	ck_assert_uint_eq(got[HOST].lost, 0);
	begin();
	ck_assert(put(1000, HOST_FIRST, ENTRY_LEN, 8));
	read_all(made(), got);
	ck_assert_uint_eq(got[HOST].lost, 8);
}
END_TEST

START_TEST(a_page_can_need_several_pages)
{
	unsigned nr = 0, got = 0;
	enum hv_sift_side side;
	struct hv_span one;

	begin();
	while (put(1000 + nr * FAR_NS, nr % 2 ? OWN_ID : HOST_FIRST, ENTRY_LEN, 0))
		nr++;
	ck_assert(hv_page_sift_has_host(made()));
	ck_assert(hv_page_sift_begin(&sift, made()));
	while (hv_page_sift_next(&sift, &side, &one)) {
		struct hv_raw_events r;
		struct hv_raw_event e;

		ck_assert(hv_raw_events_begin(&r, one));
		for (; hv_raw_events_next(&r, &e); got++)
			ck_assert_uint_eq((e.time_ns - 1000) / FAR_NS % 2, side == OTHERS);
	}
	ck_assert_uint_eq(got, nr);
}
END_TEST

START_TEST(a_clock_may_go_back)
{
	/* In a page, only an absolute time can go back. */
	uint32_t stamp[2] = {31 | 500u << 5, 0};
	struct found got[HV_SIFT_NR];
	size_t len = 4 + ENTRY_LEN;

	begin();
	ck_assert(put(1000, HOST_FIRST, ENTRY_LEN, 0));
	memcpy(bytes_of_page + HV_RAW_HEAD_LEN + len, stamp, sizeof(stamp));
	page.len_bytes += sizeof(stamp);
	page.time_ns = 500;
	ck_assert(put(510, HOST_FIRST, ENTRY_LEN, 0));
	read_all(made(), got);
	ck_assert_uint_eq(got[HOST].nr, 2);
	ck_assert_uint_eq(got[HOST].times[0], 1000);
	ck_assert_uint_eq(got[HOST].times[1], 510);
}
END_TEST

START_TEST(empty_and_invalid_pages)
{
	uint8_t lies[HV_RAW_PAGE_LEN] = {0};

	begin();
	ck_assert(!hv_page_sift_begin(&sift, made()));
	ck_assert(!hv_page_sift_has_host((struct hv_span){lies, 8}));
	memset(lies, 0xff, sizeof(lies));
	ck_assert(!hv_page_sift_begin(&sift, (struct hv_span){lies, sizeof(lies)}));
	begin();
	ck_assert(put(1000, OWN_ID, ENTRY_LEN, 0));
	ck_assert(!hv_page_sift_has_host(made()));
}
END_TEST

static void setup(void)
{
	hv_page_sift_init(&sift, HV_RAW_PAGE_LEN);
}

static void teardown(void)
{
	hv_page_sift_deinit(&sift);
}

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, events_are_split_into_guest_and_host);
	tcase_add_test(tc, losses_count_for_the_guest);
	tcase_add_test(tc, a_page_can_need_several_pages);
	tcase_add_test(tc, a_clock_may_go_back);
	tcase_add_test(tc, empty_and_invalid_pages);
}

int main(void)
{
	return run_suite("page_sift", add_tests);
}
