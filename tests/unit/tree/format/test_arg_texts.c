/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of system calls. tests/golden/print_fmt compares with real kernels. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/format/arg_texts.h"

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
#define OF_OPEN                                                                                    \
	"\"dfd: 0x%08lx, ...\", ..., __get_str(__filename_val), __print_flags(REC->flags, ...)"
#define WITH_NAMES "\"flags: %s\", __print_flags(REC->mode, \"|\", { 1, \"A\" })"

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

static const struct hv_print_field write_fields[] = {
	{"__syscall_nr", "int", 8, 4, true},
	{"fd", "unsigned int", 16, 8, false},
	{"buf", "const char *", 24, 8, false},
	{"count", "size_t", 32, 8, false},
	{"__buf_val", "__data_loc char[]", 40, 4, false},
};

/* The program writes COUNT bytes; the entry contains the first LEN. */
static void check_bytes(uint8_t count, uint8_t len, const char *bytes, const char *want)
{
	const struct hv_syscall_event event = {
		"sys_enter_write", "..., __print_dynamic_array(__buf_val, 1)", write_fields, 5, 2};
	const struct hv_syscall_style style = {.numbers = HV_SYSCALL_NUMBERS_PLAIN};
	uint8_t data[48] = {[16] = 1, [25] = 0x10, [32] = count, [40] = 44, [42] = len};
	HV_AUTO_TEXT struct hv_text out = {0};

	memcpy(data + 44, bytes, len);
	ck_assert(
		hv_format_syscall(&out, &style, &event, (struct hv_span){data, (size_t)44 + len}));
	ck_assert_str_eq(out.data, want);
}

START_TEST(bytes)
{
	check_bytes(3, 3, "a\n\xe9", "sys_write(fd: 1, buf: 0x1000 (61:0a:e9) \"a..\", count: 3)");
	check_bytes(9, 2, "ab", "sys_write(fd: 1, buf: 0x1000 (61:62, ...) \"ab\"..., count: 9)");
	check_bytes(1, 1, "\n", "sys_write(fd: 1, buf: 0x1000 (0a), count: 1)");
	check_bytes(5, 0, "", "sys_write(fd: 1, buf: 0x1000 (, ...), count: 5)");
	check_bytes(0, 0, "", "sys_write(fd: 1, buf: 0x1000 (), count: 0)");
}
END_TEST

static const struct hv_print_field open_fields[] = {
	{"common_pid", "int", 4, 4, true},
	{"__syscall_nr", "int", 8, 4, true},
	{"dfd", "int", 16, 8, false},
	{"filename", "const char *", 24, 8, false},
	{"flags", "int", 32, 8, false},
	{"mode", "umode_t", 40, 8, false},
	{"__filename_val", "__data_loc char[]", 48, 4, false},
};

START_TEST(opens)
{
	static const struct {
		uint64_t flags;
		const char *text;
	} cases[] = {
		{0, "O_RDONLY)"},
		{01, "O_WRONLY)"},
		{02000002, "O_RDWR|O_CLOEXEC)"},
		{02200000, "O_RDONLY|O_DIRECTORY|O_CLOEXEC, mode: 0666)"},
		{01101, "O_WRONLY|O_CREAT|O_TRUNC, mode: 0666)"},
		{020200001, "O_TMPFILE|O_WRONLY, mode: 0666)"},
		{010000000, "O_RDONLY|0x200000)"},
		{03, "O_WRONLY|O_RDWR)"},
		{0x180000000, "O_RDONLY|0xffffffff80000000)"},
	};
	const struct hv_syscall_event event = {"sys_enter_openat", OF_OPEN, open_fields, 7, -1};
	const struct hv_syscall_style plain = {.numbers = HV_SYSCALL_NUMBERS_PLAIN},
				      verbose = {HV_SYSCALL_NUMBERS_PLAIN, true};
	uint8_t data[56] = {[16] = 0x9c, 0xff,	    0xff,     0xff,	  [25] = 0x10, [40] = 0xb6,
			    1,		 [48] = 52, [50] = 3, [52] = '/', 'x'};
	HV_AUTO_TEXT struct hv_text out = {0}, want = {0};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		hv_text_clear(&out);
		hv_text_clear(&want);
		memcpy(data + 32, &cases[i].flags, 8);
		ck_assert(hv_format_syscall(&out, &plain, &event, (struct hv_span){data, 55}));
		hv_text_printf(&want,
			       "sys_openat(dfd: 4294967196, filename: 4096 \"/x\", flags: %s",
			       cases[i].text);
		ck_assert_str_eq(out.data, want.data);
	}
	hv_text_clear(&out);
	ck_assert(hv_format_syscall(&out, &verbose, &event, (struct hv_span){data, 55}));
	ck_assert_str_eq(out.data, "sys_openat(int dfd: 0xffffff9c, const char * filename: 0x1000"
				   " \"/x\", int flags: 0x180000000, umode_t mode: 0x1b6)");
	hv_text_clear(&out);
	ck_assert(!hv_format_syscall(&out, &plain, &event, (struct hv_span){data, 54}));
	ck_assert_uint_eq(out.len_bytes, 0);
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
		{{"sys_enter_mkdir", WITH_BYTES, fields, 5}, 41},
		{{"sys_enter_mkdir", WITH_NAMES, fields, 5}, 42},
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
	tcase_add_test(tc, bytes);
	tcase_add_test(tc, opens);
	tcase_add_test(tc, results);
	tcase_add_test(tc, not_known);
}

int main(void)
{
	return run_suite("arg_texts", add_tests);
}
