/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains, the tree made from them, and its texts. */
#include <check.h>
#include <string.h>

#include "base/guard.h"
#include "profile/flame.h"
#include "tests/lib/run_suite.h"

static struct hv_chains chains;

static void set_up(void)
{
	chains = (struct hv_chains){0};
}

static void tear_down(void)
{
	hv_chains_deinit(&chains);
}

static uint32_t child(uint32_t parent, enum hv_chain_kind kind, uint64_t value, const char *name)
{
	uint32_t frame, node;

	if (kind == HV_CHAIN_GROUP)
		ck_assert(hv_chains_group(&chains, name, &frame));
	else
		ck_assert(hv_chains_frame(&chains, kind, 0, value, &frame));
	if (!chains.frames[frame].name)
		hv_chains_name(&chains, frame, hv_strdup(name));
	ck_assert(hv_chains_child(&chains, parent, frame, &node));
	return node;
}

/* a: main calls left (two addresses) and right; right calls the kernel. b: a hostile name. */
static void make(struct hv_flame *f)
{
	uint32_t a = child(HV_CHAINS_ROOT, HV_CHAIN_GROUP, 0, "a");
	uint32_t main = child(a, HV_CHAIN_USER, 0x10, "main");
	uint32_t right = child(main, HV_CHAIN_USER, 0x40, "right");
	uint32_t b = child(HV_CHAINS_ROOT, HV_CHAIN_GROUP, 0, "b;<\"&'\\\n>\x1b|\xff");

	chains.nodes[child(main, HV_CHAIN_USER, 0x20, "left")].self += 3;
	chains.nodes[child(main, HV_CHAIN_USER, 0x24, "left")].self += 2;
	chains.nodes[child(right, HV_CHAIN_KERNEL, 0x8000000000000040, "vfs_read")].self += 1;
	chains.nodes[right].self += 3;
	chains.nodes[b].self += 1;
	hv_flame_make(&chains, f);
}

#define CHECK_TEXT(call, wanted)                                                                   \
	do {                                                                                       \
		hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};                               \
		HV_AUTO_TEXT struct hv_text out = {0};                                             \
		make(&f);                                                                          \
		call;                                                                              \
		ck_assert_str_eq(out.data, wanted);                                                \
	} while (0)

START_TEST(addresses_of_a_function_are_one_node)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};

	make(&f);
	ck_assert_uint_eq(f.nr, 7);
	ck_assert_uint_eq(f.nodes[0].total, 10);
	ck_assert_str_eq(f.nodes[f.nodes[0].child].name, "a");
	ck_assert_uint_eq(f.nodes[f.nodes[0].child].total, 9);
}
END_TEST

START_TEST(a_tree)
{
	CHECK_TEXT(hv_flame_text(&f, 0, &out), " 90.0 %  a\n"
					       " 90.0 %    main\n"
					       " 50.0 %      left\n"
					       " 40.0 %      right\n"
					       " 10.0 %        vfs_read [kernel]\n"
					       " 10.0 %  b;<\"&'\\?>?|?\n");
}
END_TEST

START_TEST(a_tree_without_small_parts)
{
	CHECK_TEXT(hv_flame_text(&f, 450000, &out), " 90.0 %  a\n"
						    " 90.0 %    main\n"
						    " 50.0 %    left\n");
}
END_TEST

START_TEST(the_hottest_functions)
{
	CHECK_TEXT(hv_flame_hottest(&f, 2, &out), " 50.0 %  left\n"
						  " 30.0 %  right\n");
}
END_TEST

START_TEST(folded_lines)
{
	CHECK_TEXT(hv_flame_folded(&f, SIZE_MAX, &out), "a;main;left 5\n"
							"a;main;right 3\n"
							"a;main;right;vfs_read_[k] 1\n"
							"b:<\"&'\\?>?|? 1\n");
}
END_TEST

START_TEST(json_lines)
{
	CHECK_TEXT(
		hv_flame_jsonl(&f, SIZE_MAX, &out),
		"{\"samples\":5,\"frames\":[{\"name\":\"a\",\"kind\":\"group\"},"
		"{\"name\":\"main\",\"kind\":\"user\"},{\"name\":\"left\",\"kind\":\"user\"}]}\n"
		"{\"samples\":3,\"frames\":[{\"name\":\"a\",\"kind\":\"group\"},"
		"{\"name\":\"main\",\"kind\":\"user\"},{\"name\":\"right\",\"kind\":\"user\"}]}\n"
		"{\"samples\":1,\"frames\":[{\"name\":\"a\",\"kind\":\"group\"},"
		"{\"name\":\"main\",\"kind\":\"user\"},{\"name\":\"right\",\"kind\":\"user\"},"
		"{\"name\":\"vfs_read\",\"kind\":\"kernel\"}]}\n"
		"{\"samples\":1,\"frames\":[{\"name\":\"b;<\\\"&'\\\\?>?|?\",\"kind\":\"group\"}]}"
		"\n");
}
END_TEST

/* tests/guest checks that the picture is XML and that its program works. */
START_TEST(a_picture_escapes_names)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text out = {0};

	make(&f);
	hv_flame_svg(&f, "web1 <&>", SIZE_MAX, &out);
	ck_assert_ptr_nonnull(strstr(out.data, ">web1 &lt;&amp;&gt;<"));
	ck_assert_ptr_nonnull(
		strstr(out.data, "data-n=\"b;&lt;&quot;&amp;&#39;\\?&gt;?|?\" data-s=\"1\""));
	ck_assert_ptr_nonnull(
		strstr(out.data, "<title>vfs_read (kernel): 1 samples, 10.00 %</title>"));
	ck_assert_ptr_null(strstr(out.data, "b;<"));
	ck_assert_ptr_null(strstr(out.data, "http://www.w3.org/1999/xlink"));
}
END_TEST

START_TEST(a_sample_as_perf_prints_it)
{
	uint32_t a = child(HV_CHAINS_ROOT, HV_CHAIN_GROUP, 0, "a");
	uint32_t main = child(a, HV_CHAIN_USER, 0x10, "main");
	const struct hv_flame_sample s = {
		.time_ns = 1234567891,
		.pid = 7,
		.cpu = 1,
		.node = child(main, HV_CHAIN_KERNEL, 0xffffffff81000000, "vfs_read")};
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_flame_perf(&chains, &s, "a\x1b", &out);
	ck_assert_str_eq(out.data, "a? 7 [001] 1.234567: 1 cpu-clock:\n"
				   "\tffffffff81000000 vfs_read ([kernel.kallsyms])\n"
				   "\t              10 main ([unknown])\n\n");
}
END_TEST

START_TEST(frames_are_bounded)
{
	uint32_t frame;

	for (uint64_t i = 0; i < HV_CHAINS_FRAMES_MAX; i++)
		ck_assert(hv_chains_frame(&chains, HV_CHAIN_USER, 0, i, &frame));
	ck_assert(!hv_chains_frame(&chains, HV_CHAIN_USER, 0, HV_CHAINS_FRAMES_MAX, &frame));
	ck_assert(hv_chains_frame(&chains, HV_CHAIN_USER, 0, 5, &frame));
	ck_assert_uint_eq(frame, 5);
	ck_assert(!hv_chains_group(&chains, "a", &frame));
	ck_assert(!hv_chains_frame(&chains, HV_CHAIN_USER, 0, UINT64_C(1) << 47, &frame));
}
END_TEST

START_TEST(texts_are_bounded)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text lines = {0}, objects = {0}, picture = {0};

	make(&f);
	ck_assert(!hv_flame_folded(&f, 20, &lines));
	ck_assert_str_eq(lines.data, "a;main;left 5\na;main;right 3\n");
	ck_assert(!hv_flame_jsonl(&f, 1, &objects));
	ck_assert_ptr_eq(strchr(objects.data, '\n') + 1, objects.data + objects.len_bytes);
	ck_assert(!hv_flame_svg(&f, "web1", 1, &picture));
	ck_assert_ptr_null(strstr(picture.data, "class=\"hvf\""));
	ck_assert_ptr_nonnull(strstr(picture.data, "</svg>"));
	picture.len_bytes = 0;
	ck_assert(hv_flame_svg(&f, "web1", SIZE_MAX, &picture));
}
END_TEST

START_TEST(nothing_was_sampled)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_flame_make(&chains, &f);
	hv_flame_text(&f, 0, &out);
	hv_flame_folded(&f, SIZE_MAX, &out);
	hv_flame_jsonl(&f, SIZE_MAX, &out);
	hv_flame_hottest(&f, 5, &out);
	ck_assert_uint_eq(out.len_bytes, 0);
	hv_flame_svg(&f, "none", SIZE_MAX, &out);
	ck_assert_ptr_nonnull(strstr(out.data, "</svg>"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, addresses_of_a_function_are_one_node);
	tcase_add_test(tc, a_tree);
	tcase_add_test(tc, a_tree_without_small_parts);
	tcase_add_test(tc, the_hottest_functions);
	tcase_add_test(tc, folded_lines);
	tcase_add_test(tc, json_lines);
	tcase_add_test(tc, a_picture_escapes_names);
	tcase_add_test(tc, a_sample_as_perf_prints_it);
	tcase_add_test(tc, frames_are_bounded);
	tcase_add_test(tc, texts_are_bounded);
	tcase_add_test(tc, nothing_was_sampled);
}

int main(void)
{
	return run_suite("profile_flame", add_tests);
}
