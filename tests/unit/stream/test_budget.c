/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits on the memory and file space that a sender with the key can make a collector use: both
 * follow from the sent data, and one stream does not use up the budget of others. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>

#include "base/clock.h"
#include "stream/collector.h"
#include "tests/lib/run_suite.h"
#include "tree/format/raw_page.h"

#define MIB	  (1u << 20)
#define PART_MOST 50000

static struct hv_stream_collector collector;
static char dir[] = "/tmp/test_stream_budget-XXXXXX";
static int dir_fd;
static char notes[4096];
static uint64_t now_ns, nr_sent_bytes;

static void keep_note(const char *line)
{
	size_t len = strlen(notes);

	snprintf(notes + len, sizeof(notes) - len, "%s\n", line);
}

static void begin(void)
{
	collector = (struct hv_stream_collector){.max_guests = 64, .idle_ns = 1000 * HV_NS_PER_S};
	collector.store = (struct hv_stream_store){
		.dir_path = "dir", .format = hv_export_find("trace.dat"), .note = keep_note};
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	collector.store.maker = hv_maker_of(&dir_fd);
	notes[0] = '\0';
	now_ns = nr_sent_bytes = 0;
}

static void end(void)
{
	HV_AUTO_FREE char *clean = hv_format("rm -rf %s/*", dir);

	hv_stream_collector_end(&collector);
	hv_stream_collector_deinit(&collector);
	close(dir_fd);
	ck_assert_int_eq(system(clean), 0);
}

static unsigned long dir_kib(void)
{
	HV_AUTO_FREE char *command = hv_format("du -sk %s", dir);
	unsigned long kib = 0;
	FILE *out = popen(command, "r");

	ck_assert_int_eq(fscanf(out, "%lu", &kib), 1);
	pclose(out);
	return kib;
}

static unsigned long most_kib(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	return (unsigned long)usage.ru_maxrss;
}

struct sent {
	uint64_t session, sequence, nr_events;
};

/* BODY has room for a head before it and a hash after it. */
static void send_body(struct sent *s, enum hv_stream_kind kind, const void *body, size_t len)
{
	static uint8_t bytes[HV_STREAM_FRAME_MAX];
	const struct hv_stream_address from = hv_stream_address_v4(0x0100007f);
	struct hv_stream_frame f = {.kind = (uint8_t)kind,
				    .session = s->session,
				    .sequence = s->sequence++,
				    .raw_bytes = (uint32_t)len};

	memcpy(bytes + HV_STREAM_HEAD_LEN, body, len);
	len = hv_stream_encode(bytes, &f, len, &collector.key);
	nr_sent_bytes += len;
	ck_assert(hv_stream_collector_take(&collector, &from, (struct hv_span){bytes, len},
					   now_ns += HV_NS_PER_S / 1000));
}

static void send_table(struct sent *s, enum hv_stream_table_id id, const struct hv_text *text)
{
	size_t bound = ZSTD_compressBound(text->len_bytes);
	HV_AUTO_FREE char *packed = hv_alloc(bound);
	size_t len = ZSTD_compress(packed, bound, text->data, text->len_bytes, 3);
	static uint8_t body[HV_STREAM_PART_LEN + PART_MOST];
	struct hv_stream_part p = {.table = (uint8_t)id,
				   .part_bytes = PART_MOST,
				   .generation = 1,
				   .total_bytes = (uint32_t)len,
				   .raw_bytes = (uint32_t)text->len_bytes};

	for (; p.off < len; p.off += PART_MOST) {
		size_t part = len - p.off < PART_MOST ? len - p.off : PART_MOST;

		hv_stream_part_encode(body, &p);
		memcpy(body + HV_STREAM_PART_LEN, packed + p.off, part);
		send_body(s, HV_STREAM_TABLE, body, HV_STREAM_PART_LEN + part);
	}
}

static void send_head(struct sent *s, struct hv_export_text kallsyms, unsigned page_bytes)
{
	const struct hv_export_head head = {.nr_cpus = 1,
					    .page_bytes = page_bytes,
					    .clock = "local",
					    .kernel = "Linux",
					    .program = "test",
					    .kallsyms = kallsyms};
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_stream_head_encode(&head, "g", "h", &text);
	send_table(s, HV_STREAM_HEAD, &text);
}

/* Sends an event before which SKIPPED events were lost. */
static void send_event(struct sent *s, unsigned skipped)
{
	uint8_t body[HV_STREAM_EVENTS_LEN + 64] = {0};
	struct hv_event event = {.kind = HV_EVENT_FUNCTION, .time_ns = 1 + s->nr_events};
	struct hv_stream_events e = {.nr = 1, .nr_before = s->nr_events + skipped};
	struct hv_raw_page page;

	s->nr_events = e.nr_before + 1;
	hv_stream_events_encode(body, &e);
	hv_raw_page_init(&page, &hv_raw_layout_known, body + HV_STREAM_EVENTS_LEN, 64);
	ck_assert(hv_raw_page_add(&page, &event));
	hv_raw_page_finish(&page);
	send_body(s, HV_STREAM_EVENTS, body, sizeof(body));
}

/* Returns symbols that do not compress well. */
static char *random_symbols(size_t len)
{
	char *text = hv_alloc(len + 1);

	for (size_t i = 0; i < len; i++)
		text[i] = i % 32 == 31 ? '\n' : (char)('a' + rand() % 16);
	return text;
}

/* 60 MiB of one letter are two frames of 3 KiB. */
START_TEST(two_frames_cost_what_was_sent)
{
	unsigned long before_kib;
	HV_AUTO_FREE char *text = hv_alloc(60 * MIB + 1);
	struct sent s = {.session = 1};

	begin();
	memset(text, 'a', 60 * MIB);
	{
		HV_AUTO_TEXT struct hv_text sized = {0};

		/* reach the peak of the test's own memory first */
		hv_text_add_bytes(&sized, text, 60 * MIB);
		hv_text_add_bytes(&sized, text, 60 * MIB);
		hv_text_add_bytes(&sized, text, 40 * MIB);
		before_kib = most_kib();
	}
	send_head(&s, (struct hv_export_text){text, 60 * MIB}, 4096);
	send_event(&s, 0);
	ck_assert_uint_lt(nr_sent_bytes, 10000);
	ck_assert_uint_lt(dir_kib(), 1024);
	ck_assert_uint_lt(most_kib() - before_kib, 64 * 1024);
	ck_assert_uint_eq(collector.guests[0]->counts.bad, 1);
	end();
	ck_assert_ptr_nonnull(strstr(notes, "are incomplete"));
}
END_TEST

/* As above, in a frame of events, whose body is at most 128 KiB. */
START_TEST(a_packed_frame_costs_what_was_sent)
{
	static uint8_t raw[HV_STREAM_RAW_MAX], bytes[HV_STREAM_FRAME_MAX];
	size_t len =
		ZSTD_compress(bytes + HV_STREAM_HEAD_LEN, HV_STREAM_BODY_MAX, raw, sizeof(raw), 3);
	const struct hv_stream_address from = hv_stream_address_v4(0x0100007f);
	struct hv_stream_frame f = {
		.kind = HV_STREAM_EVENTS, .flags = HV_STREAM_ZSTD, .session = 1};

	begin();
	for (unsigned i = 0; i < 1000; i++) {
		f.sequence = i;
		f.raw_bytes = sizeof(raw);
		hv_stream_collector_take(
			&collector, &from,
			(struct hv_span){bytes, hv_stream_encode(bytes, &f, len, &collector.key)},
			i);
	}
	ck_assert_uint_eq(collector.guests[0]->early.len_bytes, 0);
	ck_assert_uint_eq(collector.guests[0]->counts.bad, 1000);
	end();
}
END_TEST

/* Events that follow a loss begin a page, which may be 64 KiB long. */
START_TEST(a_file_grows_with_what_was_sent)
{
	struct sent s = {.session = 1}, other = {.session = 2};

	begin();
	send_head(&other, (struct hv_export_text){"", 0}, 4096);
	send_head(&s, (struct hv_export_text){"", 0}, 65536);
	for (unsigned i = 0; i < 4000; i++)
		send_event(&s, 1);
	ck_assert_uint_lt(dir_kib(), 130 * 1024);
	ck_assert_ptr_nonnull(strstr(notes, "times the data received from its sender"));
	ck_assert_ptr_null(strstr(strstr(notes, "times the data") + 1, "times the data"));
	send_event(&other, 0);
	hv_stream_collector_end(&collector);
	ck_assert_uint_eq(collector.guests[0]->counts.events, 1);
	ck_assert_uint_gt(collector.guests[1]->counts.unwritten, 1000);
	end();
}
END_TEST

/* An excess for one stream, or for all, is reported once. The other streams continue. */
START_TEST(memory_limits_of_one_and_all_streams)
{
	HV_AUTO_FREE char *text = random_symbols(3 * MIB);
	struct sent small = {.session = 1}, large = {.session = 2};

	begin();
	collector.budget.memory_max = 64 * MIB;
	send_head(&small, (struct hv_export_text){text, MIB / 2}, 4096);
	send_head(&large, (struct hv_export_text){text, 3 * MIB}, 4096);
	ck_assert_ptr_nonnull(strstr(notes, "of memory; all"));
	for (unsigned i = 0; i < 100; i++) {
		send_event(&small, 0);
		send_event(&large, 0);
	}
	ck_assert_uint_eq(collector.guests[0]->counts.events, 100);
	ck_assert_ptr_null(strstr(strstr(notes, "of memory; all") + 1, "of memory; all"));

	/* each of these fits, all together do not */
	notes[0] = '\0';
	collector.budget.memory_max = 8 * MIB;
	for (unsigned i = 0; i < 40; i++) {
		struct sent s = {.session = 10 + i};

		send_head(&s, (struct hv_export_text){text, 180 << 10}, 4096);
	}
	ck_assert_ptr_nonnull(strstr(notes, "of memory; all"));
	ck_assert_uint_le(collector.budget.memory, 8 * MIB);
	send_event(&small, 0);
	ck_assert_uint_eq(collector.guests[0]->counts.events, 101);
	hv_stream_collector_end(&collector);
	ck_assert_uint_eq(collector.budget.memory, 0);
	end();
}
END_TEST

START_TEST(file_limit_of_all_streams)
{
	struct sent a = {.session = 1}, b = {.session = 2};

	begin();
	collector.budget.files_max = 4 * MIB;
	send_head(&a, (struct hv_export_text){"", 0}, 4096);
	for (unsigned i = 0; i < 2000; i++)
		send_event(&a, 1);
	ck_assert_ptr_nonnull(strstr(notes, "the files of all streams"));
	send_head(&b, (struct hv_export_text){"", 0}, 4096);
	for (unsigned i = 0; i < 1000; i++)
		send_event(&b, 1);
	ck_assert_uint_lt(dir_kib(), 8 * 1024);
	ck_assert_uint_gt(collector.guests[0]->counts.unwritten, 0);
	ck_assert_uint_gt(collector.guests[1]->counts.unwritten, 0);
	end();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, two_frames_cost_what_was_sent);
	tcase_add_test(tc, a_packed_frame_costs_what_was_sent);
	tcase_add_test(tc, a_file_grows_with_what_was_sent);
	tcase_add_test(tc, memory_limits_of_one_and_all_streams);
	tcase_add_test(tc, file_limit_of_all_streams);
}

int main(void)
{
	HV_AUTO_FREE char *clean = NULL;
	int status;

	if (!mkdtemp(dir))
		return 1;
	status = run_suite("stream_budget", add_tests);
	clean = hv_format("rm -r %s", dir);
	return system(clean) ? 1 : status;
}
