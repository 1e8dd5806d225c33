/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of synthetic events, and their entries. tests/guest/cases_synth.py compares many of
 * them with a kernel. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/hist/synth.h"

static struct hv_synth parse(const char *text)
{
	struct hv_synth_fault fault = {0};
	struct hv_synth s;

	ck_assert_msg(hv_synth_parse(text, &s, &fault), "%s: %s", text, fault.why);
	return s;
}

/* A ^ in TEXT precedes the faulty character. */
static void is_wrong(const char *text, const char *why)
{
	HV_AUTO_FREE char *copy = hv_strdup(text);
	struct hv_synth_fault fault = {0};
	struct hv_synth s;
	char *mark = strchr(copy, '^');

	memmove(mark, mark + 1, strlen(mark));
	ck_assert_msg(!hv_synth_parse(copy, &s, &fault), "%s", text);
	ck_assert_pstr_eq(fault.why, why);
	ck_assert_msg(fault.at == (size_t)(mark - copy), "%s: at %zu", text, fault.at);
}

START_TEST(invalid_input_is_refused)
{
	HV_AUTO_TEXT struct hv_text many = {0};

	is_wrong("^e", "Command must be of the form: <name> field[;field] ...");
	is_wrong("^; u64 a", "Command must be of the form: <name> field[;field] ...");
	is_wrong("^s:x/e u64 a",
		 "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...");
	is_wrong("^s:e", "Command must be of the form: <name> field[;field] ...");
	is_wrong("^9e u64 a", "Illegal name");
	is_wrong("e u64 ^a-b", "Illegal name");
	is_wrong("e ^u65 a", "Invalid type");
	is_wrong("e ^unsigned a", "Incomplete type");
	is_wrong("e u64 a; ^s64", "Invalid field");
	is_wrong("e char ^a[999]", "Invalid array specification");
	is_wrong("e char ^a[1000]", "Invalid array specification");
	is_wrong("e char ^a[1]x", "Invalid array specification");
	hv_text_add(&many, "^e ");
	for (unsigned i = 0; i <= HV_SYNTH_FIELDS_MAX; i++)
		hv_text_add(&many, "u8 a;");
	is_wrong(many.data, "Too many fields");
}
END_TEST

static void shows(const char *text, const char *between, const char *line, const char *print_fmt)
{
	struct hv_synth s = parse(text);
	HV_AUTO_TEXT struct hv_text shown = {0}, fmt = {0};

	hv_synth_text(&s, &shown);
	hv_synth_print_fmt(&s, between, &fmt);
	ck_assert_str_eq(shown.data, line);
	ck_assert_str_eq(fmt.data, print_fmt);
	hv_synth_deinit(&s);
}

START_TEST(texts)
{
	shows("e u64 a", ", ", "e\tu64 a\n", "\"a=%llu\", REC->a");
	shows("e u64 a; u32 b", " ", "e\tu64 a; u32 b\n", "\"a=%llu b=%u\", REC->a, REC->b");
	shows("  s:synthetic/e  unsigned  long a pid_t b ; char c[8];char d[];", ", ",
	      "e\tunsigned long a; pid_t b; char[8] c; char[] d\n",
	      "\"a=%lu, b=%d, c=%s, d=%s\", REC->a, REC->b, REC->c, __get_str(d)");
	ck_assert(hv_synth_is_dynamic(" s:e u64 a") && !hv_synth_is_dynamic("s u64 a"));
}
END_TEST

START_TEST(entries)
{
	struct hv_synth s = parse("e u16 a; char b[4]; char c[]; s64 d; char e[]");
	char longest[400];
	struct hv_hist_value values[] = {
		{0x123456, NULL}, {0, "text"}, {0, longest}, {UINT64_MAX, NULL}, {7, NULL},
	};
	uint8_t entry[1024];
	uint32_t len, loc;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memset(entry, 0xee, sizeof(entry));
	len = hv_synth_fill(&s, values, 8, entry, sizeof(entry));
	ck_assert_uint_eq(s.fields_bytes, 8 + 256 + 8 + 8 + 8);
	ck_assert_uint_eq(len, 8 + s.fields_bytes + 256 + strlen("(fault)") + 1);
	ck_assert_mem_eq(entry + 8, "\x56\x34\0\0\0\0\0\0", 8);
	ck_assert_str_eq((const char *)entry + 16, "text");
	memcpy(&loc, entry + 16 + 256, sizeof(loc));
	ck_assert_uint_eq(loc, 256u << 16 | (8 + s.fields_bytes));
	ck_assert_uint_eq(strlen((const char *)entry + (loc & 0xffff)), 255);
	memcpy(&loc, entry + 16 + 256 + 16, sizeof(loc));
	ck_assert_str_eq((const char *)entry + (loc & 0xffff), "(fault)");
	for (uint32_t max = 0; max < len; max++) {
		uint8_t *small = hv_alloc(max + 1);

		ck_assert_uint_eq(hv_synth_fill(&s, values, 8, small, max), 0);
		free(small);
	}
	hv_synth_deinit(&s);
}
END_TEST

/* The number of addresses precedes them. The last address of a full stack has no room. */
START_TEST(stacks)
{
	struct hv_synth s = parse("e unsigned long[] a; long[] b; unsigned long[] c; u8 d");
	uint64_t full[HV_HIST_STACK_MAX], two[] = {5, 6, 0}, words[HV_HIST_STACK_MAX];
	struct hv_hist_value values[] = {{.stack = full}, {.stack = two}, {0}, {.number = 3}};
	uint8_t entry[512];
	uint32_t len, loc;

	for (unsigned i = 0; i < HV_HIST_STACK_MAX; i++)
		full[i] = 100 + i;
	s.stack_depth = HV_HIST_STACK_MAX;
	len = hv_synth_fill(&s, values, 8, entry, sizeof(entry));
	ck_assert_uint_eq(len, 8 + 4 * 8 + 31 * 8 + 3 * 8);
	memcpy(words, entry + 40, sizeof(words));
	ck_assert(words[0] == 31 && words[1] == 100 && words[30] == 129);
	s.stack_depth = HV_HIST_STACK_USUAL;
	len = hv_synth_fill(&s, values, 8, entry, sizeof(entry));
	ck_assert_uint_eq(len, 8 + 4 * 8 + 16 * 8 + 3 * 8);
	memcpy(&loc, entry + 8, sizeof(loc));
	ck_assert_uint_eq(loc, (16u * 8) << 16 | 40);
	memcpy(words, entry + 40, sizeof(words));
	ck_assert(words[0] == 16 && words[1] == 100 && words[15] == 114);
	memcpy(&loc, entry + 16, sizeof(loc));
	ck_assert_uint_eq(loc, (3u * 8) << 16 | (40 + 128));
	memcpy(words, entry + 40 + 128, 24);
	ck_assert(words[0] == 2 && words[1] == 5 && words[2] == 6);
	memcpy(&loc, entry + 24, sizeof(loc));
	ck_assert_uint_eq(loc, len);
	ck_assert_uint_eq(entry[32], 3);
	ck_assert_uint_eq(hv_synth_fill(&s, values, 8, entry, len - 1), 0);
	hv_synth_deinit(&s);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, invalid_input_is_refused);
	tcase_add_test(tc, texts);
	tcase_add_test(tc, entries);
	tcase_add_test(tc, stacks);
}

int main(void)
{
	return run_suite("synth", add_tests);
}
