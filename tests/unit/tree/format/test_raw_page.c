/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of the kernel's ring buffer: their bytes, and the events that a reader finds in them. */
#include <check.h>
#include <string.h>

#include "ringbuf/abi.h"
#include "tests/lib/run_suite.h"
#include "tree/format/raw_page.h"

static struct hv_raw_page page;

static uint8_t *empty_bytes(void)
{
	static uint8_t bytes[HV_RAW_PAGE_LEN];

	return memset(bytes, 0, sizeof(bytes));
}

static uint64_t get(size_t off, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value |= (uint64_t)page.bytes[off + i] << 8 * i;
	return value;
}

static struct hv_event function_at(uint64_t time_ns)
{
	struct hv_event e = {.kind = HV_EVENT_FUNCTION, .pid = 61, .time_ns = time_ns};

	e.ip.v = 0xffffffff8120e5c4;
	e.parent_ip.v = 0xffffffff8120ee78;
	return e;
}

/* Bytes that Linux 6.12 wrote. */
START_TEST(as_the_kernel_writes)
{
	static const uint8_t want[] = {
		0x6f, 0x0c, 0xb9, 0x73, 0x00, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x01, 0x00,
		0x00, 0x00, 0x3d, 0x00, 0x00, 0x00, 0xc4, 0xe5, 0x20, 0x81, 0xff,
		0xff, 0xff, 0xff, 0x78, 0xee, 0x20, 0x81, 0xff, 0xff, 0xff, 0xff,
	};
	struct hv_event e = function_at(0x73b90c6f);

	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	hv_raw_page_finish(&page);
	ck_assert_mem_eq(page.bytes, want, sizeof(want));
	for (size_t i = sizeof(want); i < sizeof(page.bytes); i++)
		ck_assert_uint_eq(page.bytes[i], 0);
}
END_TEST

START_TEST(marker_lines)
{
	struct hv_event e = {.kind = HV_EVENT_PRINT, .time_ns = 5, .text = "hello", .text_len = 5};
	char big[5000];

	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(16, 4), 6); /* 24 bytes */
	ck_assert_uint_eq(get(20, 2), 5);
	ck_assert_str_eq((char *)page.bytes + 36, "hello\n");
	memset(big, 'x', sizeof(big));
	e.text = big;
	e.text_len = 200;
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(44, 4) & 31, 0);
	ck_assert_uint_eq(get(48, 4), 4 + 16 + 204);
	ck_assert_uint_eq(page.len_bytes, 28 + 8 + 16 + 204);
	e.text_len = sizeof(big);
	ck_assert(!hv_raw_page_add(&page, &e));
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	e = (struct hv_event){.kind = HV_EVENT_RAW_DATA, .text = "abcdxyz", .text_len = 7};
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(20, 2), 18);
	ck_assert_mem_eq(page.bytes + 28, "abcdxyz\0", 8);
}
END_TEST

START_TEST(flags_and_depths)
{
	struct hv_event e = function_at(1);

	e.flags = HV_TRACE_IRQS_OFF | HV_TRACE_BH_OFF;
	e.preempt_depth = 3;
	e.migrate_depth = 2;
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(20, 4), 0x23810001);
}
END_TEST

START_TEST(time_between_events)
{
	static const uint64_t times[] = {1000, 1005, 1005 + (1 << 27), 1004 + (1 << 27),
					 1005 + (1ull << 40)};
	struct hv_event e;

	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	for (size_t i = 0; i < 5; i++) {
		e = function_at(times[i]);
		ck_assert(hv_raw_page_add(&page, &e));
	}
	hv_raw_page_finish(&page);
	ck_assert_uint_eq(get(0, 8), 1000);
	ck_assert_uint_eq(get(16, 4), 6);
	ck_assert_uint_eq(get(44, 4), 6 | 5 << 5);
	/* does not fit into 27 bits: extended */
	ck_assert_uint_eq(get(72, 4), 30);
	ck_assert_uint_eq(get(76, 4), 1);
	ck_assert_uint_eq(get(80, 4), 6);
	/* time went backwards: the difference is 0 */
	ck_assert_uint_eq(get(108, 4), 6);
	ck_assert_uint_eq(get(136, 4) >> 5 | get(140, 4) << 27, (1ull << 40) - (1 << 27));
	ck_assert_uint_eq(get(8, 8), 5 * 28 + 2 * 8);
}
END_TEST

START_TEST(a_page_fills_up)
{
	struct hv_event e = function_at(5);
	unsigned nr = 0;

	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	while (hv_raw_page_add(&page, &e))
		nr++;
	ck_assert_uint_eq(nr, 4080 / 28);
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), 28 * 3 + 27);
	for (nr = 0; hv_raw_page_add(&page, &e);)
		nr++;
	ck_assert_uint_eq(nr, 3);
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), 27);
	ck_assert(!hv_raw_page_add(&page, &e));
}
END_TEST

/* Only the head of a page can report a loss, so the first record after a loss begins a page. */
START_TEST(lost_before_the_page)
{
	struct hv_event e = function_at(5);

	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	e.lost_before = 11020;
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert(!hv_raw_page_add(&page, &e));
	e.lost_before = 0;
	ck_assert(hv_raw_page_add(&page, &e));
	hv_raw_page_finish(&page);
	ck_assert_uint_eq(get(8, 8), 56 | 0xc0000000);
	ck_assert_uint_eq(get(16 + 56, 8), 11020);
}
END_TEST

START_TEST(room_for_the_loss)
{
	struct hv_event e = function_at(5);

	e.lost_before = 1;
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), 28 + 7);
	ck_assert(!hv_raw_page_add(&page, &e));
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), 28 + 28 + 7);
	ck_assert(hv_raw_page_add(&page, &e));
	e.lost_before = 0;
	ck_assert(!hv_raw_page_add(&page, &e));
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), 28 + 28 + 8);
	e.lost_before = 1;
	ck_assert(hv_raw_page_add(&page, &e));
	e.lost_before = 0;
	ck_assert(hv_raw_page_add(&page, &e));
}
END_TEST

/* A line that fills the page alone. The kernel does not store the number of lost events then,
 * either. */
START_TEST(no_room_for_the_loss)
{
	static char text[HV_RAW_DATA_LEN];
	struct hv_event e = {.kind = HV_EVENT_PRINT, .lost_before = 7, .text = text};
	struct hv_raw_page p;

	memset(text, 'x', sizeof(text));
	e.text_len = sizeof(text);
	hv_raw_page_init(&p, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&p, &e));
	ck_assert_uint_eq(p.len_bytes, HV_RAW_DATA_LEN);
	hv_raw_page_finish(&p);
	ck_assert_uint_eq(p.bytes[8 + 3], 0x80);
}
END_TEST

/* An entry's bytes, padded to a multiple of four. From 113 bytes on, the length has a separate
 * word. */
START_TEST(entries_of_the_guests)
{
	static uint8_t entry[HV_ENTRY_LEN_MAX];
	struct hv_event e = {.kind = HV_EVENT_GUESTS, .time_ns = 5, .id = 314};

	memset(entry, 0x77, sizeof(entry));
	e.entry = (struct hv_span){entry, 9};
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(hv_raw_event_len(&e), 16);
	ck_assert_uint_eq(get(16, 4), 3);
	ck_assert_uint_eq(get(20, 8), 0x7777777777777777);
	ck_assert_uint_eq(get(28, 4), 0x77);
	e.entry.len_bytes = 112;
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(32, 4), 28);
	ck_assert_uint_eq(hv_raw_event_len(&e), 116);
	e.entry.len_bytes = 113;
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(148, 4), 0);
	ck_assert_uint_eq(get(152, 4), 120);
	ck_assert_uint_eq(get(156 + 112, 4), 0x77);
	ck_assert_uint_eq(hv_raw_event_len(&e), 124);
	ck_assert_uint_eq(page.len_bytes, 16 + 116 + 124);
}
END_TEST

/* No kernel writes such an entry, but a reader must get past it. */
START_TEST(an_entry_that_is_longer_than_a_page_is_cut)
{
	static uint8_t entry[HV_ENTRY_LEN_MAX];
	struct hv_event e = {.kind = HV_EVENT_GUESTS, .lost_before = 7};

	e.entry = (struct hv_span){entry, sizeof(entry)};
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(page.len_bytes, HV_RAW_DATA_LEN);
	ck_assert_uint_eq(get(20, 4), HV_RAW_DATA_LEN - 4);
}
END_TEST

/* A larger page has room for more than a small page's contents. */
START_TEST(a_larger_page)
{
	static char text[HV_RAW_DATA_LEN];
	static uint8_t bytes[2 * HV_RAW_PAGE_LEN];
	struct hv_raw_layout layout = hv_raw_layout_known;
	struct hv_event e = {.kind = HV_EVENT_PRINT, .text = text, .text_len = sizeof(text)};
	struct hv_event call = function_at(0);

	memset(text, 'x', sizeof(text));
	layout.data_bytes = sizeof(bytes) - HV_RAW_HEAD_LEN;
	ck_assert_uint_eq(hv_raw_text_max(&layout, HV_EVENT_PRINT), layout.data_bytes - 26);
	hv_raw_page_init(&page, &layout, bytes, layout.data_bytes);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(page.len_bytes, 8 + (16 + sizeof(text) + 2 + 3) / 4 * 4);
	while (hv_raw_page_add(&page, &call))
		continue;
	ck_assert_uint_gt(page.len_bytes, layout.data_bytes - 28);
}
END_TEST

START_TEST(calls_and_returns)
{
	struct hv_event e = function_at(700);

	e.kind = HV_EVENT_GRAPH_ENTRY;
	e.depth = 2;
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, &e));
	e.kind = HV_EVENT_GRAPH_EXIT;
	e.overrun = 9;
	e.call_ns = 600;
	ck_assert(hv_raw_page_add(&page, &e));
	hv_raw_page_finish(&page);
	ck_assert_uint_eq(get(8, 8), 24 + 44);
	ck_assert_uint_eq(get(16, 4), 5);
	ck_assert_uint_eq(get(20, 2), 11);
	ck_assert_uint_eq(get(28, 8), e.ip.v);
	ck_assert_uint_eq(get(36, 4), 2);
	ck_assert_uint_eq(get(40, 4), 10);
	ck_assert_uint_eq(get(44, 2), 10);
	ck_assert_uint_eq(get(60, 4), 2);
	ck_assert_uint_eq(get(64, 4), 9);
	ck_assert_uint_eq(get(68, 8), 600);
	ck_assert_uint_eq(get(76, 8), 700);
}
END_TEST

static uint64_t random_bits(void)
{
	static uint64_t state;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 24;
}

static struct hv_event any_call(uint64_t time_ns)
{
	struct hv_event e = {
		.kind = (enum hv_event_kind)(random_bits() % 3),
		.time_ns = time_ns,
		.pid = (uint32_t)random_bits(),
		.flags = (uint8_t)random_bits(),
		.preempt_depth = random_bits() & 15,
		.migrate_depth = random_bits() & 15,
		.lazy_depth = (uint8_t)random_bits(),
		.depth = (uint16_t)random_bits(),
		.overrun = (uint32_t)random_bits(),
		.call_ns = random_bits(),
		.lost_before = random_bits() % 2 ? 0 : random_bits(),
		.retval = random_bits(),
	};

	e.ip.v = random_bits();
	e.parent_ip.v = random_bits();
	return e;
}

/* Returns the brief of E without the fields that a brief lacks. */
static struct hv_brief brief_of(struct hv_event *e)
{
	e->lost_before = e->overrun = 0;
	if (e->kind != HV_EVENT_GRAPH_EXIT)
		e->call_ns = 0;
	return (struct hv_brief){.time_ns = e->time_ns,
				 .ip = e->ip,
				 .parent_ip = e->parent_ip,
				 .call_ns = e->call_ns,
				 .pid = e->pid,
				 .depth = e->depth,
				 .kind = (uint8_t)e->kind,
				 .flags = e->flags,
				 .preempt_depth = e->preempt_depth,
				 .migrate_depth = e->migrate_depth,
				 .lazy_depth = e->lazy_depth};
}

START_TEST(briefs_make_the_same_bytes)
{
	enum { NR = 64 };
	static uint8_t bytes[2][HV_RAW_PAGE_LEN];
	struct hv_event events[NR];
	struct hv_brief briefs[NR];
	struct hv_raw_page by_one, by_many;
	uint64_t time_ns = 1000;

	ck_assert_uint_eq(hv_raw_brief_kinds(&hv_raw_layout_known), 7);
	for (unsigned n = 0; n < 500; n++) {
		size_t max_bytes = 200 + random_bits() % 2000, nr_added, nr = 0;
		struct hv_event first = any_call(time_ns);

		memset(bytes, 0, sizeof(bytes));
		hv_raw_page_init(&by_one, &hv_raw_layout_known, bytes[0], max_bytes);
		hv_raw_page_init(&by_many, &hv_raw_layout_known, bytes[1], max_bytes);
		ck_assert_uint_eq(hv_raw_page_add_briefs(&by_many, briefs, NR), 0);
		ck_assert(hv_raw_page_add(&by_one, &first));
		ck_assert(hv_raw_page_add(&by_many, &first));
		for (unsigned i = 0; i < NR; i++) {
			time_ns += random_bits() % (random_bits() % 16 ? 5000 : UINT64_C(1) << 28);
			events[i] = any_call(time_ns - random_bits() % 100);
			if (random_bits() % 512 == 0)
				events[i].time_ns |= UINT64_C(1) << 62;
			briefs[i] = brief_of(&events[i]);
		}
		nr_added = hv_raw_page_add_briefs(&by_many, briefs, NR);
		while (nr < NR && hv_raw_page_add(&by_one, &events[nr]))
			nr++;
		ck_assert_uint_eq(nr_added, nr);
		hv_raw_page_finish(&by_one);
		hv_raw_page_finish(&by_many);
		ck_assert_mem_eq(bytes[0], bytes[1], sizeof(bytes[0]));
	}
}
END_TEST

/* If a kernel's records of a kind differ, no briefs of that kind are accepted. */
START_TEST(kinds_accepted_as_briefs)
{
	struct hv_raw_layout other = hv_raw_layout_known;

	other.is_known[HV_EVENT_GRAPH_EXIT] = 0;
	ck_assert_uint_eq(hv_raw_brief_kinds(&other),
			  HV_BRIEF_KIND(HV_EVENT_FUNCTION) | HV_BRIEF_KIND(HV_EVENT_GRAPH_ENTRY));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, as_the_kernel_writes);
	tcase_add_test(tc, briefs_make_the_same_bytes);
	tcase_add_test(tc, kinds_accepted_as_briefs);
	tcase_add_test(tc, marker_lines);
	tcase_add_test(tc, flags_and_depths);
	tcase_add_test(tc, time_between_events);
	tcase_add_test(tc, a_page_fills_up);
	tcase_add_test(tc, lost_before_the_page);
	tcase_add_test(tc, no_room_for_the_loss);
	tcase_add_test(tc, entries_of_the_guests);
	tcase_add_test(tc, an_entry_that_is_longer_than_a_page_is_cut);
	tcase_add_test(tc, room_for_the_loss);
	tcase_add_test(tc, a_larger_page);
	tcase_add_test(tc, calls_and_returns);
}

int main(void)
{
	return run_suite("raw_page", add_tests);
}
