/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that report a new name of a task in the kernel: finding, changing and restoring
 * them. */
#include "tracer/hooks/kernel_calls.h"

#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"
#include "tracer/guest/trampolines.h"

#define COMM	  (FK_BASE + 0x20000)
#define SET	  (FK_BASE + 0x30f00)
#define CALL	  (SET + 0x32)
#define EXEC	  (SET + 0x200)
#define JUMP	  (EXEC + 0x21)
#define SOMEBODY  (SET + 0x400)
#define TWO_PAGES (SET + 0xfe) /* a call there is in two pages */

static const uint8_t nop[FR_SITE_BYTES] = {0x66, 0x66, 0x66, 0x66, 0x90};
static uint8_t before[FR_SITE_BYTES], jump_before[FR_SITE_BYTES];

static struct fr r;
static struct traced t;

static uint8_t *at(uint64_t gva)
{
	return fk_host(&r.t.f, gva);
}

static void setup(void)
{
	traced_init(&t, &r, 1, nop);
	fk_symbol(&r.t.f, "perf_event_comm", COMM);
	fk_symbol(&r.t.f, "__set_task_comm", SET);
	fk_symbol(&r.t.f, "begin_new_exec", EXEC);
	fk_symbol(&r.t.f, "somebody", SOMEBODY);
	hv_symbols_index(&r.t.f.k.core.symbols);
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(CALL), hv_gva(COMM), at(CALL)));
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(JUMP), hv_gva(COMM), at(JUMP)));
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(SOMEBODY), hv_gva(COMM), at(SOMEBODY)));
	memcpy(before, at(CALL), FR_SITE_BYTES);
	memcpy(jump_before, at(JUMP), FR_SITE_BYTES);
}

static void teardown(void)
{
	traced_deinit(&t);
}

static struct hv_gva target_of(uint64_t gva)
{
	struct hv_gva target = {0};

	hv_arch_x86_64.classify_site(at(gva), hv_gva(gva), &target);
	return target;
}

static void follow(void)
{
	struct hv_err *err = hv_renames_begin(&r.tracee);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void put_back(void)
{
	struct hv_err *err = hv_renames_end(&r.tracee);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(!hv_renames_are_followed(&r.tracee));
}

START_TEST(calls_lead_to_the_trampoline_for_a_session)
{
	follow();
	ck_assert(hv_renames_are_followed(&r.tracee));
	ck_assert_uint_eq(target_of(CALL).v, hv_trampolines_rename(&r.tracee).v);
	ck_assert_uint_eq(target_of(JUMP).v, hv_trampolines_rename(&r.tracee).v);
	ck_assert_uint_eq(target_of(SOMEBODY).v, COMM);
	put_back();
	ck_assert_mem_eq(at(CALL), before, FR_SITE_BYTES);
	ck_assert_mem_eq(at(JUMP), jump_before, FR_SITE_BYTES);
}
END_TEST

START_TEST(a_kernel_without_the_calls_can_be_traced)
{
	memset(at(CALL), 0x90, FR_SITE_BYTES);
	memset(at(JUMP), 0x90, FR_SITE_BYTES);
	follow();
	ck_assert(!hv_renames_are_followed(&r.tracee));
	put_back();
	r.t.f.k.core.symbols.nr = 0;
	follow();
	put_back();
}
END_TEST

/* The guest's root may overwrite the calls. A detach must not fail forever. */
START_TEST(calls_overwritten_by_the_guest_are_left)
{
	follow();
	memset(at(CALL), 0x90, FR_SITE_BYTES);
	put_back();
	ck_assert_uint_eq(at(CALL)[0], 0x90);
	ck_assert_mem_eq(at(JUMP), jump_before, FR_SITE_BYTES);
}
END_TEST

/* The guest's kprobe has copied the call and still calls the trampoline. */
START_TEST(a_call_with_a_breakpoint_blocks_detach)
{
	struct hv_err *err;

	follow();
	at(CALL)[0] = 0xcc;
	err = hv_renames_end(&r.tracee);
	ck_assert(err && err->code == EBUSY);
	ck_assert_ptr_nonnull(strstr(
		err->message, ": the guest has its own kprobe on its call of perf_event_comm, "
			      "which hvtrace has changed; retry after it is removed"));
	hv_err_free(err);
	at(CALL)[0] = before[0];
	put_back();
	ck_assert_mem_eq(at(CALL), before, FR_SITE_BYTES);
}
END_TEST

static bool is_ours(struct hv_journal_entry e)
{
	bool ours = false;

	ck_assert_ptr_null(hv_renames_are_ours(&r.tracee, &e, &ours));
	return ours;
}

/* A journal entry as recover finds it. The guest's root can write the journal. */
START_TEST(only_consistent_journal_entries_are_used)
{
	struct hv_journal_entry good, e;

	follow();
	good = (struct hv_journal_entry){.gva = CALL,
					 .gpa = FK_GPA + (CALL - FK_BASE),
					 .kind = HV_CHANGE_RENAME,
					 .len_bytes = FR_SITE_BYTES};
	memcpy(good.old_bytes, before, FR_SITE_BYTES);
	ck_assert(is_ours(good));
	e = good;
	e.old_bytes[1]++;
	ck_assert(!is_ours(e));
	e = good;
	e.gpa += 8;
	ck_assert(!is_ours(e));
	put_back();
	ck_assert(!is_ours(good));
}
END_TEST

static void check_reason(const char *expected)
{
	HV_AUTO_TEXT struct hv_text reason = {0};

	ck_assert_ptr_null(hv_renames_look(&r.t.f.k, &reason));
	ck_assert_str_eq(reason.data ? reason.data : "", expected);
}

START_TEST(reasons_not_to_follow_are_reported_early)
{
	check_reason("");
	memset(at(CALL), 0x90, FR_SITE_BYTES);
	memset(at(JUMP), 0x90, FR_SITE_BYTES);
	check_reason("the kernel's call of perf_event_comm was not found");
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(TWO_PAGES), hv_gva(COMM), at(TWO_PAGES)));
	check_reason("its call of perf_event_comm at 0xffffffff81030ffe is in two pages");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, calls_lead_to_the_trampoline_for_a_session);
	tcase_add_test(tc, a_kernel_without_the_calls_can_be_traced);
	tcase_add_test(tc, calls_overwritten_by_the_guest_are_left);
	tcase_add_test(tc, a_call_with_a_breakpoint_blocks_detach);
	tcase_add_test(tc, only_consistent_journal_entries_are_used);
	tcase_add_test(tc, reasons_not_to_follow_are_reported_early);
}

int main(void)
{
	return run_suite("renames", add_tests);
}
