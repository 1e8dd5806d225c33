/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of an event's format that a trace.dat contains. */
#include <check.h>
#include <string.h>

#include "export/dat_head.h"
#include "tests/lib/run_suite.h"

#define HEAD   "name: n\nID: 7\nformat:\n"
#define COMMON "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
#define LAST   "\tfield:char last[80];\toffset:4000;\tsize:80;\tsigned:0;\n"
#define TAIL   "\nprint fmt: \"%d\", REC->a; \tfield:x;\toffset:9999;\tsize:1;\tsigned:0;\n"
#define MAX    4080

static void becomes(const char *fields, const char *wanted)
{
	HV_AUTO_FREE char *format = hv_format("%s%s%s", HEAD COMMON, fields, LAST TAIL);
	HV_AUTO_FREE char *result = hv_format("%s%s%s", HEAD COMMON, wanted, LAST TAIL);
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_format_fields_add(&out, (struct hv_export_text){format, strlen(format)}, MAX);
	hv_text_add(&out, "");
	ck_assert_str_eq(out.data, result);
}

static void stays(const char *fields)
{
	becomes(fields, fields);
}

static void goes(const char *fields)
{
	becomes(fields, "");
}

START_TEST(fields_inside_a_record_stay)
{
	stays("");
	stays("\tfield:char a;\toffset:4079;\tsize:1;\tsigned:1;\n");
	stays("\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n");
	stays("\tfield:char rest[];\toffset:4080;\tsize:0;\tsigned:0;\n");
}
END_TEST

START_TEST(fields_outside_a_record_are_removed)
{
	goes("\tfield:char a;\toffset:4080;\tsize:1;\tsigned:1;\n");
	goes("\tfield:char a[4081];\toffset:0;\tsize:4081;\tsigned:1;\n");
	goes("\tfield:char a;\toffset:4294967288;\tsize:16;\tsigned:1;\n");
	goes("\tfield:char a;\toffset:18446744073709551608;\tsize:16;\tsigned:1;\n");
	goes("\tfield:char a;\toffset:8;\tsize:99999999999999999999;\tsigned:1;\n");
}
END_TEST

START_TEST(malformed_fields_are_removed)
{
	goes("\tfield:char a;\toffset:-8;\tsize:1;\tsigned:1;\n");
	goes("\tfield:char a;\toffset:0x8;\tsize:1;\tsigned:1;\n");
	goes("\tfield:char a;\toffset:;\tsize:1;\tsigned:1;\n");
	goes("\tfield:char a;\n");
	goes("field:char a;\toffset:9999;\tsize:1;\tsigned:1;\n");
	goes("\tfield special:char a;\toffset:9999;\tsize:1;\tsigned:1;\n");
	goes("\tfield:char a;\toffset:8;\tsize:1;\tsigned:1; offset:9999;\n");
	goes("\tfield:char "
	     "a;\toffset:8;\tsize:1;\tsigned:1;\tfield:b;\toffset:9999;\tsize:1;\tsigned:0;\n");
	goes("\tfield:a;\toffset:9999;\tsize:8;\tsigned:0;\toffset:8;\tsize:1;\tsigned:1;\n");
	goes("format:\n");
}
END_TEST

START_TEST(a_missing_line_end_is_accepted)
{
	static const char text[] = HEAD "\tfield:char a;\toffset:9999;\tsize:1;\tsigned:1;";
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_format_fields_add(&out, (struct hv_export_text){text, strlen(text)}, MAX);
	hv_text_add(&out, "");
	ck_assert_str_eq(out.data, HEAD);
	hv_text_clear(&out);
	hv_format_fields_add(&out, (struct hv_export_text){text, 0}, MAX);
	ck_assert_uint_eq(out.len_bytes, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, fields_inside_a_record_stay);
	tcase_add_test(tc, fields_outside_a_record_are_removed);
	tcase_add_test(tc, malformed_fields_are_removed);
	tcase_add_test(tc, a_missing_line_end_is_accepted);
}

int main(void)
{
	return run_suite("format_fields", add_tests);
}
