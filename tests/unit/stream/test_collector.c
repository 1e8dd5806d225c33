/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sender and a collector without a network: lost, repeated, reordered and corrupt frames are
 * counted, and all others reach the file. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "export/export.h"
#include "export/raw_pages.h"
#include "stream/collector.h"
#include "stream/sender.h"
#include "tests/lib/run_suite.h"
#include "tree/format/raw_page.h"

#define FRAMES_MAX 1000
#define PAGES	   20
#define NR_EVENTS  40 /* per page */

/* An output that keeps frames. */
struct kept {
	struct hv_stream_out base;
	uint8_t room[HV_STREAM_FRAME_MAX];
	struct hv_stream_held frames[FRAMES_MAX];
	unsigned nr;
};

static struct kept kept;

static uint8_t *kept_room(struct hv_stream_out *out)
{
	return ((struct kept *)out)->room;
}

static void kept_put(struct hv_stream_out *out, size_t len)
{
	struct kept *k = (struct kept *)out;

	ck_assert_uint_lt(k->nr, FRAMES_MAX);
	k->frames[k->nr] = (struct hv_stream_held){hv_alloc(len), len};
	memcpy(k->frames[k->nr++].bytes, k->room, len);
}

static void kept_flush(struct hv_stream_out *out hv_unused)
{
}

static const struct hv_stream_out_ops kept_ops = {
	.room = kept_room, .put = kept_put, .flush = kept_flush, .drain = kept_flush};

/* A format that counts. */
static unsigned written, noted_lost, nr_ended;
static char names[100];

static struct hv_err *counting_open(const struct hv_export_config *config hv_unused,
				    const struct hv_export_head *head hv_unused,
				    struct hv_export **ret)
{
	*ret = hv_alloc(sizeof(**ret));
	return NULL;
}

static struct hv_err *counting_add(struct hv_export *x hv_unused, unsigned cpu hv_unused,
				   struct hv_span page)
{
	struct hv_raw_events r;
	struct hv_raw_event e;

	ck_assert_uint_eq(page.len_bytes, HV_RAW_PAGE_LEN);
	ck_assert(hv_raw_events_begin(&r, page));
	noted_lost += (unsigned)r.lost;
	while (hv_raw_events_next(&r, &e))
		written++;
	return NULL;
}

static struct hv_err *counting_names(struct hv_export *x hv_unused, struct hv_export_text text)
{
	memcpy(names, text.text, text.len_bytes);
	return NULL;
}

static struct hv_err *counting_turn(struct hv_export *x hv_unused)
{
	return NULL;
}

static struct hv_err *counting_end(struct hv_export *x hv_unused)
{
	nr_ended++;
	return NULL;
}

static void counting_free(struct hv_export *x)
{
	free(x);
}

static const struct hv_export_format counting = {
	.name = "counting",
	.suffix = ".count",
	.input = HV_EXPORT_PAGES,
	.open = counting_open,
	.add = counting_add,
	.name_tasks = counting_names,
	.turn = counting_turn,
	.end = counting_end,
	.free = counting_free,
};

static struct hv_stream_collector collector;
static struct hv_stream_address from;
static char dir[] = "/tmp/test_stream-XXXXXX";
static char last_note[300];

static void keep_note(const char *line)
{
	strncpy(last_note, line, sizeof(last_note) - 1);
}

static int dir_fd;
static uint64_t free_mib; /* of the file system; 0: not known */

/* Replaces the function of the C library. */
int fstatvfs(int fd, struct statvfs *ret)
{
	(void)fd;
	*ret = (struct statvfs){.f_frsize = 1 << 20, .f_blocks = 1 << 20, .f_bavail = free_mib};
	return free_mib ? 0 : -1;
}

static void begin_collector(void)
{
	collector = (struct hv_stream_collector){.max_guests = 2, .idle_ns = HV_NS_PER_S};
	collector.key.bytes[0] = 7;
	collector.store =
		(struct hv_stream_store){.dir_path = "dir", .format = &counting, .note = keep_note};
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	collector.store.maker = hv_maker_of(&dir_fd);
	from = hv_stream_address_v4(0x0100007f);
	written = noted_lost = nr_ended = 0;
	memset(names, 0, sizeof(names));
}

static void add_page(struct hv_export *x, unsigned cpu, uint64_t time_ns)
{
	struct hv_event e = {.kind = HV_EVENT_FUNCTION, .time_ns = time_ns};
	uint8_t bytes[HV_RAW_PAGE_LEN] = {0};
	struct hv_raw_page page;

	hv_raw_page_init(&page, &hv_raw_layout_known, bytes, HV_RAW_DATA_LEN);
	for (unsigned i = 0; i < NR_EVENTS; i++, e.time_ns += 10)
		ck_assert(hv_raw_page_add(&page, &e));
	hv_raw_page_finish(&page);
	ck_assert_ptr_null(hv_export_add(x, cpu, (struct hv_span){bytes, sizeof(bytes)}));
}

/* Makes frames of PAGES pages of two vCPUs. */
static void make_frames(enum hv_compression compression)
{
	struct hv_export_head head = {.nr_cpus = 2,
				      .page_bytes = HV_RAW_PAGE_LEN,
				      .clock = "local",
				      .kernel = "Linux",
				      .program = "test"};
	struct hv_stream_to to = {
		.out = &kept.base, .key.bytes = {7}, .where = "x", .guest = "../g", .host = "h"};
	const struct hv_export_config config = {
		.path = "x", .fd = -1, .to = &to, .compression = compression};
	struct hv_export *x;

	kept = (struct kept){
		.base = {.ops = &kept_ops, .want_bytes = 600, .max_bytes = HV_STREAM_FRAME_MAX}};
	ck_assert_ptr_null(hv_export_open(&hv_stream_format, &config, &head, &x));
	ck_assert_ptr_null(
		hv_export_name_tasks(x, (struct hv_export_text){"61 cat\n", strlen("61 cat\n")}));
	for (unsigned i = 0; i < PAGES; i++)
		add_page(x, i % 2, 1000 + i * 1000);
	ck_assert_ptr_null(hv_export_end(x));
	hv_export_free(x);
}

static void free_frames(void)
{
	for (unsigned i = 0; i < kept.nr; i++)
		free(kept.frames[i].bytes);
	kept.nr = 0;
}

static bool send_frame(unsigned i, uint64_t now_ns)
{
	return hv_stream_collector_take(
		&collector, &from, (struct hv_span){kept.frames[i].bytes, kept.frames[i].len_bytes},
		now_ns);
}

static void end_collector(void)
{
	hv_stream_collector_end(&collector);
	hv_stream_collector_deinit(&collector);
	close(dir_fd);
	free_frames();
}

static unsigned kind_of(unsigned i)
{
	return kept.frames[i].bytes[5];
}

START_TEST(everything_arrives)
{
	enum hv_compression how = _i ? HV_COMPRESSION_ZSTD : HV_COMPRESSION_NONE;

	begin_collector();
	make_frames(how);
	for (unsigned i = 0; i < kept.nr; i++)
		ck_assert(send_frame(i, i));
	ck_assert_uint_eq(written, PAGES * NR_EVENTS);
	ck_assert_uint_eq(noted_lost, 0);
	ck_assert_uint_eq(nr_ended, 1);
	ck_assert_str_eq(names, "61 cat\n");
	ck_assert_ptr_nonnull(strstr(last_note, "dir/_._g@h/"));
	ck_assert_ptr_nonnull(strstr(last_note, ": end: 800 events, 0 lost in transit"));
	end_collector();
}
END_TEST

/* Every frame twice, and each group of eight in reverse. */
START_TEST(repeated_and_exchanged)
{
	begin_collector();
	make_frames(HV_COMPRESSION_NONE);
	send_frame(0, 0);
	for (unsigned i = 1; i < kept.nr; i += 8)
		for (unsigned j = 8; j-- > 0;)
			if (i + j < kept.nr)
				ck_assert(send_frame(i + j, 1) && send_frame(i + j, 1));
	ck_assert_uint_eq(written, PAGES * NR_EVENTS);
	ck_assert_uint_eq(noted_lost, 0);
	end_collector();
}
END_TEST

/* The numbers of lost and written events add up to all events. */
START_TEST(losses_are_counted)
{
	unsigned nr_dropped = 0;

	begin_collector();
	make_frames(HV_COMPRESSION_NONE);
	for (unsigned i = 0; i < kept.nr; i++) {
		if (kind_of(i) == HV_STREAM_EVENTS && i % 3 == 0)
			nr_dropped++;
		else
			send_frame(i, i * HV_STREAM_WINDOW_NS);
	}
	ck_assert_uint_gt(nr_dropped, 10);
	ck_assert_uint_lt(written, PAGES * NR_EVENTS);
	ck_assert_ptr_nonnull(strstr(last_note, "lost in transit"));
	ck_assert_uint_eq(strtoul(strstr(last_note, ": end: ") + strlen(": end: "), NULL, 10),
			  written);
	ck_assert_uint_eq(strtoul(strstr(last_note, "events, ") + strlen("events, "), NULL, 10),
			  PAGES * NR_EVENTS - written);
	/* losses after a vCPU's last event cannot be noted in the file */
	ck_assert_uint_gt(noted_lost, 0);
	ck_assert_uint_le(noted_lost, PAGES * NR_EVENTS - written);
	end_collector();
}
END_TEST

/* A collector that starts late understands the stream when the head is repeated. */
START_TEST(late_collector)
{
	unsigned first = 0;

	begin_collector();
	make_frames(HV_COMPRESSION_NONE);
	while (kind_of(first) != HV_STREAM_EVENTS)
		first++;
	for (unsigned i = first + HV_STREAM_FIRST; i < kept.nr - 3; i++)
		send_frame(i, i);
	ck_assert_uint_eq(written, 0);
	for (unsigned i = 0; i < first; i++) { /* repeat the head with new sequence numbers */
		struct hv_stream_frame f;
		struct hv_span s = {kept.frames[i].bytes, kept.frames[i].len_bytes};

		ck_assert_int_eq(hv_stream_decode_again(s, &f), HV_STREAM_GOOD);
		f.sequence = kept.nr - 3 + i;
		hv_stream_encode(kept.frames[i].bytes, &f, f.body.len_bytes, &collector.key);
		send_frame(i, 1000 + i);
	}
	ck_assert_uint_gt(written, 0);
	hv_stream_collector_end(&collector);
	ck_assert_ptr_nonnull(strstr(last_note, "sent before the collector began"));
	ck_assert_ptr_nonnull(strstr(last_note, " 0 lost in transit"));
	end_collector();
}
END_TEST

START_TEST(unknown_senders_are_refused)
{
	begin_collector();
	make_frames(HV_COMPRESSION_NONE);
	ck_assert(hv_stream_network_parse("10.0.0.0/8", &collector.allow[0]));
	collector.nr_allow = 1;
	ck_assert(!send_frame(0, 0));
	ck_assert_uint_eq(collector.nr_strangers, 1);
	collector.nr_allow = 0;
	collector.key.bytes[0]++;
	ck_assert(!send_frame(0, 0));
	hv_stream_collector_turn(&collector, 1);
	ck_assert_str_eq(last_note,
			 "2 frames refused in total, 1: wrong key, 1: from addresses that "
			 "are not allowed");
	end_collector();
}
END_TEST

/* A third stream is refused until one of the others has been silent. */
START_TEST(limits)
{
	begin_collector();
	for (unsigned i = 0; i < 3; i++) {
		struct hv_stream_frame f = {.kind = 99, .session = i};
		uint8_t bytes[HV_STREAM_FRAME_LEN];
		size_t len = hv_stream_encode(bytes, &f, 0, &collector.key);

		ck_assert(hv_stream_collector_take(&collector, &from, (struct hv_span){bytes, len},
						   i) == (i < 2));
	}
	ck_assert_uint_eq(collector.nr_too_many, 1);
	hv_stream_collector_turn(&collector, 2 * HV_NS_PER_S);
	ck_assert_uint_eq(collector.nr_guests, 0);
	ck_assert_str_eq(last_note, "1 frame refused in total, 1: over the limit of 2 guests");
	end_collector();

	begin_collector();
	collector.store.max_rate = 1000;
	make_frames(HV_COMPRESSION_NONE);
	for (unsigned i = 0; i < kept.nr; i++)
		send_frame(i, i * HV_NS_PER_S / 4);
	hv_stream_collector_end(&collector);
	ck_assert_ptr_nonnull(strstr(last_note, "over the rate limit"));
	end_collector();

	begin_collector();
	collector.store.max_bytes = 4000;
	make_frames(HV_COMPRESSION_NONE);
	for (unsigned i = 0; i < kept.nr; i++)
		send_frame(i, i);
	ck_assert_uint_lt(written, 200);
	ck_assert_ptr_nonnull(strstr(last_note, " not written"));
	end_collector();
}
END_TEST

/* Frames come so often that less than a byte is allowed between two of them. */
START_TEST(a_low_rate_is_reached_by_frequent_frames)
{
	uint64_t sent;

	begin_collector();
	collector.store.max_rate = 1000;
	for (unsigned i = 0; i < 20000; i++) {
		struct hv_stream_frame f = {.kind = 99, .sequence = i};
		uint8_t bytes[HV_STREAM_FRAME_LEN];
		size_t len = hv_stream_encode(bytes, &f, 0, &collector.key);

		ck_assert(hv_stream_collector_take(&collector, &from, (struct hv_span){bytes, len},
						   i * UINT64_C(100000)));
	}
	sent = collector.guests[0]->sent_bytes; /* a full bucket, and two seconds */
	ck_assert_uint_gt(sent, 2900);
	ck_assert_uint_le(sent, 3000);
	end_collector();
}
END_TEST

START_TEST(a_disk_that_is_almost_full)
{
	begin_collector();
	collector.idle_ns = UINT64_MAX;
	make_frames(HV_COMPRESSION_NONE);
	for (unsigned i = 0; kind_of(i) != HV_STREAM_END; i++)
		send_frame(i, i);
	free_mib = 1;
	hv_stream_collector_turn(&collector, 2 * HV_NS_PER_S);
	free_mib = 0;
	ck_assert_msg(strstr(last_note, ": only 1 MiB left on its file system; earlier events are "
					"in the file; later ones are dropped"),
		      "%s", last_note);
	ck_assert_uint_eq(nr_ended, 1);
	end_collector();
}
END_TEST

/* Sends a frame that claims NR events. Its page of LEN_BYTES contains one. */
static void send_lie(uint32_t nr, size_t len_bytes)
{
	struct hv_stream_frame f = {.kind = HV_STREAM_EVENTS, .sequence = kept.nr};
	struct hv_stream_events e = {.nr = nr};
	struct hv_event event = {.kind = HV_EVENT_FUNCTION, .time_ns = 1};
	static uint8_t bytes[HV_STREAM_FRAME_MAX];
	uint8_t *body = bytes + HV_STREAM_HEAD_LEN;
	struct hv_raw_page page;
	struct hv_stream_frame first;
	struct hv_span s = {kept.frames[0].bytes, kept.frames[0].len_bytes};
	size_t len = HV_STREAM_EVENTS_LEN + len_bytes;

	memset(bytes, 0, sizeof(bytes));
	ck_assert_int_eq(hv_stream_decode_again(s, &first), HV_STREAM_GOOD);
	f.session = first.session;
	f.raw_bytes = (uint32_t)len;
	hv_stream_events_encode(body, &e);
	hv_raw_page_init(&page, &hv_raw_layout_known, body + HV_STREAM_EVENTS_LEN, 64);
	ck_assert(hv_raw_page_add(&page, &event));
	hv_raw_page_finish(&page);
	len = hv_stream_encode(bytes, &f, len, &collector.key);
	ck_assert(hv_stream_collector_take(&collector, &from, (struct hv_span){bytes, len},
					   kept.nr * HV_STREAM_WINDOW_NS));
	hv_stream_collector_turn(&collector, (kept.nr + 1) * HV_STREAM_WINDOW_NS);
}

/* A page with another number of events than the frame, or longer than the guest's pages. */
START_TEST(inconsistent_pages_are_refused)
{
	static const struct {
		uint32_t nr;
		size_t len_bytes;
		unsigned want;
	} pages[] = {{1, 100, 1}, {1, HV_RAW_PAGE_LEN, 1},     {2, 100, 0},
		     {0, 100, 0}, {1, HV_RAW_PAGE_LEN + 4, 0}, {1, 50000, 0}};

	for (size_t i = 0; i < HV_ARRAY_LEN(pages); i++) {
		begin_collector();
		make_frames(HV_COMPRESSION_NONE);
		for (unsigned j = 0; kind_of(j) != HV_STREAM_EVENTS; j++)
			send_frame(j, j);
		send_lie(pages[i].nr, pages[i].len_bytes);
		ck_assert_uint_eq(written, pages[i].want);
		ck_assert_uint_eq(collector.guests[0]->counts.bad, !pages[i].want);
		hv_stream_collector_end(&collector);
		if (!pages[i].want)
			ck_assert_ptr_nonnull(strstr(last_note, ", 1 frame with invalid contents"));
		end_collector();
	}
}
END_TEST

/* A sender with the key that sends corrupt bodies of all kinds. */
START_TEST(corrupt_bodies_are_refused)
{
	unsigned char *at;

	srand(1);
	for (unsigned round = 0; round < 200; round++) {
		begin_collector();
		make_frames(round % 2 ? HV_COMPRESSION_ZSTD : HV_COMPRESSION_NONE);
		for (unsigned i = 0; i < kept.nr; i++) {
			struct hv_span s = {kept.frames[i].bytes, kept.frames[i].len_bytes};
			struct hv_stream_frame f;

			ck_assert_int_eq(hv_stream_decode_again(s, &f), HV_STREAM_GOOD);
			at = kept.frames[i].bytes + HV_STREAM_HEAD_LEN;
			for (unsigned n = 0; n < 2 && rand() % 4 == 0; n++)
				at[(size_t)rand() % f.body.len_bytes] = (uint8_t)rand();
			hv_stream_encode(kept.frames[i].bytes, &f, f.body.len_bytes,
					 &collector.key);
			send_frame(i, i);
		}
		ck_assert_uint_le(written, PAGES * NR_EVENTS);
		end_collector();
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, everything_arrives, 0, 2);
	tcase_add_test(tc, repeated_and_exchanged);
	tcase_add_test(tc, losses_are_counted);
	tcase_add_test(tc, late_collector);
	tcase_add_test(tc, unknown_senders_are_refused);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, a_low_rate_is_reached_by_frequent_frames);
	tcase_add_test(tc, a_disk_that_is_almost_full);
	tcase_add_test(tc, inconsistent_pages_are_refused);
	tcase_add_test(tc, corrupt_bodies_are_refused);
}

int main(void)
{
	HV_AUTO_FREE char *clean = NULL;
	int status;

	if (!mkdtemp(dir))
		return 1;
	status = run_suite("stream_collector", add_tests);
	clean = hv_format("rm -r %s", dir);
	return system(clean) ? 1 : status;
}
