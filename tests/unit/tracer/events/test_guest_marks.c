/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks of programs in the guest, as guest-agent/hvtrace-mark.h writes them and as hostile programs
 * could. */
#include <check.h>
#include <string.h>

#include "guest-agent/hvtrace-mark.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/guest_marks.h"

#define MAGIC (HVTRACE_MARK_MAGIC << 16)
#define WHOLE (MAGIC | HVTRACE_MARK_FIRST | HVTRACE_MARK_LAST)

static struct hv_guest_marks *marks;
static uint64_t now_ns;

static void setup(void)
{
	marks = hv_guest_marks_new();
}

static void teardown(void)
{
	hv_guest_marks_free(marks);
}

/* Makes a call by PID with OPTION and the first 32 bytes of TEXT. */
static const char *call(uint32_t pid, uint32_t option, const char *text)
{
	struct hv_mark_call c = {.time_ns = ++now_ns, .cpu = 1, .pid = pid, .args = {option}};
	size_t len = strnlen(text, 4 * sizeof(uint64_t));

	memcpy(&c.args[1], text, len);
	return hv_guest_marks_read(marks, &c);
}

static uint32_t part(unsigned nr, unsigned len)
{
	return MAGIC | nr << HVTRACE_MARK_PART_SHIFT | len;
}

START_TEST(one_call_is_a_mark)
{
	ck_assert_str_eq(call(7, WHOLE | 14, "checkout begin"), "checkout begin");
	ck_assert_str_eq(call(7, WHOLE | 8, "checkout begin"), "checkout");
	ck_assert_str_eq(call(7, WHOLE, ""), "");
}
END_TEST

START_TEST(a_call_that_is_read_again)
{
	struct hv_mark_call c = {
		.time_ns = 1, .pid = 3, .args = {part(0, 1) | HVTRACE_MARK_FIRST, 'h'}};

	ck_assert_ptr_null(hv_guest_marks_read(marks, &c));
	c = (struct hv_mark_call){
		.time_ns = 2, .pid = 3, .args = {part(1, 1) | HVTRACE_MARK_LAST, 'i'}};
	ck_assert_str_eq(hv_guest_marks_read(marks, &c), "hi");
	ck_assert_str_eq(hv_guest_marks_read(marks, &c), "hi");
}
END_TEST

START_TEST(parts_of_two_threads)
{
	const uint32_t first = part(0, 32) | HVTRACE_MARK_FIRST,
		       last = part(1, 3) | HVTRACE_MARK_LAST;

	ck_assert_ptr_null(call(7, first, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	ck_assert_ptr_null(call(8, first, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"));
	ck_assert_str_eq(call(7, last, "AAA"), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaAAA");
	ck_assert_str_eq(call(8, last, "BBB"), "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbBBB");
	ck_assert_ptr_null(call(8, last, "BBB"));
}
END_TEST

/* A 32-bit program passes 16 bytes per call, in the lower halves of the arguments. */
START_TEST(of_a_32_bit_program)
{
	struct hv_mark_call c = {
		.time_ns = 1,
		.pid = 3,
		.args = {WHOLE | HVTRACE_MARK_HALVES | 10, 0x64636261, 0x68676665, 0x6a69}};

	ck_assert_str_eq(hv_guest_marks_read(marks, &c), "abcdefghij");
	c.time_ns++;
	c.args[0] = WHOLE | HVTRACE_MARK_HALVES | 17;
	ck_assert_ptr_null(hv_guest_marks_read(marks, &c));
}
END_TEST

START_TEST(invalid_marks_are_ignored)
{
	const uint32_t first = part(0, 32) | HVTRACE_MARK_FIRST;

	ck_assert_ptr_null(call(7, (WHOLE ^ 1 << 16) | 15, "of another one"));
	ck_assert_ptr_null(call(7, WHOLE | 33, "too long"));
	ck_assert_ptr_null(call(7, WHOLE | part(1, 4), "part"));
	ck_assert_ptr_null(call(7, part(0, 4) | HVTRACE_MARK_LAST, "part"));
	ck_assert_ptr_null(call(7, part(1, 4) | HVTRACE_MARK_LAST, "part"));
	ck_assert_ptr_null(call(7, first, "a part is lost, and so is all.."));
	ck_assert_ptr_null(call(7, part(2, 4) | HVTRACE_MARK_LAST, "part"));
	ck_assert_ptr_null(call(7, part(1, 4) | HVTRACE_MARK_LAST, "part"));
}
END_TEST

/* A loss drops the parts that came before it. */
START_TEST(lost_events)
{
	const uint32_t first = part(0, 1) | HVTRACE_MARK_FIRST,
		       last = part(1, 1) | HVTRACE_MARK_LAST;

	ck_assert_ptr_null(call(7, first, "h"));
	hv_guest_marks_note_lost(marks, now_ns + 1, 1);
	ck_assert_ptr_null(call(7, last, "i"));
	ck_assert_ptr_null(call(7, first, "h"));
	hv_guest_marks_note_lost(marks, now_ns - 1, 1);
	ck_assert_str_eq(call(7, last, "i"), "hi");
}
END_TEST

START_TEST(the_longest)
{
	const char *text = "0123456789abcdef0123456789abcdef", *all;

	ck_assert_ptr_null(call(7, part(0, 32) | HVTRACE_MARK_FIRST, text));
	for (unsigned nr = 1; nr < HVTRACE_MARK_PARTS - 1; nr++)
		ck_assert_ptr_null(call(7, part(nr, 32), text));
	all = call(7, part(HVTRACE_MARK_PARTS - 1, 32) | HVTRACE_MARK_LAST, text);
	ck_assert_uint_eq(strlen(all), HV_MARK_BYTES_MAX);
	ck_assert_str_eq(all + HV_MARK_BYTES_MAX - 32, text);
}
END_TEST

START_TEST(too_many_threads)
{
	const uint32_t first = part(0, 1) | HVTRACE_MARK_FIRST,
		       last = part(1, 1) | HVTRACE_MARK_LAST;

	for (uint32_t pid = 1; pid <= HV_MARKS_BEGUN_MAX + 1; pid++)
		ck_assert_ptr_null(call(pid, first, "x"));
	ck_assert_ptr_null(call(1, last, "y"));
	for (uint32_t pid = 2; pid <= HV_MARKS_BEGUN_MAX + 1; pid++)
		ck_assert_str_eq(call(pid, last, "y"), "xy");
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_call_is_a_mark);
	tcase_add_test(tc, a_call_that_is_read_again);
	tcase_add_test(tc, parts_of_two_threads);
	tcase_add_test(tc, of_a_32_bit_program);
	tcase_add_test(tc, invalid_marks_are_ignored);
	tcase_add_test(tc, lost_events);
	tcase_add_test(tc, the_longest);
	tcase_add_test(tc, too_many_threads);
}

int main(void)
{
	return run_suite("guest_marks", add);
}
