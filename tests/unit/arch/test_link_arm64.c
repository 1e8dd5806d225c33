/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linking an image of arm64 trampolines (arch->link): each instruction field compared with the
 * assembler's output for the same value, the alternatives, and the completeness of the real image.
 * test_link.c does it for x86-64. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define AT	 UINT64_C(0xffffb52180401000)
#define CODE_LEN 32
#define FILL	 0x5a
#define HOLE_OFF 8
#define ALT_OFF	 12
#define NOP	 0xd503201f

static const struct hv_trampoline_image *const trampolines = &hv_arch_arm64.trampolines;

static const char *link_at(const struct hv_trampoline_image *image,
			   const struct hv_trampoline_values *values, uint64_t at, uint8_t *code)
{
	return hv_arch_arm64.link(image, values, hv_gva(at), code);
}

/* The field's previous value is ignored. 0: refused. */
static const struct {
	enum hv_hole_form form;
	uint64_t value;
	uint32_t before, after;
} values_of_forms[] = {
	/* mov w1, #n */
	{HV_HOLE_A64_MOV_0, 0, 0x528fffe1, 0x52800001},
	{HV_HOLE_A64_MOV_0, 0x1234, 0x52800001, 0x52824681},
	{HV_HOLE_A64_MOV_0, 0xffff, 0x52800001, 0x529fffe1},
	{HV_HOLE_A64_MOV_0, 0x10000, 0x52800001, 0},
	{HV_HOLE_A64_MOV_0, UINT64_MAX, 0x52800001, 0},
	{HV_HOLE_A64_MOV_0_PART, 0xffff800012345678, 0x52800001, 0x528acf01},
	/* movk w1, #n, lsl #16 */
	{HV_HOLE_A64_MOV_1, 0x12345678, 0x72a00001, 0x72a24681},
	{HV_HOLE_A64_MOV_1, UINT32_MAX, 0x72a00001, 0x72bfffe1},
	{HV_HOLE_A64_MOV_1, UINT64_C(1) << 32, 0x72a00001, 0},
	{HV_HOLE_A64_MOV_1_PART, 0xffff800012345678, 0x72a00001, 0x72a24681},
	/* movk x1, #n, lsl #32; lsl #48 */
	{HV_HOLE_A64_MOV_2_PART, 0xffff800012345678, 0xf2c00001, 0xf2d00001},
	{HV_HOLE_A64_MOV_3, 0xffff800012345678, 0xf2e00001, 0xf2ffffe1},
	/* mov x1, #n */
	{HV_HOLE_A64_MOVN, (uint64_t)-0x4000, 0x92800001, 0x9287ffe1},
	{HV_HOLE_A64_MOVN, (uint64_t)-0x10000, 0x92800001, 0x929fffe1},
	{HV_HOLE_A64_MOVN, (uint64_t)-0x10001, 0x92800001, 0},
	{HV_HOLE_A64_MOVN, 0x4000, 0x92800001, 0},
	/* adrp x1, page */
	{HV_HOLE_A64_PAGE, AT, 0x90000001, 0x90000001},
	{HV_HOLE_A64_PAGE, AT + 0x3ff000, 0x90000001, 0xf0001fe1},
	{HV_HOLE_A64_PAGE, AT - 0x1000, 0x90000001, 0xf0ffffe1},
	{HV_HOLE_A64_PAGE, AT + (UINT64_C(1) << 32) - 0x1000, 0x90000001, 0xf07fffe1},
	{HV_HOLE_A64_PAGE, AT + (UINT64_C(1) << 32), 0x90000001, 0},
	{HV_HOLE_A64_PAGE, AT - (UINT64_C(1) << 32), 0x90000001, 0x90800001},
	{HV_HOLE_A64_PAGE, AT - (UINT64_C(1) << 32) - 0x1000, 0x90000001, 0},
	{HV_HOLE_A64_PAGE, AT + 8, 0x90000001, 0},
	/* ldrb w1, [x2, #n]; ldrh; ldr w1; ldr x1 */
	{HV_HOLE_A64_LOAD_8, 0xfff, 0x39400041, 0x397ffc41},
	{HV_HOLE_A64_LOAD_8, 0x1000, 0x39400041, 0},
	{HV_HOLE_A64_LOAD_16, 0x1ffe, 0x79400041, 0x797ffc41},
	{HV_HOLE_A64_LOAD_16, 1, 0x79400041, 0},
	{HV_HOLE_A64_LOAD_32, 0x5a8, 0xb97ffc41, 0xb945a841},
	{HV_HOLE_A64_LOAD_32, 0x3ffc, 0xb9400041, 0xb97ffc41},
	{HV_HOLE_A64_LOAD_32, 0x4000, 0xb9400041, 0},
	{HV_HOLE_A64_LOAD_32, 0x5a6, 0xb9400041, 0},
	{HV_HOLE_A64_LOAD_64, 0x7ff8, 0xf9400041, 0xf97ffc41},
	{HV_HOLE_A64_LOAD_64, 0x8000, 0xf9400041, 0},
	{HV_HOLE_A64_LOAD_64, 4, 0xf9400041, 0},
	{HV_HOLE_A64_LOAD_64, (uint64_t)-8, 0xf9400041, 0},
	/* forms of x86-64 */
	{HV_HOLE_S32, 0, NOP, 0},
	{HV_HOLE_U8, 0, NOP, 0},
};

/* The value is in its field and nothing else changes, or it is refused with its name in the
 * error. */
START_TEST(values_that_do_not_fit_are_refused)
{
	const struct hv_trampoline_hole hole = {HOLE_OFF, (uint8_t)values_of_forms[_i].form,
						HV_HOLE_stacks, 16};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .holes = &hole, .nr_holes = 1};
	struct hv_trampoline_values values = {
		.hole = {[HV_HOLE_stacks] = values_of_forms[_i].value - 16}};
	uint8_t code[CODE_LEN], expected[CODE_LEN];
	const char *bad;

	memset(code, FILL, sizeof(code));
	memset(expected, FILL, sizeof(expected));
	memcpy(code + HOLE_OFF, &values_of_forms[_i].before, 4);
	memcpy(expected + HOLE_OFF, &values_of_forms[_i].after, 4);
	bad = link_at(&image, &values, AT, code);
	if (!values_of_forms[_i].after) {
		ck_assert_pstr_eq(bad, "stacks");
		return;
	}
	ck_assert_pstr_eq(bad, NULL);
	ck_assert_mem_eq(code, expected, CODE_LEN);
}
END_TEST

START_TEST(a_word_of_64_bits)
{
	static const struct hv_trampoline_hole hole = {HOLE_OFF, HV_HOLE_U64, HV_HOLE_code, 0x234};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .holes = &hole, .nr_holes = 1};
	/* The caller's value for this hole is ignored. */
	const struct hv_trampoline_values values = {.hole = {[HV_HOLE_code] = 7}};
	uint64_t value = AT + 0x234;
	uint8_t code[CODE_LEN];

	ck_assert_pstr_eq(link_at(&image, &values, AT, code), NULL);
	ck_assert_mem_eq(code + HOLE_OFF, &value, 8);
}
END_TEST

/* A jump forward or back. */
START_TEST(an_alternative)
{
	static const struct {
		uint32_t target_off, jump;
	} jumps[] = {{ALT_OFF + 0x100, 0x14000040}, {ALT_OFF - 8, 0x17fffffe}};

	for (unsigned i = 0; i < HV_ARRAY_LEN(jumps); i++) {
		const struct hv_trampoline_alternative a = {HV_ALT_LAZY, ALT_OFF, 4,
							    jumps[i].target_off};
		const struct hv_trampoline_image image = {
			.len_bytes = CODE_LEN, .alternatives = &a, .nr_alternatives = 1};
		struct hv_trampoline_values values = {.alternatives = ~(1u << HV_ALT_LAZY)};
		uint8_t code[CODE_LEN], expected[CODE_LEN];

		memset(code, FILL, sizeof(code));
		memset(expected, FILL, sizeof(expected));
		ck_assert_pstr_eq(link_at(&image, &values, AT, code), NULL);
		ck_assert_mem_eq(code, expected, CODE_LEN);
		values.alternatives = 1u << HV_ALT_LAZY;
		ck_assert_pstr_eq(link_at(&image, &values, AT, code), NULL);
		memcpy(expected + ALT_OFF, &jumps[i].jump, 4);
		ck_assert_mem_eq(code, expected, CODE_LEN);
	}
}
END_TEST

/* No arm64 kernel returns through a thunk. */
START_TEST(a_thunk_is_refused)
{
	const struct hv_trampoline_image image = {.len_bytes = CODE_LEN};
	const struct hv_trampoline_values values = {.return_thunk = {AT + 0x1000}};
	uint8_t code[CODE_LEN];

	ck_assert_pstr_eq(link_at(&image, &values, AT, code), "return_thunk");
}
END_TEST

/* A value that does not fit is refused with its name, unless each of its holes takes only a part of
 * it. */
START_TEST(every_value_of_the_trampolines)
{
	struct hv_trampoline_values values = {0};
	uint8_t *code = malloc(trampolines->len_bytes);
	bool used = false, fits = true;

	ck_assert_ptr_nonnull(code);
	memcpy(code, trampolines->code, trampolines->len_bytes);
	/* Pages must be near the code, and the upper bits of the stack mask must be 1. */
	values.hole[HV_HOLE_control] = values.hole[HV_HOLE_vcpus] = values.hole[HV_HOLE_pids] =
		values.hole[HV_HOLE_stacks] = values.hole[HV_HOLE_params] = AT;
	values.hole[HV_HOLE_stack_mask] = (uint64_t)-0x4000;
	ck_assert_pstr_eq(link_at(trampolines, &values, AT, code), NULL);
	values.hole[_i] = (UINT64_C(1) << 40) + 1;
	for (size_t i = 0; i < trampolines->nr_holes; i++)
		if (trampolines->holes[i].hole == _i) {
			used = true;
			fits = fits && (trampolines->holes[i].form == HV_HOLE_A64_MOV_0_PART ||
					trampolines->holes[i].form == HV_HOLE_A64_MOV_1_PART ||
					trampolines->holes[i].form == HV_HOLE_A64_MOV_2_PART ||
					trampolines->holes[i].form == HV_HOLE_A64_MOV_3);
		}
	ck_assert_pstr_eq(link_at(trampolines, &values, AT, code),
			  used && !fits ? hv_hole_names[_i] : NULL);
	free(code);
}
END_TEST

/* All holes are distinct instructions of the code. Every entry begins with a landing pad for
 * indirect branches. */
START_TEST(addresses_in_the_trampolines)
{
	uint8_t *marks = calloc(1, trampolines->len_bytes);
	size_t entries[4 + HV_NR_CALL_ENTRIES + HV_NR_ACTION_GROUPS] = {
		trampolines->function_off, trampolines->graph_off, trampolines->profile_off,
		trampolines->function_stack_off};
	const uint32_t bti_c = 0xd503245f;

	ck_assert_ptr_nonnull(marks);
	for (size_t i = 0; i < trampolines->nr_holes; i++) {
		uint32_t off = trampolines->holes[i].off;

		ck_assert_uint_lt(trampolines->holes[i].hole, HV_NR_HOLES);
		ck_assert_uint_lt(off, trampolines->len_bytes);
		ck_assert_uint_eq(off % 4, 0);
		ck_assert_msg(!marks[off], "two values at %#x", off);
		marks[off] = 1;
	}
	ck_assert_uint_gt(trampolines->nr_alternatives, 0);
	for (size_t i = 0; i < trampolines->nr_alternatives; i++) {
		const struct hv_trampoline_alternative *a = &trampolines->alternatives[i];

		ck_assert(a->alternative == HV_ALT_NO_MIGRATE || a->alternative == HV_ALT_LAZY ||
			  a->alternative == HV_ALT_TASK_SOFTIRQS ||
			  a->alternative == HV_ALT_HYPERVISOR ||
			  a->alternative == HV_ALT_HOST_CLOCK);
		ck_assert_uint_eq(a->len_bytes, 4);
		ck_assert_uint_gt(a->target_off, 0);
		ck_assert_uint_lt(a->target_off, trampolines->len_bytes);
	}
	for (size_t i = 0; i < HV_NR_CALL_ENTRIES; i++)
		entries[4 + i] = trampolines->calls_off + i * trampolines->call_len_bytes;
	for (size_t i = 0; i < HV_NR_ACTION_GROUPS; i++)
		entries[4 + HV_NR_CALL_ENTRIES + i] =
			trampolines->actions_off + i * trampolines->action_len_bytes;
	for (size_t i = 0; i < HV_ARRAY_LEN(entries); i++)
		ck_assert_mem_eq(trampolines->code + entries[i], &bti_c, 4);
	free(marks);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, values_that_do_not_fit_are_refused, 0,
			    HV_ARRAY_LEN(values_of_forms));
	tcase_add_test(tc, a_word_of_64_bits);
	tcase_add_test(tc, an_alternative);
	tcase_add_test(tc, a_thunk_is_refused);
	tcase_add_loop_test(tc, every_value_of_the_trampolines, 0, HV_HOLE_code);
	tcase_add_test(tc, addresses_in_the_trampolines);
}

int main(void)
{
	return run_suite("link_arm64", add_tests);
}
