/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call through which a hibernating kernel waits for hvtrace: finding, changing and restoring
 * it. */
#include "tracer/hooks/kernel_calls.h"

#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"
#include "tracer/guest/trampolines.h"

#define PREALLOCATE (FK_BASE + 0x20000)
#define MSLEEP	    (FK_BASE + 0x21000)
#define SNAPSHOT    (FK_BASE + 0x30f80)
#define CALL	    (SNAPSHOT + 0x32)
#define TWO_PAGES   (SNAPSHOT + 0x7e) /* a call there is in two pages */
#define FREEZING    (FK_DATA + 0x800)

static const uint8_t nop[FR_SITE_BYTES] = {0x66, 0x66, 0x66, 0x66, 0x90};
static uint8_t before[FR_SITE_BYTES]; /* at CALL */

static struct fr r;
static struct traced t;

static void call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(&r.t.f, at)));
}

static void setup(void)
{
	traced_init(&t, &r, 1, nop);
	fk_symbol(&r.t.f, "hibernate_preallocate_memory", PREALLOCATE);
	fk_symbol(&r.t.f, "msleep", MSLEEP);
	fk_symbol(&r.t.f, "hibernation_snapshot", SNAPSHOT);
	fk_symbol(&r.t.f, "snapshot_somebody", SNAPSHOT + 0x100);
	fk_symbol(&r.t.f, "pm_freezing", FREEZING);
	hv_symbols_index(&r.t.f.k.core.symbols);
	call(CALL, PREALLOCATE);
	call(CALL + 0x20, MSLEEP);
	call(SNAPSHOT + 0x110, PREALLOCATE); /* the call has another caller */
	memcpy(before, fk_host(&r.t.f, CALL), FR_SITE_BYTES);
}

static void teardown(void)
{
	traced_deinit(&t);
}

static struct hv_gva target_of(uint64_t at)
{
	struct hv_gva target = {0};

	hv_arch_x86_64.classify_site(fk_host(&r.t.f, at), hv_gva(at), &target);
	return target;
}

static void redirect_hibernation(void)
{
	struct hv_err *err = hv_hibernation_begin(&r.tracee);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void put_back(void)
{
	HV_AUTO_FREE struct hv_change *plan = NULL;
	size_t nr = hv_hibernation_undo_plan(&r.tracee, &plan);

	ck_assert_uint_eq(nr, 1);
	ck_assert_ptr_null(hv_patcher_apply(r.tracee.patcher, plan, nr));
}

START_TEST(the_hibernation_call_is_redirected)
{
	redirect_hibernation();
	ck_assert_uint_eq(target_of(CALL).v, hv_trampolines_hibernation(&r.tracee).v);
	ck_assert_uint_eq(target_of(CALL + 0x20).v, MSLEEP);
	ck_assert_uint_eq(target_of(SNAPSHOT + 0x110).v, PREALLOCATE);
	ck_assert_uint_eq(hv_region_params(&r.tracee.region)->sleep_gva, MSLEEP);
	ck_assert(!hv_hibernation_waits(&r.tracee));
	hv_region_control(&r.tracee.region)->hibernates = 1;
	ck_assert(hv_hibernation_waits(&r.tracee));
	put_back();
	ck_assert_mem_eq(fk_host(&r.t.f, CALL), before, FR_SITE_BYTES);
}
END_TEST

/* After the call, the hibernation image may already exist in part. */
START_TEST(a_guest_that_has_frozen_its_tasks_is_refused)
{
	struct hv_err *err;

	*(uint8_t *)fk_host(&r.t.f, FREEZING) = 1;
	err = hv_hibernation_begin(&r.tracee);
	ck_assert(err && err->code == EAGAIN);
	ck_assert_ptr_nonnull(strstr(err->message, "the guest has frozen its tasks: it suspends, "
						   "hibernates or wakes up; try again later"));
	hv_err_free(err);
	put_back();
}
END_TEST

START_TEST(a_kernel_without_the_call_can_be_traced)
{
	HV_AUTO_FREE struct hv_change *plan = NULL;

	memset(fk_host(&r.t.f, CALL), 0x90, FR_SITE_BYTES);
	redirect_hibernation();
	ck_assert_uint_eq(hv_hibernation_undo_plan(&r.tracee, &plan), 0);
	hv_region_params(&r.tracee.region)->sleep_gva = 0;
	r.t.f.k.core.symbols.nr = 0;
	redirect_hibernation();
	ck_assert_uint_eq(hv_region_params(&r.tracee.region)->sleep_gva, 0);
}
END_TEST

/* The guest's root may overwrite the call. A detach must not fail forever. */
START_TEST(calls_overwritten_by_the_guest_are_left)
{
	HV_AUTO_FREE struct hv_change *plan = NULL;

	redirect_hibernation();
	memset(fk_host(&r.t.f, CALL), 0x90, FR_SITE_BYTES);
	ck_assert_uint_eq(hv_hibernation_undo_plan(&r.tracee, &plan), 0);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_HIBERNATION), 0);
}
END_TEST

static bool is_ours(struct hv_journal_entry e)
{
	bool ours = false;

	ck_assert_ptr_null(hv_hibernation_is_ours(&r.tracee, &e, &ours));
	return ours;
}

/* A journal entry as recover finds it. The guest's root can write the journal. */
START_TEST(only_consistent_journal_entries_are_used)
{
	struct hv_journal_entry good, e;

	redirect_hibernation();
	good = (struct hv_journal_entry){.gva = CALL,
					 .gpa = FK_GPA + (CALL - FK_BASE),
					 .kind = HV_CHANGE_HIBERNATION,
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

	ck_assert_ptr_null(hv_hibernation_look(&r.t.f.k, &reason));
	ck_assert_str_eq(reason.data ? reason.data : "", expected);
}

START_TEST(reasons_not_to_wait_are_reported_early)
{
	struct hv_arch never_waits = hv_arch_x86_64;

	never_waits.trampolines.hibernation_off = 0;
	check_reason("");
	memset(fk_host(&r.t.f, CALL), 0x90, FR_SITE_BYTES);
	check_reason("its call of hibernate_preallocate_memory was not found");
	call(TWO_PAGES, PREALLOCATE);
	check_reason(
		"its call of hibernate_preallocate_memory at 0xffffffff81030ffe is in two pages");
	r.t.f.k.core.as.arch = &never_waits;
	check_reason("hvtrace cannot make it wait");
	r.t.f.k.core.symbols.nr = 0;
	check_reason(""); /* the kernel cannot hibernate */
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_hibernation_call_is_redirected);
	tcase_add_test(tc, a_guest_that_has_frozen_its_tasks_is_refused);
	tcase_add_test(tc, a_kernel_without_the_call_can_be_traced);
	tcase_add_test(tc, calls_overwritten_by_the_guest_are_left);
	tcase_add_test(tc, only_consistent_journal_entries_are_used);
	tcase_add_test(tc, reasons_not_to_wait_are_reported_early);
}

int main(void)
{
	return run_suite("hibernation", add_tests);
}
