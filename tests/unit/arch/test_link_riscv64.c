/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linking an image of riscv64 trampolines (arch->link): each instruction field compared with the
 * assembler's output for the same value, the alternatives, and the completeness of the real image.
 * test_link.c does it for x86-64. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arch/riscv64/riscv64.h"
#include "tests/lib/run_suite.h"

#define AT	 UINT64_C(0xffffffffa0001000)
#define CODE_LEN 32
#define FILL	 0x5a
#define HOLE_OFF 8
#define ALT_OFF	 12
#define NOP	 0x13u

static const struct hv_trampoline_image *const trampolines = &hv_arch_riscv64.trampolines;

static const char *link_at(const struct hv_trampoline_image *image,
			   const struct hv_trampoline_values *values, uint8_t *code)
{
	return hv_arch_riscv64.link(image, values, hv_gva(AT), code);
}

/* The field's previous value is ignored. 0: refused. */
static const struct {
	enum hv_hole_form form;
	uint64_t value;
	uint32_t before, after;
} values_of_forms[] = {
	/* lui t1, %hi(n) */
	{HV_HOLE_RV_HIGH, 0, 0xfffff337, 0x00000337},
	{HV_HOLE_RV_HIGH, 0x7ff, 0x00000337, 0x00000337},
	{HV_HOLE_RV_HIGH, 0x800, 0x00000337, 0x00001337},
	{HV_HOLE_RV_HIGH, 0x12345678, 0x00000337, 0x12345337},
	{HV_HOLE_RV_HIGH, 0x12345878, 0x00000337, 0x12346337},
	{HV_HOLE_RV_HIGH, 0xffffffffa0001abc, 0x00000337, 0xa0002337},
	{HV_HOLE_RV_HIGH, (uint64_t)-1, 0x00000337, 0x00000337},
	{HV_HOLE_RV_HIGH, 0x7ffff7ff, 0x00000337, 0x7ffff337},
	{HV_HOLE_RV_HIGH, 0x7ffff800, 0x00000337, 0},
	{HV_HOLE_RV_HIGH, 0xffffffff80000000, 0x00000337, 0x80000337},
	{HV_HOLE_RV_HIGH, 0xffffffff7ffff000, 0x00000337, 0},
	{HV_HOLE_RV_HIGH, UINT64_C(1) << 32, 0x00000337, 0},
	{HV_HOLE_RV_HIGH_PART, 0xfffffffe12345878, 0x00000337, 0x12346337},
	/* lw t1, %lo(n)(t2) */
	{HV_HOLE_RV_LOW, 0x12345678, 0x0003a303, 0x6783a303},
	{HV_HOLE_RV_LOW, 0x12345878, 0xfff3a303, 0x8783a303},
	{HV_HOLE_RV_LOW, 0xffffffffa0001abc, 0x0003a303, 0xabc3a303},
	{HV_HOLE_RV_LOW, 0x7ffff800, 0x0003a303, 0},
	{HV_HOLE_RV_LOW, UINT64_C(1) << 32, 0x0003a303, 0},
	/* addi t1, t1, %lo(n) */
	{HV_HOLE_RV_LOW_PART, 0xfffffffe12345878, 0x00030313, 0x87830313},
	/* forms of other architectures */
	{HV_HOLE_S32, 0, NOP, 0},
	{HV_HOLE_A64_MOV_0, 0, NOP, 0},
};

/* The value is in its field and nothing else changes, or it is refused with its name in the
 * error. */
START_TEST(values_that_do_not_fit_are_refused)
{
	const struct hv_trampoline_hole hole = {HOLE_OFF, (uint8_t)values_of_forms[_i].form,
						HV_HOLE_task_pid, 0};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .holes = &hole, .nr_holes = 1};
	struct hv_trampoline_values values = {
		.hole = {[HV_HOLE_task_pid] = values_of_forms[_i].value}};
	uint8_t code[CODE_LEN], expect[CODE_LEN];
	const char *bad;

	memset(code, FILL, sizeof(code));
	memcpy(code + HOLE_OFF, &values_of_forms[_i].before, 4);
	memcpy(expect, code, sizeof(code));
	memcpy(expect + HOLE_OFF, &values_of_forms[_i].after, 4);
	bad = link_at(&image, &values, code);
	if (!values_of_forms[_i].after) {
		ck_assert_str_eq(bad, "task_pid");
		return;
	}
	ck_assert_ptr_null(bad);
	ck_assert_mem_eq(code, expect, sizeof(code));
}
END_TEST

START_TEST(an_addend_is_added)
{
	const struct hv_trampoline_hole hole = {HOLE_OFF, HV_HOLE_RV_LOW, HV_HOLE_code, 0x10};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .holes = &hole, .nr_holes = 1};
	const struct hv_trampoline_values values = {0};
	uint32_t insn = 0x00030313;
	uint8_t code[CODE_LEN] = {0};

	memcpy(code + HOLE_OFF, &insn, sizeof(insn));
	ck_assert_ptr_null(link_at(&image, &values, code));
	memcpy(&insn, code + HOLE_OFF, sizeof(insn));
	ck_assert_uint_eq(insn, 0x01030313);
}
END_TEST

START_TEST(alternatives)
{
	const struct hv_trampoline_alternative to = {HV_ALT_LAZY, ALT_OFF, 4, ALT_OFF + 8};
	const struct hv_trampoline_image image = {
		.len_bytes = CODE_LEN, .alternatives = &to, .nr_alternatives = 1};
	struct hv_trampoline_values values = {.alternatives = 1u << HV_ALT_NO_MIGRATE};
	uint8_t code[CODE_LEN] = {0};
	uint32_t insn;

	ck_assert_ptr_null(link_at(&image, &values, code));
	memcpy(&insn, code + ALT_OFF, sizeof(insn));
	ck_assert_uint_eq(insn, 0);
	values.alternatives |= 1u << HV_ALT_LAZY;
	ck_assert_ptr_null(link_at(&image, &values, code));
	memcpy(&insn, code + ALT_OFF, sizeof(insn));
	ck_assert_uint_eq(insn, 0x0080006f); /* j .+8 */
}
END_TEST

START_TEST(a_thunk_is_refused)
{
	const struct hv_trampoline_values values = {.return_thunk = {AT}};
	uint8_t code[CODE_LEN] = {0};

	ck_assert_str_eq(link_at(&(struct hv_trampoline_image){0}, &values, code), "return_thunk");
}
END_TEST

START_TEST(the_image_is_complete)
{
	const struct hv_trampoline_values values = {0};
	uint8_t *code = malloc(trampolines->len_bytes);

	ck_assert_ptr_nonnull(code);
	memcpy(code, trampolines->code, trampolines->len_bytes);
	ck_assert_ptr_null(link_at(trampolines, &values, code));
	free(code);
	ck_assert_uint_gt(trampolines->function_off, 0);
	ck_assert_uint_gt(trampolines->nr_alternatives, 0);
	for (size_t i = 0; i < trampolines->nr_alternatives; i++) {
		const struct hv_trampoline_alternative *a = &trampolines->alternatives[i];

		ck_assert(a->alternative == HV_ALT_NO_MIGRATE || a->alternative == HV_ALT_LAZY ||
			  a->alternative == HV_ALT_TASK_SOFTIRQS);
		ck_assert_uint_eq(a->len_bytes, 4);
		ck_assert_uint_lt(a->off, a->target_off);
		ck_assert_uint_lt(a->target_off, trampolines->len_bytes);
	}
	for (size_t i = 0; i < trampolines->nr_holes; i++)
		ck_assert_uint_le(trampolines->holes[i].off + 4, trampolines->len_bytes);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, values_that_do_not_fit_are_refused, 0,
			    HV_ARRAY_LEN(values_of_forms));
	tcase_add_test(tc, an_addend_is_added);
	tcase_add_test(tc, alternatives);
	tcase_add_test(tc, a_thunk_is_refused);
	tcase_add_test(tc, the_image_is_complete);
}

int main(void)
{
	return run_suite("link_riscv64", add_tests);
}
