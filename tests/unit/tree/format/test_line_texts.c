/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of first parts of lines, with more tasks and states than it has room for. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tests/lib/run_suite.h"
#include "tree/format/format.h"
#include "tree/format/symbol.h"

static struct hv_line_texts *texts;
static struct hv_text out;

static void setup(void)
{
	texts = hv_line_texts_new();
}

static void teardown(void)
{
	hv_line_texts_free(texts);
	hv_text_deinit(&out);
}

static struct hv_event event_of(uint32_t pid)
{
	struct hv_event e = {.pid = pid, .cpu = 3, .comm = "cat", .flags = 1, .preempt_depth = 2};

	return e;
}

static void keep(const struct hv_event *e, const char *text)
{
	hv_text_clear(&out);
	hv_text_add(&out, "line: ");
	hv_text_add(&out, text);
	hv_line_texts_keep_context(texts, &out, strlen("line: "), e);
}

/* Returns the cached text of E, or "". */
static const char *kept(const struct hv_event *e)
{
	static char room[HV_LINE_PART_MAX + 1];
	char *end = hv_line_texts_put_context(texts, e, room);

	*(end ? end : room) = '\0';
	return room;
}

START_TEST(a_text_is_keyed_by_all_it_shows)
{
	struct hv_event e = event_of(7), other;

	ck_assert_str_eq(kept(&e), "");
	keep(&e, "a cat");
	ck_assert_str_eq(kept(&e), "a cat");
	e.time_ns = 5;
	e.ip.v = 6;
	ck_assert_str_eq(kept(&e), "a cat");
	for (unsigned i = 0; i < 8; i++) {
		other = e;
		other.pid += i == 0;
		other.cpu += i == 1;
		other.comm[2] = i == 2 ? 'r' : 't';
		other.comm[15] = i == 3;
		other.flags += i == 4;
		other.preempt_depth += i == 5;
		other.migrate_depth += i == 6;
		other.lazy_depth += i == 7;
		ck_assert_str_eq(kept(&other), "");
	}
	ck_assert_str_eq(kept(&e), "a cat");
}
END_TEST

START_TEST(texts_end_with_their_options)
{
	struct hv_event e = event_of(7);

	hv_line_texts_of(texts, 1);
	keep(&e, "a cat");
	hv_line_texts_of(texts, 1);
	ck_assert_str_eq(kept(&e), "a cat");
	hv_line_texts_of(texts, 3);
	ck_assert_str_eq(kept(&e), "");
}
END_TEST

/* Makes event N with one of many tasks and states, some of which share a bucket. TEXT contains the
 * task and the state. */
static struct hv_event event_number(unsigned n, char text[static 2 * HV_LINE_PART_MAX])
{
	struct hv_event e = event_of(n % 3);

	e.cpu = n / 3 % 2;
	e.flags = (uint8_t)(n / 6);
	e.preempt_depth = (uint8_t)(n / 1536);
	snprintf(text, (size_t)2 * HV_LINE_PART_MAX, "%*u", (int)(n % (2 * HV_LINE_PART_MAX)), n);
	return e;
}

/* Texts that are too long are not cached. */
START_TEST(cached_texts_are_correct)
{
	char text[2 * HV_LINE_PART_MAX];
	unsigned nr = 0;

	for (unsigned n = 0; n < 8192; n++) {
		struct hv_event e = event_number(n, text);

		keep(&e, text);
	}
	for (unsigned n = 0; n < 8192; n++) {
		struct hv_event e = event_number(n, text);

		if (!kept(&e)[0])
			continue;
		ck_assert_str_eq(kept(&e), text);
		nr++;
	}
	ck_assert_uint_gt(nr, 50);
}
END_TEST

START_TEST(times_are_as_printf_shows_them)
{
	static const uint64_t times[] = {0,	     499,
					 500,	     999499,
					 999999499,  999999500,
					 1000000000, 99999999999999,
					 UINT64_MAX, UINT64_MAX - 999};
	char room[HV_LINE_PART_MAX + 1], want[64];

	for (unsigned i = 0; i < 3000; i++) {
		uint64_t time = i < HV_ARRAY_LEN(times) ? times[i] : UINT64_C(7919000123) * i / 5;
		uint64_t usecs = time / 1000 + (time % 1000 >= 500);

		*hv_line_texts_put_time(texts, time, room) = '\0';
		snprintf(want, sizeof(want), "%5" PRIu64 ".%06" PRIu64, usecs / 1000000,
			 usecs % 1000000);
		ck_assert_str_eq(room, want);
	}
}
END_TEST

static uint64_t random_bits(void)
{
	static uint64_t state;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 32;
}

/* Returns an event with one of a few tasks. */
static struct hv_event any_event(void)
{
	struct hv_event e = event_of(random_bits() % 3 ? 7 : (uint32_t)-7);

	e.tgid = random_bits() % 4;
	e.cpu = random_bits() % 3 * 999;
	e.flags = (uint8_t)(random_bits() % 4);
	e.lazy_depth = (uint8_t)(random_bits() % 2);
	e.time_ns = random_bits() % 8 ? random_bits() : random_bits() << 32;
	e.ip.v = random_bits() % 4 * 0x1010;
	e.parent_ip.v = random_bits() % 4 * 0x1030;
	return e;
}

/* The cache must not change lines, with any options, and also after options change. */
START_TEST(the_cache_does_not_change_lines)
{
	static struct hv_site sites[] = {{.ip = {0x1000}, .name = "vfs_read"},
					 {.ip = {0x2000}, .name = "an_other", .module = "ext4"}};
	struct hv_kernel kernel = {.sites = {.list = sites, .nr = HV_ARRAY_LEN(sites)}};
	struct hv_options options = hv_options_default();
	struct hv_symbol_texts *symbols = hv_symbol_texts_new();
	struct hv_style plain = {.kernel = &kernel, .options = &options};

	for (unsigned i = 0; i < 10000; i++) {
		struct hv_style style;
		struct hv_event e = any_event();
		HV_AUTO_TEXT struct hv_text want = {0};

		if (i % 200 == 0)
			options = hv_options_default();
		if (i % 200 == 100)
			options.bits ^= UINT64_C(1) << i / 200 % HV_NR_OPTIONS;
		plain.clock = i / 500 % 4 ? HV_CLOCK_TSC : HV_CLOCK_RAW;
		style = plain;
		style.symbols = symbols;
		style.line_texts = texts;
		hv_line_texts_of(texts, options.bits);
		hv_text_clear(&out);
		hv_format_event(&want, &plain, &e);
		hv_format_event(&out, &style, &e);
		ck_assert_uint_eq(out.len_bytes, want.len_bytes);
		ck_assert_mem_eq(out.data, want.data, want.len_bytes);
	}
	hv_symbol_texts_free(symbols);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_text_is_keyed_by_all_it_shows);
	tcase_add_test(tc, texts_end_with_their_options);
	tcase_add_test(tc, cached_texts_are_correct);
	tcase_add_test(tc, the_cache_does_not_change_lines);
	tcase_add_test(tc, times_are_as_printf_shows_them);
}

int main(void)
{
	return run_suite("line_texts", add_tests);
}
