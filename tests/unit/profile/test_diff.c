/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading of profiles, and the comparison of two. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/guard.h"
#include "profile/diff.h"
#include "profile/read.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

static struct hv_chains chains;
static struct hv_read before, now;
static struct hv_diff diff;

static void set_up(void)
{
	chains = (struct hv_chains){0};
	before = (struct hv_read){.path = "a", .chains = &chains, .is_before = true};
	now = (struct hv_read){.path = "b", .chains = &chains};
	diff = (struct hv_diff){0};
}

static void tear_down(void)
{
	hv_read_deinit(&before);
	hv_read_deinit(&now);
	hv_diff_deinit(&diff);
	hv_chains_deinit(&chains);
}

static struct hv_err *read_text(struct hv_read *r, const char *text)
{
	struct hv_err *err = hv_read_add(r, text, strlen(text));

	return err ? err : hv_read_end(r);
}

static const char folded[] = "a;main;left 5\n"
			     "a;main;right 1\n"
			     "a;main;right;vfs_read_[k] 2\n";

/* A later profile, as lines of JSON. The group b is new. */
static const char json[] =
	"{\"samples\":1,\"frames\":[{\"name\":\"a\",\"kind\":\"group\"},"
	"{\"name\":\"main\",\"kind\":\"user\"},{\"name\":\"left\",\"kind\":\"user\"}]}\n"
	"{\"samples\":2,\"frames\":[{\"name\":\"a\",\"kind\":\"group\"},"
	"{\"name\":\"main\",\"kind\":\"user\"},{\"name\":\"right\",\"kind\":\"user\"},"
	"{\"name\":\"vfs_read\",\"kind\":\"kernel\"}]}\n"
	"{\"samples\":1,\"frames\":[{\"name\":\"b;\\u001b\",\"kind\":\"group\"}]}";

static void compare(void)
{
	expect_success(read_text(&before, folded));
	expect_success(read_text(&now, json));
	ck_assert_uint_eq(before.sum, 8);
	ck_assert_uint_eq(now.sum, 4);
	hv_diff_make(&chains, &diff);
}

START_TEST(a_tree)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	compare();
	hv_diff_text(&diff, 0, &out);
	ck_assert_str_eq(out.data, " 75.0 %  -25.0  a\n"
				   " 75.0 %  -25.0    main\n"
				   " 25.0 %  -37.5      left\n"
				   " 50.0 %  +12.5      right\n"
				   " 50.0 %  +25.0        vfs_read [kernel]\n"
				   " 25.0 %  +25.0  b;?\n");
}
END_TEST

/* `left` has 25 % now and had 62.5 %. */
START_TEST(a_tree_without_small_parts)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	compare();
	hv_diff_text(&diff, 600000, &out);
	ck_assert_str_eq(out.data, " 75.0 %  -25.0  a\n"
				   " 75.0 %  -25.0    main\n"
				   " 25.0 %  -37.5    left\n");
}
END_TEST

START_TEST(the_largest_changes)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	compare();
	hv_diff_changed(&diff, 3, &out);
	ck_assert_str_eq(out.data, " 25.0 %  -37.5  left\n"
				   " 50.0 %  +25.0  vfs_read [kernel]\n"
				   "  0.0 %  -12.5  right\n");
}
END_TEST

START_TEST(folded_lines)
{
	HV_AUTO_TEXT struct hv_text out = {0}, cut = {0};

	compare();
	ck_assert(hv_diff_folded(&diff, SIZE_MAX, &out));
	ck_assert_str_eq(out.data, "a;main;left 5 1\n"
				   "a;main;right 1 0\n"
				   "a;main;right;vfs_read_[k] 2 2\n"
				   "b:? 0 1\n");
	ck_assert(!hv_diff_folded(&diff, 20, &cut));
	ck_assert_str_eq(cut.data, "a;main;left 5 1\na;main;right 1 0\n");
}
END_TEST

START_TEST(a_picture_shows_changes)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	compare();
	ck_assert(hv_flame_svg(&diff.flame, "b compared with a", SIZE_MAX, &out));
	ck_assert_ptr_nonnull(strstr(out.data, "height=\"16\" fill=\"rgb(240,80,80)\"/>"));
	ck_assert_ptr_nonnull(strstr(out.data, "fill=\"rgb(80,80,240)\"/>"));
	ck_assert_ptr_nonnull(strstr(out.data, "fill=\"rgb(240,240,240)\"/>"));
}
END_TEST

START_TEST(a_line_in_parts)
{
	expect_success(hv_read_add(&now, "a;ma", 4));
	expect_success(hv_read_add(&now, "in 1", 4));
	expect_success(hv_read_add(&now, "2\n\n", 3));
	expect_success(hv_read_end(&now));
	ck_assert_uint_eq(now.sum, 12);
	ck_assert_uint_eq(chains.nr_frames, 2);
	ck_assert_str_eq(chains.frames[1].name, "main");
	ck_assert_int_eq(chains.frames[1].kind, HV_CHAIN_USER);
}
END_TEST

START_TEST(times_have_a_unit)
{
	static const char line[] = "{\"ns\":5,\"frames\":[{\"name\":\"a\",\"kind\":\"group\"}]}\n";
	static const char other[] = "{\"samples\":5,\"frames\":[]}";

	expect_success(read_text(&now, line));
	ck_assert(now.is_timed);
	expect_error(read_text(&now, other), EINVAL, "b: line 2: neither a folded");
}
END_TEST

START_TEST(other_lines_are_refused)
{
	static const char *const lines[] = {
		"a;main",
		"a;main x",
		"a;main 1x",
		"a;main -1",
		"a;main 99999999999999999999",
		" 5",
		"{",
		"{}",
		"{\"samples\":1}",
		"{\"samples\":-1,\"frames\":[]}",
		"{\"samples\":\"1\",\"frames\":[]}",
		"{\"samples\":1,\"frames\":{}}",
		"{\"samples\":1,\"frames\":[1]}",
		"{\"samples\":1,\"frames\":[{\"name\":\"a\"}]}",
		"{\"samples\":1,\"frames\":[{\"name\":\"a\",\"kind\":\"x\"}]}",
		"{\"samples\":1,\"frames\":[{\"name\":7,\"kind\":\"user\"}]}",
		"{\"samples\":1,\"frames\":[[[[[[[[[[1]]]]]]]]]]}",
		"\x1f\x8b\x08",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(lines); i++) {
		struct hv_read r = {.path = "x", .chains = &chains};

		expect_error(read_text(&r, lines[i]), EINVAL,
			     "x: line 1: neither a folded stack nor a stack in JSON");
		hv_read_deinit(&r);
	}
	expect_error(hv_read_add(&now, "a\0b 1\n", 6), EINVAL, "line 1");
}
END_TEST

START_TEST(lines_are_bounded)
{
	HV_AUTO_TEXT struct hv_text line = {0}, deep = {0};

	hv_text_add_fill(&line, 'a', HV_READ_LINE_MAX + 1);
	expect_error(hv_read_add(&now, line.data, line.len_bytes), E2BIG,
		     "b: line 1 is longer than 1 MiB");
	hv_text_add_fill(&deep, ';', HV_READ_DEPTH_MAX);
	hv_text_add(&deep, " 1");
	expect_error(read_text(&now, deep.data), EINVAL, "neither a folded");
	expect_success(read_text(&before, deep.data + 1));
}
END_TEST

START_TEST(numbers_are_bounded)
{
	expect_success(read_text(&now, "a 9223372036854775806\nb 1\n"));
	expect_error(read_text(&now, "c 1\n"), E2BIG,
		     "b: line 3: the sum of the numbers is too large");
}
END_TEST

START_TEST(names_are_bounded)
{
	HV_AUTO_TEXT struct hv_text lines = {0};

	for (unsigned i = 0; i < HV_CHAINS_FRAMES_MAX; i++)
		hv_text_printf(&lines, "%x 1\n", i);
	expect_success(read_text(&now, lines.data));
	ck_assert(!now.is_cut);
	expect_success(read_text(&now, "x 1\n"));
	ck_assert(now.is_cut);
	ck_assert_uint_eq(now.sum, HV_CHAINS_FRAMES_MAX + 1);
}
END_TEST

START_TEST(nothing_was_read)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_diff_make(&chains, &diff);
	hv_diff_text(&diff, 0, &out);
	hv_diff_changed(&diff, 5, &out);
	ck_assert(hv_diff_folded(&diff, SIZE_MAX, &out));
	ck_assert_uint_eq(out.len_bytes, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_tree);
	tcase_add_test(tc, a_tree_without_small_parts);
	tcase_add_test(tc, the_largest_changes);
	tcase_add_test(tc, folded_lines);
	tcase_add_test(tc, a_picture_shows_changes);
	tcase_add_test(tc, a_line_in_parts);
	tcase_add_test(tc, times_have_a_unit);
	tcase_add_test(tc, other_lines_are_refused);
	tcase_add_test(tc, lines_are_bounded);
	tcase_add_test(tc, numbers_are_bounded);
	tcase_add_test(tc, names_are_bounded);
	tcase_add_test(tc, nothing_was_read);
}

int main(void)
{
	return run_suite("profile_diff", add_tests);
}
