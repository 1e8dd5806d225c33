/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles and evaluates print_fmts for entries made here. tests/golden/print_fmt compares with
 * real kernels. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/format/print_fmt/print_fmt.h"

static const struct hv_print_field fields[] = {
	{"common_type", "unsigned short", 0, 2, false},
	{"common_pid", "int", 4, 4, true},
	{"a", "int", 8, 4, true},
	{"b", "u64", 16, 8, false},
	{"c", "unsigned char", 12, 1, false},
	{"comm", "char[8]", 24, 8, true},
	{"arr", "u16[3]", 32, 6, false},
	{"name", "__data_loc char[]", 40, 4, true},
	{"rel", "__rel_loc char[]", 44, 4, true},
	{"mask", "__data_loc unsigned long[]", 48, 4, false},
	{"ip", "void *", 56, 8, false},
	{"saddr", "__u8[16]", 64, 16, false},
	{"plain", "char[4]", 86, 1, false}, /* from a kernel with unsigned char */
	{"half", "short", 34, 2, true},
};

static uint8_t entry[100];

static void make_entry(void)
{
	static const uint32_t words[] = {8 << 16 | 80, 5 << 16 | 42, 8 << 16 | 80};
	static const uint16_t arr[] = {1, 0x203, 0xffff};
	const int32_t a = -3;
	const uint64_t b = 0x123456789a, ip = 0xffffffff81000010;

	memset(entry, 0, sizeof(entry));
	entry[4] = 61;
	memcpy(entry + 8, &a, sizeof(a));
	entry[12] = 200;
	memcpy(entry + 16, &b, sizeof(b));
	memcpy(entry + 24, "sh", 3);
	memcpy(entry + 32, arr, sizeof(arr));
	memcpy(entry + 40, words, sizeof(words));
	memcpy(entry + 56, &ip, sizeof(ip));
	entry[79] = 1;
	memcpy(entry + 80, "dynamic", 8);
	memcpy(entry + 90, "rela", 5); /* at 48 + 42, for rel */
	entry[89] = 200;
}

static bool constant(void *of hv_unused, const char *name, int64_t *ret)
{
	if (strcmp(name, "TCP_CLOSE") != 0)
		return false;
	*ret = 7;
	return true;
}

static bool variable(void *of hv_unused, const char *name, uint64_t *ret)
{
	if (strcmp(name, "vmemmap_base") != 0)
		return false;
	*ret = 0x1000;
	return true;
}

static bool size(void *of hv_unused, const char *type, uint32_t *ret)
{
	*ret = 64;
	if (strcmp(type, "big") == 0)
		*ret = 1000;
	return strcmp(type, "page") == 0 || strcmp(type, "big") == 0;
}

static bool member(void *of hv_unused, const char *type, const char *name,
		   struct hv_print_member *ret)
{
	*ret = *name == 'l' ? (struct hv_print_member){4, 4} : (struct hv_print_member){0, 32};
	return strcmp(type, "role") == 0;
}

static bool string(void *of hv_unused, struct hv_gva addr, char *ret, size_t max_bytes)
{
	strncpy(ret, "far", max_bytes);
	return addr.v == 0xffffffff81000010;
}

static const struct hv_print_resolver resolver = {
	.constant = constant,
	.variable = variable,
	.size = size,
	.member = member,
	.string = string,
	.hz = 250,
};

/* Returns the text of PRINT_FMT for the first LEN bytes of the entry, or NULL if the text is
 * unknown. */
static const char *text_of(const char *print_fmt, size_t len_bytes)
{
	static char text[HV_PRINT_TEXT_MAX + 1];
	const struct hv_print_env env = {.resolver = &resolver,
					 .pointers = HV_PRINT_POINTERS_PLAIN};
	HV_AUTO_TEXT struct hv_text out = {0};
	struct hv_print_fmt *fmt;
	bool is_known;

	make_entry();
	ck_assert_ptr_null(
		hv_print_fmt_compile(print_fmt, fields, HV_ARRAY_LEN(fields), &resolver, &fmt));
	is_known = hv_print_fmt_eval(fmt, (struct hv_span){entry, len_bytes}, &env, &out);
	hv_print_fmt_free(fmt);
	ck_assert(is_known || !out.len_bytes);
	snprintf(text, sizeof(text), "%s", out.len_bytes ? out.data : "");
	return is_known ? text : NULL;
}

static void check_text(const char *print_fmt, const char *want)
{
	const char *got = text_of(print_fmt, sizeof(entry));

	ck_assert_msg(got != NULL, "%s is not known", print_fmt);
	ck_assert_msg(strcmp(got, want) == 0, "%s\nis:     %s\nwanted: %s", print_fmt, got, want);
}

START_TEST(texts)
{
	static const struct {
		const char *print_fmt, *want;
	} cases[] = {
		{"\"plain 100%%\"", "plain 100%"},
		{"\"\"", ""},
		{"\"comm=%s pid=%d\", REC->comm, REC->common_pid", "comm=sh pid=61"},
		{"\"%d\", REC->ent.pid", "61"},
		{"\"%d %u %llx\", REC->a, REC->a, REC->b", "-3 4294967293 123456789a"},
		{"\"%d\" \" %d\", REC->c, (char)REC->c", "200 -56"},
		{"\"%d %d %d\", (u8)200 + (u8)100, ~(u8)1, -REC->c >> 1", "300 -2 -100"},
		{"\"%d %d\", ((char *)REC->saddr)[0], REC->plain[3]", "0 200"},
		{"\"%x %x\", REC->arr[1], REC->arr[2]", "203 ffff"},
		{"\"%d\", REC->a < 0 ? 1 : 2", "1"},
		{"\"%d\", REC->a < 1U ? 1 : 2", "2"}, /* compared as unsigned */
		{"\"%d\", 2 + 3 * 4 - (1 << 2 | 1)", "9"},
		{"\"%d\", REC->a / 2 * 2 + REC->a % 2", "-3"},
		{"\"%lx\", (unsigned long)REC->a >> 60", "f"},
		{"\"%d %d\", !REC->a, !!REC->a && ~REC->a == 2", "0 1"},
		{"\"%s\", REC->c == 200 ? \"yes\" : \"no\"", "yes"},
		{"\"%-6s|%.3s|%*d\", REC->comm, __get_str(name), 4, 7", "sh    |dyn|   7"},
		{"\"%s %s\", __get_str(name), __get_rel_str(rel)", "dynamic rela"},
		{"\"%d\", __get_dynamic_array_len(name)", "8"},
		{"\"%c\", ((char *)__get_dynamic_array(name))[2]", "n"},
		{"\"%x\", REC->__data_loc_name & 0xffff", "50"},
		{"\"%pS\", (void *)REC->ip", "0xffffffff81000010"},
		{"\"%s\", (char *)REC->ip", "far"},
		{"\"%p\", REC->b != -1UL ? (((struct page *)vmemmap_base) + 2) : ((void *)0)",
		 "0000000000001080"},
		{"\"%pI6c\", REC->saddr", "::1"},
		{"\"%d\", TCP_CLOSE", "7"},
		{"\"%u\", jiffies_to_msecs(REC->c)", "800"},
		{"\"%lu\", sizeof(struct page) + sizeof(int)", "68"},
		{"\"%lu\", sizeof(struct big)", "1000"},
		{"\"%04x\", __builtin_bswap16(REC->arr[1])", "0302"},
		{"\"%d\", ({ int x = (REC->c); int y = 128; x < y ? x : y; })", "128"},
		{"\"%llu.%09u\", __print_ns_to_secs(1500000000), "
		 "__print_ns_without_secs(1500000000)",
		 "1.500000000"},
		{"\"%s\", ((void *)0)", "(null)"},
		{"\"%d\", 1, 2, unknown_function(p, 3)", "1"}, /* more arguments than conversions */
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++)
		check_text(cases[i].print_fmt, cases[i].want);
}
END_TEST

START_TEST(helpers)
{
	static const struct {
		const char *print_fmt, *want;
	} cases[] = {
		{"\"%s\", __print_flags(5, \"|\", { 1, \"A\" }, { 2, \"B\" }, { 4, \"C\" })",
		 "A|C"},
		{"\"%s\", __print_flags(9, \"|\", { 1, \"A\" })", "A|0x8"},
		{"\"%s\", __print_flags(0, \"|\", { 1, \"A\" })", ""},
		{"\"%s\", __print_flags(3, \"\", { 3, \"all\" }, { 1, \"A\" })", "all"},
		/* a mask of 33 bits because the sign is extended */
		{"\"%s\", __print_flags(0x80000000, \"|\", { (1 << 31), \"X\" })", "0x80000000"},
		{"\"%s\", __print_flags(1, \"|\", { 1, \"A\" }, { 0, ((void *)0) })", "A"},
		{"\"%s\", __print_symbolic(REC->a, { 1, \"A\" }, { -3, \"B\" })", "B"},
		{"\"%s\", __print_symbolic(7, { 1, \"A\" })", "0x7"},
		{"\"%s\", __print_symbolic(7, { })", "0x7"},
		{"\"%s\", __print_symbolic(7, { TCP_CLOSE, \"closed\" })", "closed"},
		{"\"%s\", __print_hex(REC->saddr + 14, 2)", "00 01"},
		{"\"%s\", __print_hex_str(REC->saddr + 13, 3)", "000001"},
		{"\"%s\", __print_hex(REC->saddr, 0)", ""},
		{"\"%s\", __print_array(REC->arr, 3, 2)", "{0x1,0x203,0xffff}"},
		{"\"%s\", __print_array(REC->arr, 0, 2)", "{}"},
		{"\"%s\", __print_dynamic_array(name, 4)", "{0x616e7964,0x63696d}"},
		{"\"%s\", __get_bitmask(mask)", "0063696d,616e7964"},
		{"\"%s %s\", __print_flags(1, \"|\", { 1, \"A\" }), __print_symbolic(1, { 1, \"B\" "
		 "})",
		 "A B"},
		{"\"%s%s\", nvme_trace_disk_name(p, REC->comm), nvme_trace_disk_name(p, \"\")",
		 "disk=sh, "},
		{"\"%s!\", ({ const char *saved = trace_seq_buffer_ptr(p); static const char *s[] "
		 "= "
		 "{ \"x\", \"y\" }; union role r; r.word = REC->c; "
		 "trace_seq_printf(p, \"l%u %s%c\", r.level, s[1], 0); saved; })",
		 "l12 y!"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++)
		check_text(cases[i].print_fmt, cases[i].want);
}
END_TEST

START_TEST(not_known)
{
	static const char *const cases[] = {
		"\"%s\", xen_hypercall_name(REC->a)",
		"\"%d\", SOME_MACRO",
		"\"%lu\", sizeof(struct nothing)",
		"\"%d\", REC->a < 0 ? SOME_MACRO : 1",
		"\"%s\", __print_symbolic(REC->a, { SOME_MACRO, \"A\" }, { -3, \"B\" })",
		"\"%s\", (char *)0xffff888000000000",
		"\"%d\", REC->a / 0",
		"\"%x\", REC->arr[1000]",
		"\"%s\", __print_hex(REC->saddr, 1000)",
		"\"%s\", __print_array(REC->arr, -1, 2)",
		"\"%s\", __print_array(REC->arr, 1, 3)",
		"\"%d\", __get_str(name)",
		"\"%pE\", REC->comm",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++)
		ck_assert_msg(!text_of(cases[i], sizeof(entry)), "%s", cases[i]);
	/* An unknown value does not matter if the entry's text does not depend on it. */
	check_text("\"%d\", REC->a > 0 ? SOME_MACRO : 1", "1");
	check_text("\"%s\", __print_symbolic(1, { 1, \"A\" }, { SOME_MACRO, \"B\" })", "A");
}
END_TEST

START_TEST(the_unknown_name_is_reported)
{
	struct hv_print_fmt *fmt;

	ck_assert_ptr_null(hv_print_fmt_compile("\"%d %d\", REC->a, SOME_MACRO", fields,
						HV_ARRAY_LEN(fields), &resolver, &fmt));
	ck_assert_str_eq(hv_print_fmt_unknown(fmt), "SOME_MACRO");
	hv_print_fmt_free(fmt);
	ck_assert_ptr_null(hv_print_fmt_compile("\"%d\", REC->a", fields, HV_ARRAY_LEN(fields),
						&resolver, &fmt));
	ck_assert_ptr_null(hv_print_fmt_unknown(fmt));
	hv_print_fmt_free(fmt);
}
END_TEST

START_TEST(short_entries)
{
	ck_assert_ptr_null(text_of("\"%d\", REC->a", 11));
	ck_assert_str_eq(text_of("\"%d\", REC->a", 12), "-3");
	ck_assert_ptr_null(text_of("\"%s\", __get_str(name)", 43));
	ck_assert_ptr_null(text_of("\"%s\", __get_str(name)", 79));
	ck_assert_str_eq(text_of("\"%s\", __get_str(name)", 83), "dyn");
	ck_assert_ptr_null(text_of("\"%s\", __get_bitmask(mask)", 87));
	ck_assert_ptr_null(text_of("\"%d\", REC->a", 0));
}
END_TEST

START_TEST(not_a_print_fmt)
{
	static const struct {
		const char *text;
		const char *problem;
	} cases[] = {
		{"", "print_fmt: byte 0: a format is missing here"},
		{"REC->a", "a format is missing here"},
		{"\"%d\"", "another sign is missing here"},
		{"\"%d\", ", "an expression is missing here"},
		{"\"%d\", REC->nothing", "no such field"},
		{"\"%d\", REC->1", "no name of a field"},
		{"\"%d\", REC->a)", "nothing is expected here"},
		{"\"%d\", (REC->a", "another sign is missing here"},
		{"\"%d\", REC->a REC->b", "nothing is expected here"},
		{"\"%n\", REC->a", "a conversion that printk does not have"},
		{"\"%s\", __get_str(a)", "not a dynamic field"},
		{"\"%s\", __get_str(nothing)", "no such dynamic field"},
		{"\"%s\", __print_flags(1, 2)", "the separator of the flags is missing here"},
		{"\"%s\", __print_symbolic(1, { 1, 2 })", "the name of a value is missing here"},
		{"\"%d\", ({ 1 })", "another sign is missing here"},
		{"\"%d\", @", "not a word of C"},
		{"\"open", "not a word of C"},
		{"\"%d\", (struct big)REC->a", "a cast to something that is no number"},
		{"\"%d\", (void)REC->a", "a cast to something that is no number"},
		{"\"%d\", ({ int 1; })", "the name of a variable is missing here"},
		{"\"%d\", trace_seq_printf(q, \"x\")", "p is missing here"},
		{"\"%d\", trace_seq_printf(p, \"%d\", trace_seq_printf(p, \"x\"))",
		 "trace_seq_printf within trace_seq_printf"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		struct hv_print_fmt *fmt = NULL;
		struct hv_err *err = hv_print_fmt_compile(cases[i].text, fields,
							  HV_ARRAY_LEN(fields), &resolver, &fmt);

		ck_assert_msg(err != NULL, "%s", cases[i].text);
		ck_assert_int_eq(err->code, EINVAL);
		ck_assert_msg(strstr(err->message, cases[i].problem), "%s: %s", cases[i].text,
			      err->message);
		ck_assert_ptr_null(fmt);
		hv_err_free(err);
	}
}
END_TEST

static char problem[256]; /* the message of the last print_fmt; empty: it compiled */

/* Frees ERR. */
static bool is_none(struct hv_err *err)
{
	snprintf(problem, sizeof(problem), "%s", err ? err->message : "");
	hv_err_free(err);
	return !problem[0];
}

/* Returns whether the print_fmt of BEFORE, NR times MIDDLE, and NR times AFTER compiles. */
static bool compiles(const char *before, const char *middle, const char *after, unsigned nr)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_print_fmt *fmt = NULL;
	struct hv_err *err;

	hv_text_add(&text, before);
	for (unsigned i = 0; i < nr; i++)
		hv_text_add(&text, middle);
	hv_text_add(&text, "1");
	for (unsigned i = 0; i < nr; i++)
		hv_text_add(&text, after);
	err = hv_print_fmt_compile(text.data, fields, HV_ARRAY_LEN(fields), &resolver, &fmt);
	hv_print_fmt_free(fmt);
	return is_none(err);
}

/* Returns whether a variable compiles whose value declares NR others. */
static bool variables_compile(unsigned nr)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_print_fmt *fmt = NULL;
	struct hv_err *err;

	hv_text_add(&text, "\"%d\", ({ int a = ({ ");
	for (unsigned i = 0; i < nr; i++)
		hv_text_printf(&text, "int b%u = 1; ", i);
	hv_text_add(&text, "b0; }); a; })");
	err = hv_print_fmt_compile(text.data, fields, HV_ARRAY_LEN(fields), &resolver, &fmt);
	if (fmt)
		check_text(text.data, "1");
	hv_print_fmt_free(fmt);
	return is_none(err);
}

START_TEST(limits)
{
	ck_assert(compiles("\"%d\", ", "(", ")", 50));
	ck_assert(!compiles("\"%d\", ", "(", ")", 5000));
	ck_assert_ptr_nonnull(strstr(problem, ": the expressions are nested too deeply"));
	ck_assert(!compiles("\"%d\", ", "-", "", 5000));
	ck_assert_ptr_nonnull(strstr(problem, ": the expressions are nested too deeply"));
	ck_assert(!compiles("\"%d\", ", "1 ? 2 : ", "", 3000));
	ck_assert(compiles("\"%d\", ", "", " + 1", 5000)); /* computed during parsing */
	ck_assert(!compiles("\"%d\", ", "", " + REC->a", 1000));
	ck_assert(!compiles("\"%d\", ", " ", "", HV_PRINT_FMT_MAX));
	ck_assert_str_eq(problem, "print_fmt: more than 32768 bytes");
	ck_assert(!compiles("\"%s\", __print_flags(1, \"\"", ",{1,\"\"}", "", 4000 * 8));
	ck_assert(variables_compile(15));
	ck_assert(!variables_compile(16));
	ck_assert_ptr_nonnull(strstr(problem, ": there are too many variables"));
	ck_assert(!variables_compile(17));
}
END_TEST

START_TEST(long_texts)
{
	const char *text = text_of("\"%9000d|\", 1", sizeof(entry));

	ck_assert_uint_eq(strlen(text), HV_PRINT_TEXT_MAX);
	check_text("\"a\\tb\\nc\\x1b[31m\\x7f\\x9b\\xa0\"", "a\tb\nc?[31m??\xa0");
}
END_TEST

START_TEST(fields_one_by_one)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	make_entry();
	entry[27] = 0xff; /* after the NUL of comm */
	hv_print_fields(fields + 2, 10, (struct hv_span){entry, sizeof(entry)}, &out);
	ck_assert_str_eq(out.data, "[FAILED TO PARSE] a=-3 b=78187493530 c=200 comm=sh "
				   "arr=ARRAY[01, 00, 03, 02, ff, ff] name=dynamic rel=rela "
				   "mask=ARRAY[64, 79, 6e, 61, 6d, 69, 63, 00] "
				   "ip=0xffffffff81000010 saddr=");
	hv_text_clear(&out);
	hv_print_fields(fields + 13, 1, (struct hv_span){entry, sizeof(entry)}, &out);
	ck_assert_str_eq(out.data, "[FAILED TO PARSE] half=515");
	entry[35] = 0;
	hv_text_clear(&out);
	hv_print_fields(fields + 13, 1, (struct hv_span){entry, sizeof(entry)}, &out);
	ck_assert_str_eq(out.data, "[FAILED TO PARSE] half= 3");
	hv_text_clear(&out);
	hv_print_fields(fields + 2, 6, (struct hv_span){entry, 12}, &out);
	ck_assert_str_eq(out.data, "[FAILED TO PARSE] a=-3 b=? c=? comm=? arr=? name=?");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, texts);
	tcase_add_test(tc, helpers);
	tcase_add_test(tc, not_known);
	tcase_add_test(tc, the_unknown_name_is_reported);
	tcase_add_test(tc, short_entries);
	tcase_add_test(tc, not_a_print_fmt);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, long_texts);
	tcase_add_test(tc, fields_one_by_one);
}

int main(void)
{
	return run_suite("eval", add_tests);
}
