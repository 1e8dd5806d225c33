/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames, tables, split pages, the order of frames, addresses. */
#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/inet.h"
#include "stream/split.h"
#include "stream/table.h"
#include "stream/window.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/lib/zstd_without_memory.h"
#include "tree/format/raw_page.h"

static const struct hv_stream_key key = {{1, 2, 3}};
static uint8_t frame[HV_STREAM_FRAME_MAX];

/* Replaces the function of libsodium. */
int sodium_init(void)
{
	return -1;
}

START_TEST(a_key_without_libsodium)
{
	char path[] = "/tmp/hvtrace-key-XXXXXX";
	int fd = mkstemp(path);
	struct hv_stream_key read;

	ck_assert_int_ge(fd, 0);
	expect_error(hv_stream_key_read(path, &read), EIO, "cannot initialize libsodium");
	close(fd);
	unlink(path);
}
END_TEST

static struct hv_span make_frame(size_t len_bytes)
{
	struct hv_stream_frame f = {
		.kind = 2, .session = 77, .sequence = 5, .raw_bytes = (uint32_t)len_bytes};

	memset(frame + HV_STREAM_HEAD_LEN, 'x', len_bytes);
	return (struct hv_span){frame, hv_stream_encode(frame, &f, len_bytes, &key)};
}

START_TEST(frames_come_back)
{
	struct hv_stream_frame f;
	struct hv_span s = make_frame(100);

	ck_assert_uint_eq(s.len_bytes, HV_STREAM_FRAME_LEN + 100);
	ck_assert_int_eq(hv_stream_decode(s, &key, &f), HV_STREAM_GOOD);
	ck_assert_uint_eq(f.session, 77);
	ck_assert_uint_eq(f.sequence, 5);
	ck_assert_uint_eq(f.kind, 2);
	ck_assert_uint_eq(f.body.len_bytes, 100);
	ck_assert_uint_eq(f.body.data[99], 'x');
}
END_TEST

/* Frames with a changed bit, with missing bytes, or with one more byte. */
START_TEST(changed_frames_are_refused)
{
	struct hv_stream_frame f;
	struct hv_span s = make_frame(40);
	const struct hv_stream_key other = {{1, 2, 4}};

	for (size_t bit = 0; bit < s.len_bytes * 8; bit++) {
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_ne(hv_stream_decode(s, &key, &f), HV_STREAM_GOOD);
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (size_t len = 0; len < s.len_bytes; len++)
		ck_assert_int_ne(hv_stream_decode((struct hv_span){frame, len}, &key, &f),
				 HV_STREAM_GOOD);
	s.len_bytes++;
	ck_assert_int_eq(hv_stream_decode(s, &key, &f), HV_STREAM_BAD_LENGTH);
	s.len_bytes--;
	ck_assert_int_eq(hv_stream_decode(s, &other, &f), HV_STREAM_BAD_HASH);
	frame[4]++;
	ck_assert_int_eq(hv_stream_decode(s, &key, &f), HV_STREAM_OTHER_VERSION);
}
END_TEST

START_TEST(frames_in_a_stream_of_bytes)
{
	struct hv_span s = make_frame(40);
	size_t len;

	for (size_t n = 0; n < 28; n++) {
		ck_assert(hv_stream_frame_bytes((struct hv_span){frame, n}, &len));
		ck_assert_uint_eq(len, 0);
	}
	ck_assert(hv_stream_frame_bytes((struct hv_span){frame, 28}, &len));
	ck_assert_uint_eq(len, s.len_bytes);
	memset(frame + 24, 0xff, 4);
	ck_assert(!hv_stream_frame_bytes((struct hv_span){frame, 28}, &len));
	ck_assert(!hv_stream_frame_bytes((struct hv_span){(const uint8_t *)"GET /", 5}, &len));
}
END_TEST

/* Pages. */

static uint8_t page_bytes[HV_RAW_PAGE_LEN];

static struct hv_span make_page(unsigned nr, uint64_t lost)
{
	struct hv_event e = {.kind = HV_EVENT_FUNCTION, .time_ns = 1000, .lost_before = lost};
	struct hv_raw_page page;

	memset(page_bytes, 0, sizeof(page_bytes));
	hv_raw_page_init(&page, &hv_raw_layout_known, page_bytes, HV_RAW_DATA_LEN);
	for (unsigned i = 0; i < nr; i++, e.time_ns += 10, e.lost_before = 0)
		ck_assert(hv_raw_page_add(&page, &e));
	hv_raw_page_finish(&page);
	return (struct hv_span){page_bytes, sizeof(page_bytes)};
}

START_TEST(every_event_is_in_one_piece)
{
	struct hv_stream_split split;
	struct hv_stream_piece piece;
	uint8_t to[400];
	uint64_t time_ns = 1000, lost = 7;
	unsigned nr = 0;

	ck_assert(hv_stream_split_begin(&split, make_page(100, 7)));
	while ((piece = hv_stream_split_next(&split, to, 400, 400)).nr) {
		struct hv_raw_events r;
		struct hv_raw_event e;

		ck_assert_uint_le(piece.len_bytes, 400);
		ck_assert_uint_eq(piece.nr_skipped, 0);
		ck_assert(hv_raw_events_begin(&r, (struct hv_span){to, piece.len_bytes}));
		ck_assert_uint_eq(r.lost, lost);
		ck_assert(r.has_lost == (lost != 0));
		for (unsigned i = 0; i < piece.nr; i++, nr++, time_ns += 10) {
			ck_assert(hv_raw_events_next(&r, &e));
			ck_assert_uint_eq(e.time_ns, time_ns);
		}
		ck_assert(!hv_raw_events_next(&r, &e));
		lost = 0;
	}
	ck_assert_uint_eq(nr, 100);
}
END_TEST

START_TEST(events_without_room_are_skipped)
{
	struct hv_stream_split split;
	struct hv_stream_piece piece;
	uint8_t to[64];

	ck_assert(hv_stream_split_begin(&split, make_page(3, 0)));
	piece = hv_stream_split_next(&split, to, 40, 40);
	ck_assert_uint_eq(piece.nr, 0);
	ck_assert_uint_eq(piece.nr_skipped, 3);
	/* an event that is too long for a usual piece gets a longer piece */
	ck_assert(hv_stream_split_begin(&split, make_page(3, 0)));
	piece = hv_stream_split_next(&split, to, 40, 64);
	ck_assert_uint_eq(piece.nr, 1);
}
END_TEST

START_TEST(losses_add_up)
{
	struct hv_raw_events r;

	make_page(3, 7);
	hv_stream_note_lost(page_bytes, sizeof(page_bytes), sizeof(page_bytes), 5);
	ck_assert(hv_raw_events_begin(&r, (struct hv_span){page_bytes, sizeof(page_bytes)}));
	ck_assert(r.has_lost && r.has_number);
	ck_assert_uint_eq(r.lost, 12);
	make_page(3, 0);
	hv_stream_note_lost(page_bytes, sizeof(page_bytes), sizeof(page_bytes), 5);
	ck_assert(hv_raw_events_begin(&r, (struct hv_span){page_bytes, sizeof(page_bytes)}));
	ck_assert_uint_eq(r.lost, 5);
}
END_TEST

/* The order of frames. */

static struct hv_stream_window window;

/* Adds frame SEQUENCE, which contains that number as a letter. Appends the letters of the frames
 * that come out to RET. */
static void arrive(unsigned sequence, uint64_t now_ns, struct hv_text *ret)
{
	uint8_t byte = (uint8_t)sequence;
	struct hv_span s = {&byte, 1};
	struct hv_stream_held held;

	while (hv_stream_window_make_room(&window, sequence, &held)) {
		hv_text_add_char(ret, (char)held.bytes[0]);
		free(held.bytes);
	}
	if (hv_stream_window_add(&window, sequence, s, now_ns) == HV_STREAM_IN_ORDER)
		hv_text_add_char(ret, (char)byte);
	while (hv_stream_window_take(&window, now_ns, &held)) {
		hv_text_add_char(ret, (char)held.bytes[0]);
		free(held.bytes);
	}
}

static void order(const char *in, const char *want, uint64_t lost, uint64_t repeated)
{
	HV_AUTO_TEXT struct hv_text got = {0};
	uint64_t now_ns = 1;

	for (; *in; in++) {
		if (*in == ' ')
			now_ns += HV_STREAM_WINDOW_NS;
		else
			arrive((unsigned)*in, now_ns, &got);
	}
	ck_assert_str_eq(got.data, want);
	ck_assert_uint_eq(window.nr_lost, lost);
	ck_assert_uint_eq(window.nr_repeated, repeated);
	hv_stream_window_deinit(&window);
}

START_TEST(frames_are_put_in_order)
{
	order("abc", "abc", 0, 0);
	order("adcb", "abcd", 0, 0);
	order("aabbdcd", "abcd", 0, 3);
	order("adc e", "acde", 1, 0);	/* the wait for b ends */
	order("adc be", "abcde", 0, 0); /* b is the first frame after the wait */
	order("ac deb", "acde", 1, 1);	/* too late */
}
END_TEST

START_TEST(a_distant_frame_ends_the_wait)
{
	HV_AUTO_TEXT struct hv_text got = {0};

	arrive(1, 1, &got);
	arrive(3, 1, &got);
	arrive(3 + HV_STREAM_WINDOW, 1, &got);
	ck_assert_uint_eq(got.len_bytes, 2);
	arrive(1u << 31, 1, &got);
	ck_assert_uint_eq(got.len_bytes, 4);
	ck_assert_uint_eq(window.nr_lost, (1u << 31) - 4);
	ck_assert_uint_eq(window.nr_held, 0);
	hv_stream_window_deinit(&window);
}
END_TEST

/* Tables. */

static struct hv_export_head sample_head(void)
{
	static const struct hv_export_event events[] = {{"ftrace", {"name: function\n", 15}},
							{"sched", {"name: x\n", 8}}};

	return (struct hv_export_head){
		.nr_cpus = 3,
		.page_bytes = 4096,
		.clock = "local",
		.kernel = "Linux",
		.program = "test",
		.kallsyms = {"ffffffff81000000 T _text\n", 25},
		.events = events,
		.nr_events = 2,
	};
}

START_TEST(heads_come_back)
{
	struct hv_export_head head = sample_head();
	struct hv_stream_head h;
	struct hv_text text = {0};

	hv_stream_head_encode(&head, "web1", "here", &text);
	ck_assert(hv_stream_head_decode(&text, &h));
	ck_assert_str_eq(h.guest, "web1");
	ck_assert_str_eq(h.host, "here");
	ck_assert_uint_eq(h.head.nr_cpus, 3);
	ck_assert_uint_eq(h.head.page_bytes, 4096);
	ck_assert_str_eq(h.head.clock, "local");
	ck_assert_str_eq(h.head.kallsyms.text, "ffffffff81000000 T _text\n");
	ck_assert_uint_eq(h.head.printk_formats.len_bytes, 0);
	ck_assert_uint_eq(h.head.nr_events, 2);
	ck_assert_str_eq(h.head.events[1].system, "sched");
	ck_assert_str_eq(h.head.events[1].format.text, "name: x\n");
	hv_stream_head_deinit(&h);
}
END_TEST

/* With any part missing or any byte wrong, nothing outside the text is read. */
START_TEST(hostile_heads)
{
	struct hv_export_head head = sample_head();
	HV_AUTO_TEXT struct hv_text good = {0};
	struct hv_text lacks_nul = {0};
	struct hv_stream_head h;

	hv_stream_head_encode(&head, "web1", "here", &good);
	good.data[16] = 'x'; /* instead of the NUL after the first record */
	hv_text_add_bytes(&lacks_nul, good.data, good.len_bytes);
	ck_assert(!hv_stream_head_decode(&lacks_nul, &h));
	good.data[16] = '\0';
	srand(1);
	for (size_t i = 0; i < good.len_bytes + 20000; i++) {
		size_t len = i < good.len_bytes ? i : good.len_bytes;
		struct hv_text text = {hv_alloc(len), len, len};

		memcpy(text.data, good.data, len);
		for (unsigned j = 0; i >= good.len_bytes && j < 3; j++)
			text.data[(size_t)rand() % len] = (char)rand();
		if (hv_stream_head_decode(&text, &h))
			hv_stream_head_deinit(&h);
		else
			ck_assert_ptr_null(text.data);
	}
}
END_TEST

START_TEST(a_table_that_is_not_compressed)
{
	struct hv_stream_parts parts = {0};

	has_no_memory = true;
	expect_error(hv_stream_parts_set(&parts, HV_STREAM_HEAD,
					 (struct hv_span){(const uint8_t *)"head", 4}, 256),
		     EIO, "zstd: Allocation error : not enough memory");
	has_no_memory = false;
}
END_TEST

START_TEST(tables_come_in_any_order)
{
	struct hv_stream_parts parts = {0};
	struct hv_stream_table table = {0};
	HV_AUTO_TEXT struct hv_text text = {0}, got = {0};
	struct hv_stream_part p[64];
	size_t nr = 0;

	srand(1);
	for (unsigned i = 0; i < 6000; i++)
		hv_text_add_char(&text, (char)('a' + rand() % 26));
	ck_assert_ptr_null(
		hv_stream_parts_set(&parts, HV_STREAM_HEAD,
				    (struct hv_span){(uint8_t *)text.data, text.len_bytes}, 256));
	for (; !parts.nr_rounds; nr++)
		p[nr] = hv_stream_parts_next(&parts);
	ck_assert_uint_gt(nr, 8);
	for (size_t i = nr; i-- > 1;)
		ck_assert_int_eq(hv_stream_table_add(&table, &p[i]), HV_STREAM_PART_TAKEN);
	ck_assert_int_eq(hv_stream_table_add(&table, &p[3]), HV_STREAM_PART_TAKEN);
	ck_assert_int_eq(hv_stream_table_add(&table, &p[0]), HV_STREAM_PART_LAST);
	ck_assert(hv_stream_table_text(&table, &got));
	ck_assert_str_eq(got.data, text.data);
	hv_stream_table_deinit(&table);
	hv_stream_parts_deinit(&parts);
}
END_TEST

START_TEST(inconsistent_parts_are_refused)
{
	static const uint8_t bytes[1000];
	struct hv_stream_part good = {.part_bytes = 300,
				      .generation = 1,
				      .total_bytes = 700,
				      .raw_bytes = 2000,
				      .off = 300,
				      .bytes = {bytes, 300}};
	struct hv_stream_table t = {0};
	struct hv_stream_part p;

#define WRONG(member, value)                                                                       \
	do {                                                                                       \
		p = good;                                                                          \
		p.member = (value);                                                                \
		ck_assert_int_eq(hv_stream_table_add(&t, &p), HV_STREAM_PART_WRONG);               \
	} while (0)
	ck_assert_int_eq(hv_stream_table_add(&t, &good), HV_STREAM_PART_TAKEN);
	WRONG(part_bytes, 0);
	WRONG(part_bytes, 150);
	WRONG(total_bytes, 701);
	WRONG(total_bytes, 0);
	WRONG(total_bytes, HV_STREAM_TABLE_MAX + 1);
	WRONG(raw_bytes, 0);
	WRONG(raw_bytes, UINT32_MAX);
	WRONG(off, 600);
	WRONG(off, 700);
	WRONG(off, 301);
	WRONG(bytes.len_bytes, 299);
	WRONG(bytes.len_bytes, 301);
#undef WRONG
	hv_stream_table_deinit(&t);
}
END_TEST

START_TEST(networks)
{
	struct hv_stream_network n;
	struct hv_stream_network a;

	ck_assert(hv_stream_network_parse("10.1.2.0/23", &n));
	ck_assert(hv_stream_network_parse("10.1.3.255", &a));
	ck_assert(hv_stream_network_has(&n, &a.address));
	ck_assert(hv_stream_network_parse("10.1.4.0", &a));
	ck_assert(!hv_stream_network_has(&n, &a.address));
	ck_assert(hv_stream_network_parse("fd00::/8", &n));
	ck_assert(!hv_stream_network_has(&n, &a.address));
	ck_assert(hv_stream_network_parse("fd12::1", &a));
	ck_assert(hv_stream_network_has(&n, &a.address));
	ck_assert(hv_stream_network_parse("0.0.0.0/0", &n));
	ck_assert(!hv_stream_network_has(&n, &a.address));
	ck_assert(!hv_stream_network_parse("10.1.2.0/33", &n));
	ck_assert(!hv_stream_network_parse("10.1.2.0/", &n));
	ck_assert(!hv_stream_network_parse("10.1.2.0/8x", &n));
	ck_assert(!hv_stream_network_parse("10.1.2", &n));
	ck_assert(!hv_stream_network_parse("", &n));
}
END_TEST

START_TEST(a_table_is_bounded)
{
	const size_t len = HV_STREAM_TABLE_RAW_MAX + 1;
	HV_AUTO_FREE uint8_t *zeros = hv_alloc(len);
	struct hv_stream_parts parts = {0};

	expect_error(
		hv_stream_parts_set(&parts, HV_STREAM_HEAD, (struct hv_span){zeros, len}, 1000),
		EFBIG, "the guest's symbols and formats are too long for a stream: 67108865 bytes");
	hv_stream_parts_deinit(&parts);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_key_without_libsodium);
	tcase_add_test(tc, a_table_is_bounded);
	tcase_add_test(tc, frames_come_back);
	tcase_add_test(tc, changed_frames_are_refused);
	tcase_add_test(tc, frames_in_a_stream_of_bytes);
	tcase_add_test(tc, every_event_is_in_one_piece);
	tcase_add_test(tc, events_without_room_are_skipped);
	tcase_add_test(tc, losses_add_up);
	tcase_add_test(tc, frames_are_put_in_order);
	tcase_add_test(tc, a_distant_frame_ends_the_wait);
	tcase_add_test(tc, heads_come_back);
	tcase_add_test(tc, hostile_heads);
	tcase_add_test(tc, a_table_that_is_not_compressed);
	tcase_add_test(tc, tables_come_in_any_order);
	tcase_add_test(tc, inconsistent_parts_are_refused);
	tcase_add_test(tc, networks);
}

int main(void)
{
	return run_suite("stream_frames", add_tests);
}
