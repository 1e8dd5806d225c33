/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of system calls. What real kernels print is tested by tests/golden/print_fmt. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/format/syscall.h"

static const struct hv_print_field fields[] = {
	{"common_pid", "int", 4, 4, true},
	{"__syscall_nr", "int", 8, 4, true},
	{"pathname", "const char *", 16, 8, false},
	{"mode", "umode_t", 24, 8, false},
	{"__pathname_val", "__data_loc char[]", 32, 4, false},
};

#define PLAIN	    "\"pathname: 0x%016lx, mode: 0x%016lx\", ..."
#define WITH_STRING "\"pathname: 0x%016lx \\\"%s\\\", ...\", ..., __get_str(__pathname_val), ..."
#define WITH_BYTES  "\"buf: 0x%016lx (%s)\", ..., __print_dynamic_array(__pathname_val, 1)"
#define WITH_NAMES  "\"flags: %s\", __print_flags(REC->mode, \"|\", { 1, \"A\" })"

static const struct hv_print_field exit_fields[] = {
	{"__syscall_nr", "int", 8, 4, true},
	{"ret", "long", 16, 8, true},
};

static const struct hv_print_field short_field[] = {{"mode", "int", 24, 4, true}};

static const uint8_t entry[42] = {
	[16] = 0x1f, [24] = 9, [32] = 36, [34] = 6, [36] = '/', 't', 'm', 27};

static bool format(struct hv_text *out, struct hv_syscall_style style,
		   struct hv_syscall_event event, size_t len_bytes)
{
	return hv_format_syscall(out, &style, &event, (struct hv_span){entry, len_bytes});
}

static void check_text(struct hv_syscall_style style, struct hv_syscall_event event,
		       const char *want)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	ck_assert(format(&out, style, event, sizeof(entry)));
	ck_assert_str_eq(out.data, want);
}

START_TEST(arguments)
{
	const struct hv_syscall_event event = {"sys_enter_mkdir", PLAIN, fields, 4};

	check_text((struct hv_syscall_style){0}, event, "sys_mkdir(pathname: 1f, mode: 9)");
	check_text((struct hv_syscall_style){.has_types = true}, event,
		   "sys_mkdir(const char * pathname: 1f, umode_t mode: 9)");
	check_text((struct hv_syscall_style){.numbers = HV_SYSCALL_NUMBERS_PLAIN}, event,
		   "sys_mkdir(pathname: 0x1f, mode: 9)");
}
END_TEST

START_TEST(strings)
{
	const struct hv_syscall_event event = {"sys_enter_mkdir", WITH_STRING, fields, 5};
	const struct hv_syscall_style style = {.numbers = HV_SYSCALL_NUMBERS_PLAIN};

	check_text(style, event, "sys_mkdir(pathname: 0x1f \"/tm?\", mode: 9)");
}
END_TEST

START_TEST(results)
{
	const struct hv_syscall_event event = {"sys_exit_mkdir", PLAIN, exit_fields, 2};

	check_text((struct hv_syscall_style){0}, event, "sys_mkdir -> 0x1f");
}
END_TEST

START_TEST(not_known)
{
	static const struct {
		struct hv_syscall_event event;
		size_t len_bytes;
	} cases[] = {
		{{"sched_switch", PLAIN, fields, 4}, 42},
		{{"sys_enter_mkdir", PLAIN, fields, 4}, 31},
		{{"sys_enter_mkdir", WITH_STRING, fields, 5}, 41},
		{{"sys_enter_mkdir", WITH_STRING, fields, 5}, 35},
		{{"sys_enter_mkdir", WITH_BYTES, fields, 5}, 42},
		{{"sys_enter_mkdir", WITH_NAMES, fields, 4}, 42},
		{{"sys_enter_mkdir", PLAIN, exit_fields, 2}, 23},
		{{"sys_enter_mkdir", PLAIN, short_field, 1}, 42},
		{{"sys_exit_mkdir", PLAIN, fields, 4}, 42},
		{{"sys_exit_mkdir", PLAIN, exit_fields, 2}, 0},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		HV_AUTO_TEXT struct hv_text out = {0};

		ck_assert_msg(!format(&out, (struct hv_syscall_style){0}, cases[i].event,
				      cases[i].len_bytes),
			      "case %zu", i);
		ck_assert_uint_eq(out.len_bytes, 0);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, arguments);
	tcase_add_test(tc, strings);
	tcase_add_test(tc, results);
	tcase_add_test(tc, not_known);
}

int main(void)
{
	return run_suite("syscall", add_tests);
}
