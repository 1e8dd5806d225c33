/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that a kernel function refers to, in a few bytes of code written by the test. */
#include <check.h>
#include <string.h>

#include "kernel/core/function_code.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FUNCTION (FK_BASE + 0x2000)
#define NEXT	 (FK_BASE + 0x2040)

static struct fk f;
static uint64_t blank, comma;

static void set_up(void)
{
	fk_init(&f);
	blank = fk_alloc(&f, 16);
	comma = fk_alloc(&f, 16);
	fk_symbol(&f, "function", FUNCTION);
	fk_symbol(&f, "next", NEXT);
	fk_done(&f);
	memset(fk_host(&f, FUNCTION), 0x90, 0x80);
	memcpy(fk_host(&f, blank), " ", 2);
	memcpy(fk_host(&f, comma), ", ", 3);
}

static void tear_down(void)
{
	fk_deinit(&f);
}

/* mov $ADDRESS, %r9 or %rax */
static void put_absolute(uint64_t at, const char *opcode, uint64_t address)
{
	int32_t word = (int32_t)address;

	memcpy(fk_host(&f, at), opcode, 3);
	memcpy(fk_host(&f, at + 3), &word, sizeof(word));
}

/* lea ADDRESS(%rip), %rax */
static void put_relative(uint64_t at, uint64_t address)
{
	int32_t word = (int32_t)(address - (at + 7));

	memcpy(fk_host(&f, at), "\x48\x8d\x05", 3);
	memcpy(fk_host(&f, at + 3), &word, sizeof(word));
}

static bool refers(const char *text)
{
	return hv_function_refers_to(&f.k.core, "function", text);
}

START_TEST(strings_by_address_or_offset)
{
	ck_assert(!refers(" ") && !refers(", "));
	put_absolute(FUNCTION + 5, "\x49\xc7\xc1", comma);
	ck_assert(!refers(" ") && refers(", "));
	put_relative(FUNCTION + 20, blank);
	ck_assert(refers(" ") && refers(", "));
	put_absolute(FUNCTION + 5, "\x48\xc7\xc0", comma + 1);
	ck_assert(refers(" ") && !refers(", "));
}
END_TEST

START_TEST(only_whole_strings_after_the_text)
{
	memcpy(fk_host(&f, blank), " x", 3);
	put_absolute(FUNCTION, "\x48\xc7\xc0", blank);
	ck_assert(!refers(" ") && refers(" x"));
	memcpy(fk_host(&f, FK_BASE + 0x5000), " ", 2);
	put_absolute(FUNCTION, "\x48\xc7\xc0", FK_BASE + 0x5000);
	ck_assert(!refers(" "));
}
END_TEST

START_TEST(only_in_the_function)
{
	put_absolute(NEXT, "\x48\xc7\xc0", blank);
	ck_assert(!refers(" "));
	put_absolute(NEXT - 6, "\x48\xc7\xc0", blank); /* its last byte is in NEXT */
	ck_assert(!refers(" "));
	put_absolute(NEXT - 7, "\x48\xc7\xc0", blank);
	ck_assert(refers(" "));
	ck_assert(!hv_function_refers_to(&f.k.core, "none", " "));
}
END_TEST

/* Strings cut off by the end of the image. */
START_TEST(only_in_the_image)
{
	put_absolute(FUNCTION, "\x48\xc7\xc0", FK_END - 1);
	*(char *)fk_host(&f, FK_END - 1) = ' ';
	ck_assert(!refers(" "));
	put_absolute(FUNCTION, "\x48\xc7\xc0", FK_END + 0x100);
	ck_assert(!refers(" "));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, strings_by_address_or_offset);
	tcase_add_test(tc, only_whole_strings_after_the_text);
	tcase_add_test(tc, only_in_the_function);
	tcase_add_test(tc, only_in_the_image);
}

int main(void)
{
	return run_suite("function_code", add_tests);
}
