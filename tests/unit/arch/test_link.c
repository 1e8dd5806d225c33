/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linking an image of trampolines (arch->link): values, alternatives and returns, in a test image
 * and in the real one. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define AT	 UINT64_C(0xffffffff80401000)
#define CODE_LEN 32
#define FILL	 0x5a
#define HOLE_OFF 3
#define ALT_OFF	 4

static const struct hv_trampoline_image *const trampolines = &hv_arch_x86_64.trampolines;

static const char *link_at(const struct hv_trampoline_image *image,
			   const struct hv_trampoline_values *values, uint64_t at, uint8_t *code)
{
	return hv_arch_x86_64.link(image, values, hv_gva(at), code);
}

/* -- values ------------------------------------------------------------------------------------ */

static const struct {
	enum hv_hole_form form;
	uint64_t value;
	int32_t addend;
	const char *bytes; /* NULL: refused */
} values_of_forms[] = {
	{HV_HOLE_S32, 0, 0, "\0\0\0\0"},
	{HV_HOLE_S32, INT32_MAX, 0, "\xff\xff\xff\x7f"},
	{HV_HOLE_S32, (uint64_t)INT32_MIN, 0, "\0\0\0\x80"},
	{HV_HOLE_S32, UINT64_MAX, 0, "\xff\xff\xff\xff"},
	{HV_HOLE_S32, 0x80000000, 0, NULL},
	{HV_HOLE_S32, UINT32_MAX, 0, NULL},
	{HV_HOLE_S32, (uint64_t)INT32_MIN - 1, 0, NULL},
	{HV_HOLE_S32, UINT64_C(1) << 63, 0, NULL},
	{HV_HOLE_S32, INT32_MAX, 1, NULL},
	{HV_HOLE_S32, 0x80000000, -1, "\xff\xff\xff\x7f"},
	{HV_HOLE_S32, (uint64_t)INT32_MIN, -1, NULL},
	{HV_HOLE_U32, 0, 0, "\0\0\0\0"},
	{HV_HOLE_U32, 0x04030201, 0, "\1\2\3\4"},
	{HV_HOLE_U32, UINT32_MAX, 0, "\xff\xff\xff\xff"},
	{HV_HOLE_U32, UINT64_C(1) << 32, 0, NULL},
	{HV_HOLE_U32, UINT64_MAX, 0, NULL},
	{HV_HOLE_U32, UINT32_MAX, 1, NULL},
	{HV_HOLE_U32, 0, -1, NULL},
	{HV_HOLE_U32, UINT64_C(1) << 32, -1, "\xff\xff\xff\xff"},
	{HV_HOLE_U8, 0, 0, "\0"},
	{HV_HOLE_U8, 255, 0, "\xff"},
	{HV_HOLE_U8, 256, 0, NULL},
	{HV_HOLE_U8, UINT64_MAX, 0, NULL},
	{HV_HOLE_U8, 255, 1, NULL},
	{HV_HOLE_U64, 0, 0, "\0\0\0\0\0\0\0\0"},
	{HV_HOLE_U64, UINT64_C(0x0807060504030201), 0, "\1\2\3\4\5\6\7\x08"},
	{HV_HOLE_U64, UINT64_MAX, 0, "\xff\xff\xff\xff\xff\xff\xff\xff"},
	{HV_HOLE_U64, UINT64_MAX, 1, "\0\0\0\0\0\0\0\0"},
};

static size_t width_of(enum hv_hole_form form)
{
	return form == HV_HOLE_U8 ? 1 : form == HV_HOLE_U64 ? 8 : 4;
}

/* The value is written into its bytes and no others, or it is refused with its name in the
 * error. */
START_TEST(values_that_do_not_fit_are_refused)
{
	const struct hv_trampoline_hole hole = {HOLE_OFF, (uint8_t)values_of_forms[_i].form,
						HV_HOLE_stacks, values_of_forms[_i].addend};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .holes = &hole, .nr_holes = 1};
	struct hv_trampoline_values values = {
		.hole = {[HV_HOLE_stacks] = values_of_forms[_i].value}};
	uint8_t code[CODE_LEN], expected[CODE_LEN];
	const char *bad;

	memset(code, FILL, sizeof(code));
	memset(expected, FILL, sizeof(expected));
	bad = link_at(&image, &values, AT, code);
	if (!values_of_forms[_i].bytes) {
		ck_assert_pstr_eq(bad, "stacks");
		return;
	}
	ck_assert_pstr_eq(bad, NULL);
	memcpy(expected + HOLE_OFF, values_of_forms[_i].bytes, width_of(hole.form));
	ck_assert_mem_eq(code, expected, CODE_LEN);
}
END_TEST

/* Addresses in the code itself follow from the code's address. */
START_TEST(an_address_in_the_code)
{
	static const struct hv_trampoline_hole hole = {HOLE_OFF, HV_HOLE_S32, HV_HOLE_code, 0x234};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .holes = &hole, .nr_holes = 1};
	/* The caller's value for this hole is ignored. */
	const struct hv_trampoline_values values = {.hole = {[HV_HOLE_code] = 7}};
	uint8_t code[CODE_LEN];

	ck_assert_pstr_eq(link_at(&image, &values, AT, code), NULL);
	ck_assert_mem_eq(code + HOLE_OFF, "\x34\x12\x40\x80", 4);
	ck_assert_pstr_eq(link_at(&image, &values, 0x7f0000000000, code), "code");
}
END_TEST

/* -- alternatives ------------------------------------------------------------------------------ */

static void put_alternative(const struct hv_trampoline_alternative *alternative, unsigned chosen,
			    uint8_t *code)
{
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .alternatives = alternative, .nr_alternatives = 1};
	const struct hv_trampoline_values values = {.alternatives = chosen};

	memset(code, FILL, CODE_LEN);
	ck_assert_pstr_eq(link_at(&image, &values, AT, code), NULL);
}

/* The nops of the processor's manual, 1 to 9 bytes long. */
static const char *const nops[] = {
	"\x90",
	"\x66\x90",
	"\x0f\x1f\x00",
	"\x0f\x1f\x40\x00",
	"\x0f\x1f\x44\x00\x00",
	"\x66\x0f\x1f\x44\x00\x00",
	"\x0f\x1f\x80\x00\x00\x00\x00",
	"\x0f\x1f\x84\x00\x00\x00\x00\x00",
	"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
};

START_TEST(an_alternative_that_is_a_nop)
{
	unsigned len_bytes = (unsigned)_i + 1;
	const struct hv_trampoline_alternative a = {HV_ALT_NO_MIGRATE, ALT_OFF, len_bytes, 0};
	uint8_t code[CODE_LEN], expected[CODE_LEN];

	memset(expected, FILL, sizeof(expected));
	put_alternative(&a, ~(1u << HV_ALT_NO_MIGRATE), code);
	ck_assert_mem_eq(code, expected, CODE_LEN);
	put_alternative(&a, 1u << HV_ALT_NO_MIGRATE, code);
	memcpy(expected + ALT_OFF, nops[_i], len_bytes);
	ck_assert_mem_eq(code, expected, CODE_LEN);
}
END_TEST

/* A jump forward or back, followed by a nop up to the next instruction. */
START_TEST(an_alternative_that_is_a_jump)
{
	static const struct {
		uint32_t target_off;
		const char *jump;
	} jumps[] = {{ALT_OFF + 0x105, "\xe9\x00\x01\0\0"}, {1, "\xe9\xf8\xff\xff\xff"}};

	for (unsigned i = 0; i < HV_ARRAY_LEN(jumps); i++)
		for (uint32_t len_bytes = 5; len_bytes <= 9; len_bytes++) {
			const struct hv_trampoline_alternative a = {HV_ALT_LAZY, ALT_OFF, len_bytes,
								    jumps[i].target_off};
			uint8_t code[CODE_LEN], expected[CODE_LEN];

			memset(expected, FILL, sizeof(expected));
			put_alternative(&a, 0, code);
			ck_assert_mem_eq(code, expected, CODE_LEN);
			put_alternative(&a, 1u << HV_ALT_LAZY, code);
			memcpy(expected + ALT_OFF, jumps[i].jump, 5);
			if (len_bytes > 5)
				memcpy(expected + ALT_OFF + 5, nops[len_bytes - 6], len_bytes - 5);
			ck_assert_mem_eq(code, expected, CODE_LEN);
		}
}
END_TEST

/* Instructions that are copied over others after their holes are filled. */
START_TEST(an_alternative_that_is_copied)
{
	enum { HERE = 4, THERE = 18, LEN = 12 };
	const struct hv_trampoline_alternative a = {HV_ALT_WIDE_COUNT | HV_ALT_COPIED, HERE, LEN,
						    THERE};
	const struct hv_trampoline_hole holes[] = {
		{HERE + 1, HV_HOLE_U8, HV_HOLE_key_shift, 0},
		{THERE + 2, HV_HOLE_U8, HV_HOLE_key_shift, 1},
	};
	const struct hv_trampoline_image image = {.len_bytes = CODE_LEN,
						  .holes = holes,
						  .nr_holes = HV_ARRAY_LEN(holes),
						  .alternatives = &a,
						  .nr_alternatives = 1};
	struct hv_trampoline_values values = {.hole = {[HV_HOLE_key_shift] = 7}};
	uint8_t code[CODE_LEN], expected[CODE_LEN];

	for (unsigned chosen = 0; chosen < 2; chosen++) {
		for (unsigned i = 0; i < CODE_LEN; i++)
			code[i] = (uint8_t)i;
		memcpy(expected, code, sizeof(code));
		expected[HERE + 1] = 7;
		expected[THERE + 2] = 8;
		if (chosen)
			memcpy(expected + HERE, expected + THERE, LEN);
		values.alternatives = chosen << HV_ALT_WIDE_COUNT;
		ck_assert_pstr_eq(link_at(&image, &values, AT, code), NULL);
		ck_assert_mem_eq(code, expected, CODE_LEN);
	}
}
END_TEST

/* -- returns ----------------------------------------------------------------------------------- */

static const struct {
	uint64_t thunk;
	const char *site; /* NULL: out of reach */
} thunks[] = {
	{0, "\xc3\xcc\xcc\xcc\xcc"},
	{AT + ALT_OFF + 0x1000, "\xe9\xfb\x0f\0\0"},
	{AT + ALT_OFF + 5 + INT32_MAX, "\xe9\xff\xff\xff\x7f"},
	{AT + ALT_OFF + 5 + UINT64_C(0x80000000), NULL},
	{AT + ALT_OFF + 5 - UINT64_C(0x80000000), "\xe9\0\0\0\x80"},
	{AT + ALT_OFF + 4 - UINT64_C(0x80000000), NULL},
	{0xfffffe0000000000, NULL},
};

START_TEST(a_return)
{
	static const uint32_t off = ALT_OFF;
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .return_offs = &off, .nr_returns = 1};
	const struct hv_trampoline_values values = {.return_thunk = {thunks[_i].thunk}};
	uint8_t code[CODE_LEN], expected[CODE_LEN];
	const char *bad;

	memset(code, FILL, sizeof(code));
	memset(expected, FILL, sizeof(expected));
	bad = link_at(&image, &values, AT, code);
	if (!thunks[_i].site) {
		ck_assert_pstr_eq(bad, "return_thunk");
		return;
	}
	ck_assert_pstr_eq(bad, NULL);
	memcpy(expected + ALT_OFF, thunks[_i].site, 5);
	ck_assert_mem_eq(code, expected, CODE_LEN);
}
END_TEST

/* -- the trampolines' image -------------------------------------------------------------------- */

static uint8_t *copy_of_trampolines(void)
{
	uint8_t *code = malloc(trampolines->len_bytes);

	ck_assert_ptr_nonnull(code);
	memcpy(code, trampolines->code, trampolines->len_bytes);
	return code;
}

/* The trampolines use each value. One that does not fit is refused with its name. */
START_TEST(every_value_of_the_trampolines)
{
	struct hv_trampoline_values values = {0};
	uint8_t *code = copy_of_trampolines();
	bool used = false, fits = true;

	values.hole[_i] = UINT64_C(1) << 40;
	for (size_t i = 0; i < trampolines->nr_holes; i++)
		if (trampolines->holes[i].hole == _i) {
			used = true;
			fits = fits && trampolines->holes[i].form == HV_HOLE_U64;
		}
	/* The low half of text_base is 0 here, so the trampolines need not subtract it. The
	 * trampolines do not use the values for exceptions: the unwind tables contain that
	 * information. */
	used |= _i == HV_HOLE_text_base || _i == HV_HOLE_entry_code ||
		_i == HV_HOLE_entry_code_len || _i == HV_HOLE_regs_bytes;
	ck_assert_msg(used, "%s is not used", hv_hole_names[_i]);
	ck_assert_pstr_eq(link_at(trampolines, &values, AT, code), fits ? NULL : hv_hole_names[_i]);
	free(code);
}
END_TEST

static void mark(uint8_t *marks, size_t off, size_t len_bytes)
{
	ck_assert_uint_le(off + len_bytes, trampolines->len_bytes);
	for (size_t i = off; i < off + len_bytes; i++) {
		ck_assert_msg(!marks[i], "two things at %#zx", i);
		marks[i] = 1;
	}
}

/* Holes and returns do not overlap, and they and the alternatives are inside the code. */
START_TEST(addresses_in_the_trampolines)
{
	uint8_t *marks = calloc(1, trampolines->len_bytes);

	ck_assert_ptr_nonnull(marks);
	for (size_t i = 0; i < trampolines->nr_holes; i++) {
		ck_assert_uint_lt(trampolines->holes[i].hole, HV_NR_HOLES);
		mark(marks, trampolines->holes[i].off, width_of(trampolines->holes[i].form));
	}
	for (size_t i = 0; i < trampolines->nr_returns; i++) {
		ck_assert_mem_eq(trampolines->code + trampolines->return_offs[i],
				 "\xc3\xcc\xcc\xcc\xcc", 5);
		mark(marks, trampolines->return_offs[i], 5);
	}
	ck_assert_uint_gt(trampolines->nr_alternatives, 0);
	for (size_t i = 0; i < trampolines->nr_alternatives; i++) {
		const struct hv_trampoline_alternative *a = &trampolines->alternatives[i];
		bool is_copied = a->alternative & HV_ALT_COPIED;
		uint32_t number = a->alternative & ~HV_ALT_COPIED;

		ck_assert((number >= HV_ALT_NO_MIGRATE && number <= HV_ALT_TASK_SOFTIRQS) ||
			  number == HV_ALT_UNLOCKED || number == HV_ALT_CHAINS);
		ck_assert_uint_le(is_copied ? a->target_off + a->len_bytes : 0,
				  trampolines->len_bytes);
		ck_assert_uint_le(a->off + a->len_bytes, trampolines->len_bytes);
		ck_assert_uint_lt(a->target_off, trampolines->len_bytes);
		ck_assert_uint_eq(a->target_off == 0,
				  number == HV_ALT_NO_MIGRATE || number == HV_ALT_NO_STEAL);
	}
	free(marks);
}
END_TEST

/* Only lock prefixes may differ, and each of them is listed. */
START_TEST(trampolines_without_locks)
{
	struct hv_trampoline_values values = {0};
	uint8_t *locked = copy_of_trampolines(), *unlocked = copy_of_trampolines();
	unsigned nr = 0;

	ck_assert_pstr_eq(link_at(trampolines, &values, AT, locked), NULL);
	values.alternatives = 1u << HV_ALT_UNLOCKED;
	ck_assert_pstr_eq(link_at(trampolines, &values, AT, unlocked), NULL);
	for (size_t i = 0; i < trampolines->nr_alternatives; i++) {
		const struct hv_trampoline_alternative *a = &trampolines->alternatives[i];

		if ((a->alternative & ~HV_ALT_COPIED) != HV_ALT_UNLOCKED)
			continue;
		ck_assert_uint_eq(a->len_bytes, 1);
		ck_assert_uint_eq(locked[a->off], 0xf0);
		ck_assert_uint_eq(unlocked[a->off], 0x3e);
		unlocked[a->off] = 0xf0;
		nr++;
	}
	ck_assert_uint_gt(nr, 0);
	ck_assert_mem_eq(locked, unlocked, trampolines->len_bytes);
	free(locked);
	free(unlocked);
}
END_TEST

/* If the kernel has a return thunk, no trampoline contains a bare return. */
START_TEST(trampoline_returns_use_the_thunk)
{
	const struct hv_trampoline_values values = {.return_thunk = {AT + 0x100000}};
	uint8_t *code = copy_of_trampolines();

	ck_assert_pstr_eq(link_at(trampolines, &values, AT, code), NULL);
	for (size_t i = 0; i + 5 <= trampolines->len_bytes; i++)
		ck_assert_mem_ne(code + i, "\xc3\xcc\xcc\xcc\xcc", 5);
	free(code);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, values_that_do_not_fit_are_refused, 0,
			    HV_ARRAY_LEN(values_of_forms));
	tcase_add_test(tc, an_address_in_the_code);
	tcase_add_loop_test(tc, an_alternative_that_is_a_nop, 0, HV_ARRAY_LEN(nops));
	tcase_add_test(tc, an_alternative_that_is_a_jump);
	tcase_add_test(tc, an_alternative_that_is_copied);
	tcase_add_loop_test(tc, a_return, 0, HV_ARRAY_LEN(thunks));
	tcase_add_loop_test(tc, every_value_of_the_trampolines, 0, HV_HOLE_code);
	tcase_add_test(tc, addresses_in_the_trampolines);
	tcase_add_test(tc, trampolines_without_locks);
	tcase_add_test(tc, trampoline_returns_use_the_thunk);
}

int main(void)
{
	return run_suite("link", add_tests);
}
