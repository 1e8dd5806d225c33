/* SPDX-License-Identifier: GPL-2.0-or-later */
/* References of arm64 functions to kernel data: addresses, loads and stores, followed through the
 * instructions. */
#include <check.h>

#include "arch/arm64/arm64.h"
#include "tests/lib/run_suite.h"

/* The reported uses of data, in order. */
struct told {
	struct hv_data_use list[16];
	size_t nr;
};

static void tell(void *ctx, const struct hv_data_use *use)
{
	struct told *told = ctx;

	ck_assert_uint_lt(told->nr, HV_ARRAY_LEN(told->list));
	told->list[told->nr++] = *use;
}

#define FUNCTION 0xffff800008010ffcull

static struct told follow(const uint32_t *code, size_t nr)
{
	struct told told = {0};

	hv_arch_arm64.follow_data((struct hv_span){(const uint8_t *)code, nr * sizeof(*code)},
				  hv_gva(FUNCTION), tell, &told);
	return told;
}
#define FOLLOW(...)                                                                                \
	follow((const uint32_t[]){__VA_ARGS__},                                                    \
	       sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

#define ADRP_X0	    0xb0000000u /* adrp x0, two pages after the first instruction's */
#define PAGE	    0xffff800008011000ull
#define LDR_X2	    0xf9400002u /* ldr x2, [x0] */
#define BL	    0x94000010u /* bl, 64 bytes ahead */
#define RET	    0xd65f03c0u
#define ADD_X1_X0_8 0x91002001u /* add x1, x0, #8 */

static void is_use(const struct told *told, size_t i, unsigned kind, uint64_t at, unsigned len)
{
	ck_assert_uint_lt(i, told->nr);
	ck_assert_uint_eq((unsigned)told->list[i].kind, kind);
	ck_assert_uint_eq(told->list[i].at.v, at);
	ck_assert_uint_eq(told->list[i].len_bytes, len);
}

START_TEST(data_is_followed)
{
	/* As gcc compiles find_module_all(): loads and stores change their base register. */
	struct told t =
		FOLLOW(ADRP_X0, 0x91170015 /* add x21, x0, #0x5c0 */,
		       0xf8450ea1 /* ldr x1, [x21, #80]! */, 0xb94006a3 /* ldr w3, [x21, #4] */,
		       0xa90106a1 /* stp x1, x1, [x21, #16] */, 0x3940081f /* ldrb wzr, [x0, #2] */,
		       0xf81f86a1 /* str x1, [x21], #-8 */, 0xf90002a1 /* str x1, [x21] */);

	ck_assert_uint_eq(t.nr, 8);
	is_use(&t, 0, HV_DATA_ADDRESS, PAGE + 0x5c0, 0);
	is_use(&t, 1, HV_DATA_READ, PAGE + 0x610, 8);
	is_use(&t, 2, HV_DATA_READ, PAGE + 0x614, 4);
	is_use(&t, 3, HV_DATA_WRITE, PAGE + 0x620, 8);
	is_use(&t, 4, HV_DATA_WRITE, PAGE + 0x628, 8);
	is_use(&t, 5, HV_DATA_READ, PAGE + 2, 1);
	is_use(&t, 6, HV_DATA_WRITE, PAGE + 0x610, 8);
	is_use(&t, 7, HV_DATA_WRITE, PAGE + 0x608, 8);
}
END_TEST

/* The arguments of a call are reported. After the call, registers that it may change are
 * unknown. */
START_TEST(data_is_passed)
{
	struct told t = FOLLOW(ADRP_X0, LDR_X2, BL, LDR_X2);

	ck_assert_uint_eq(t.nr, 2);
	is_use(&t, 0, HV_DATA_READ, PAGE, 8);
	is_use(&t, 1, HV_DATA_PASS, PAGE, 8);
	ck_assert_uint_eq(t.list[1].argument, 2);
	ck_assert_uint_eq(t.list[1].called.v, FUNCTION + 8 + 64);
	t = FOLLOW(ADRP_X0, LDR_X2, 0x8b030042 /* add x2, x2, x3 */, BL);
	ck_assert_uint_eq(t.nr, 1);
	t = FOLLOW(ADRP_X0, LDR_X2, 0xb9400002 /* ldr w2, [x0] */, BL);
	ck_assert_uint_eq(t.nr, 2);
}
END_TEST

/* Where paths meet, only registers with the same value on all paths are known. */
START_TEST(data_where_paths_meet)
{
	/* cbz x3 over an instruction that changes nothing, and over one that changes x0 */
	struct told t = FOLLOW(ADRP_X0, 0xb4000043, 0xd2800004 /* mov x4, #0 */, LDR_X2);

	ck_assert_uint_eq(t.nr, 1);
	t = FOLLOW(ADRP_X0, 0xb4000043, 0xd2800000 /* mov x0, #0 */, LDR_X2);
	ck_assert_uint_eq(t.nr, 0);
	/* A path that ends does not meet the other one. */
	t = FOLLOW(ADRP_X0, 0xb4000063, 0xd2800000, RET, LDR_X2);
	ck_assert_uint_eq(t.nr, 1);
	/* Nothing is known after the end of a path, nor at the start of a loop. */
	t = FOLLOW(ADRP_X0, RET, LDR_X2);
	ck_assert_uint_eq(t.nr, 0);
	t = FOLLOW(ADRP_X0, LDR_X2, 0xd2800000, 0xb5ffffc3 /* cbnz x3, to the load */);
	ck_assert_uint_eq(t.nr, 0);
	/* A jump to a register's address may lead anywhere. */
	t = FOLLOW(ADRP_X0, LDR_X2, 0xd61f0060 /* br x3 */);
	ck_assert_uint_eq(t.nr, 0);
}
END_TEST

/* All registers in the register fields of other instructions become unknown. */
START_TEST(data_is_forgotten)
{
	static const uint32_t changes[] = {
		0xc8607c62, /* casp x0, x1, x2, x3, [x3] */
		0xd5384100, /* mrs x0, sp_el0 */
		0xf8408460, /* ldr x0, [x3], #8 */
		0xa8c10460, /* ldp x0, x1, [x3], #16 */
		0xa94100e0, /* ldp x0, x0, [x7, #16] */
		0xd63f0060, /* blr x3 */
		0x9e660000, /* fmov x0, d0 */
		0x91000460, /* add x0, x3, #1 */
		0xd1000400, /* sub x0, x0, #1 */
		0xaa0303e0, /* mov x0, x3 */
		0x00000000, /* udf */
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(changes); i++) {
		struct told t = FOLLOW(ADRP_X0, changes[i], ADD_X1_X0_8);

		ck_assert_msg(t.nr == 0, "%08x", changes[i]);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, data_is_followed);
	tcase_add_test(tc, data_is_passed);
	tcase_add_test(tc, data_where_paths_meet);
	tcase_add_test(tc, data_is_forgotten);
}

int main(void)
{
	return run_suite("data_arm64", add_tests);
}
