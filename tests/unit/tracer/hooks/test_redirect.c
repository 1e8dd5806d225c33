/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redirects calls and jumps of the kernel to a trampoline, and recognizes them later. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"
#include "tracer/hooks/kernel_calls.h"

#define CALLEE	   (FK_BASE + 0x20000)
#define CALLER	   (FK_BASE + 0x30000)
#define CROSSING   (CALLER + 0xffd)
#define TRAMPOLINE (FR_RANGE + 0x1800)

static const struct hv_arch *const arch = &hv_arch_x86_64;
static const uint8_t nop[FR_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static struct fr r;
static struct traced t;
static struct hv_calls calls;

static void put_call(uint64_t at, uint64_t target)
{
	ck_assert(arch->encode_call(hv_gva(at), hv_gva(target), fk_host(&r.t.f, at)));
}

static void put_jump(uint64_t at, uint64_t target)
{
	ck_assert(arch->encode_jump(hv_gva(at), hv_gva(target), fk_host(&r.t.f, at)));
}

static void setup(void)
{
	traced_init(&t, &r, 1, nop);
	fk_symbol(&r.t.f, "callee", CALLEE);
	fk_symbol(&r.t.f, "caller", CALLER);
	fk_symbol(&r.t.f, "next", CALLER + 0x1800);
	hv_symbols_index(&r.t.f.k.core.symbols);
	put_call(CALLER + 0x11, CALLEE);
	put_call(CALLER + 0x20, CALLEE + 1); /* another function */
	put_jump(CALLER + 0x33, CALLEE);
	put_call(CROSSING, CALLEE);
	put_call(CALLER + 0x17fc, CALLEE); /* ends in the next function */
	put_call(CALLER + 0x1810, CALLEE);
	calls = (struct hv_calls){0};
	ck_assert_ptr_null(
		hv_calls_find(&r.t.f.k, hv_gva(CALLER), hv_gva_alone(hv_gva(CALLEE)), &calls));
}

static void teardown(void)
{
	hv_calls_deinit(&calls);
	traced_deinit(&t);
}

START_TEST(calls_and_jumps_of_one_function_are_found)
{
	ck_assert_uint_eq(calls.nr, 3);
	ck_assert_uint_eq(calls.list[0].at.v, CALLER + 0x11);
	ck_assert_uint_eq(calls.list[0].target.v, CALLEE);
	ck_assert_int_eq(calls.list[0].kind, HV_SITE_CALL);
	ck_assert_uint_eq(calls.list[1].at.v, CALLER + 0x33);
	ck_assert_int_eq(calls.list[1].kind, HV_SITE_JUMP);
	ck_assert_uint_eq(calls.list[2].at.v, CROSSING);
	/* Memory outside the core kernel's text has no calls. */
	ck_assert_ptr_null(
		hv_calls_find(&r.t.f.k, hv_gva(FK_DATA), hv_gva_alone(hv_gva(CALLEE)), &calls));
	ck_assert_uint_eq(calls.nr, 3);
}
END_TEST

static bool plan(const struct hv_call *call, uint64_t to, struct hv_change *ret)
{
	bool is_planned = false;

	ck_assert_ptr_null(hv_redirect_plan(&r.tracee, call, hv_gva(to), HV_CHANGE_FTRACE_READER,
					    ret, &is_planned));
	return is_planned;
}

static struct hv_journal_entry entry_of(const struct hv_change *change)
{
	struct hv_journal_entry e = {.gva = change->gva.v,
				     .gpa = change->gpa.v,
				     .kind = HV_CHANGE_FTRACE_READER,
				     .len_bytes = FR_SITE_BYTES};

	memcpy(e.old_bytes, change->from, sizeof(e.old_bytes));
	return e;
}

static bool is_ours(struct hv_journal_entry e)
{
	bool ours;

	ck_assert_ptr_null(hv_redirect_is_ours(&r.tracee, hv_gva_alone(hv_gva(CALLEE)), &e, &ours));
	if (ours)
		ck_assert_mem_eq(e.new_bytes, fk_host(&r.t.f, e.gva), FR_SITE_BYTES);
	return ours;
}

/* A jump stays a jump because its function does not return here. */
START_TEST(a_redirected_call_is_restored)
{
	struct hv_call call = calls.list[_i];
	uint8_t before[FR_SITE_BYTES], *code = fk_host(&r.t.f, call.at.v);
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_change change;
	struct hv_gva target = {0};

	memcpy(before, code, sizeof(before));
	ck_assert(plan(&call, TRAMPOLINE, &change));
	ck_assert(!is_ours(entry_of(&change)));
	ck_assert_ptr_null(hv_patcher_apply(r.tracee.patcher, &change, 1));
	ck_assert_int_eq(arch->classify_site(code, call.at, &target), call.kind);
	ck_assert_uint_eq(target.v, TRAMPOLINE);
	ck_assert(is_ours(entry_of(&change)));
	ck_assert_uint_eq(hv_patcher_undo_plan(r.tracee.patcher, HV_CHANGE_FTRACE_READER, &undo),
			  1);
	ck_assert_ptr_null(hv_patcher_apply(r.tracee.patcher, undo, 1));
	ck_assert_mem_eq(code, before, sizeof(before));
	ck_assert(!is_ours(entry_of(&change)));
}
END_TEST

START_TEST(a_call_that_cannot_be_changed_is_left)
{
	struct hv_change change;

	ck_assert(!plan(&calls.list[2], TRAMPOLINE, &change)); /* in two pages */
	ck_assert(!plan(&calls.list[0], FK_BASE - (1ull << 32), &change));
	put_call(CALLER + 0x11, CALLEE + 1); /* changed since */
	ck_assert(!plan(&calls.list[0], TRAMPOLINE, &change));
	put_jump(CALLER + 0x11, CALLEE);
	ck_assert(!plan(&calls.list[0], TRAMPOLINE, &change));
	ck_assert(plan(&calls.list[1], TRAMPOLINE, &change));
}
END_TEST

/* If it were not, recover would unmap the code that the call leads to. */
START_TEST(a_call_under_a_breakpoint_is_recognized)
{
	struct hv_journal_entry e;
	struct hv_change change;
	uint8_t *code = fk_host(&r.t.f, calls.list[0].at.v);
	bool ours;

	ck_assert(plan(&calls.list[0], TRAMPOLINE, &change));
	ck_assert_ptr_null(hv_patcher_apply(r.tracee.patcher, &change, 1));
	e = entry_of(&change);
	memcpy(e.new_bytes, code, FR_SITE_BYTES);
	code[0] = 0xcc;
	ck_assert_ptr_null(hv_redirect_is_ours(&r.tracee, hv_gva_alone(hv_gva(CALLEE)), &e, &ours));
	ck_assert(ours);
	ck_assert_uint_eq(e.new_bytes[0], 0xe8); /* recover leaves the breakpoint */
	e.new_bytes[0] = 0xe9;
	ck_assert_ptr_null(hv_redirect_is_ours(&r.tracee, hv_gva_alone(hv_gva(CALLEE)), &e, &ours));
	ck_assert(!ours);
}
END_TEST

START_TEST(only_consistent_calls_are_recognized)
{
	struct hv_journal_entry good, e;
	struct hv_change change;

	ck_assert(plan(&calls.list[0], TRAMPOLINE, &change));
	ck_assert_ptr_null(hv_patcher_apply(r.tracee.patcher, &change, 1));
	e = good = entry_of(&change);
	ck_assert(is_ours(e));
	e.old_bytes[1]++; /* another function would be called */
	ck_assert(!is_ours(e));
	e = good;
	e.old_bytes[0] = 0xe9; /* by another instruction */
	ck_assert(!is_ours(e));
	e = good;
	e.len_bytes = 8;
	ck_assert(!is_ours(e));
	e = good;
	e.gpa += 8;
	ck_assert(!is_ours(e));
	e = good;
	e.gva += FK_DATA - FK_BASE; /* not text */
	e.gpa += FK_DATA - FK_BASE;
	ck_assert(!is_ours(e));
	put_call(CALLER + 0x11, FR_RANGE - 1);
	ck_assert(!is_ours(good));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, calls_and_jumps_of_one_function_are_found);
	tcase_add_loop_test(tc, a_redirected_call_is_restored, 0, 2);
	tcase_add_test(tc, a_call_that_cannot_be_changed_is_left);
	tcase_add_test(tc, a_call_under_a_breakpoint_is_recognized);
	tcase_add_test(tc, only_consistent_calls_are_recognized);
}

int main(void)
{
	return run_suite("redirect", add_tests);
}
