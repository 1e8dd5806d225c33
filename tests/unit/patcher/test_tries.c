/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holds that time out before they are done: the writes that the patcher tries again, the sizes of
 * the batches, and the writes that it undoes. */
#include <fnmatch.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/patcher/patched_machine.h"

START_TEST(a_hold_that_times_out_is_undone)
{
	struct hv_change changes[] = {patch(0), patch(1)};
	struct hv_err *err;

	hv_patcher_set_patience(patcher, 0);
	machine.hold_times_out = 1;
	err = hv_patcher_apply(patcher, changes, 2);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ETIMEDOUT);
	ck_assert_msg(!fnmatch("*nothing was changed: tried 1 time in ?.? s: the hold had ended",
			       err->message, 0),
		      "%s", err->message);
	hv_err_free(err);
	ck_assert_mem_eq(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_mem_eq(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

/* The host is too slow for the number of changes that the first hold had. */
START_TEST(an_undo_that_times_out_uses_smaller_batches)
{
	struct hv_change changes[200];
	struct hv_err *err;

	for (unsigned i = 0; i < 200; i++)
		changes[i] = patch(i);
	hv_patcher_set_patience(patcher, 0);
	machine.hold_writes_max = 64;
	err = hv_patcher_apply(patcher, changes, 200);
	ck_assert(err && err->code == ETIMEDOUT);
	ck_assert_msg(strstr(err->message, "nothing was changed") != NULL, "%s", err->message);
	ck_assert_uint_eq(err->facts & HV_ERR_NEEDS_RECOVERY, 0);
	hv_err_free(err);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_mem_eq(machine.mem + TEXT_GPA + 16 * i, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

/* The host is busy for a while. Writes made before the timeout stay. */
START_TEST(changes_of_a_timed_out_hold_are_retried)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	machine.hold_times_out = 3;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_uint_eq(machine.nr_holds, 4);
	ck_assert_mem_ne(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_mem_ne(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
}
END_TEST

START_TEST(refused_changes_stay_refused_in_a_retry)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	changes[1].refused = 1;
	machine.hold_times_out = 1;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_mem_ne(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_mem_eq(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

/* Called before each try; the second one finds the breakpoint. */
static bool set_breakpoint(void *ctx)
{
	unsigned *nr_asked = ctx;

	if (++*nr_asked == 2)
		machine.mem[TEXT_GPA] = 0xcc;
	return false;
}

/* The guest may have saved hvtrace's bytes, and restore them when its breakpoint is removed. */
START_TEST(guest_changes_between_retries_are_reported)
{
	struct hv_change changes[] = {patch(0), patch(1)};
	unsigned nr_asked = 0;
	struct hv_err *err;

	hv_patcher_set_stops(patcher, set_breakpoint, &nr_asked);
	machine.hold_times_out = 1;
	err = hv_patcher_apply(patcher, changes, 2);
	ck_assert(err && err->code == EBUSY);
	ck_assert_msg(
		strstr(err->message, "the guest overwrote a change whose pause had timed out"),
		"%s", err->message);
	hv_err_free(err);
	ck_assert_uint_eq(machine.mem[TEXT_GPA], 0xcc);
	ck_assert_mem_eq(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

/* 200 and 100 changes are too many for a hold, 64 are not. */
START_TEST(a_retry_uses_smaller_batches)
{
	struct hv_change changes[200];

	for (unsigned i = 0; i < 200; i++)
		changes[i] = patch(i);
	machine.hold_writes_max = 64;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 200));
	for (unsigned i = 0; i < 200; i++)
		ck_assert_mem_ne(machine.mem + TEXT_GPA + 16 * i, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 200);
}
END_TEST

/* All batches are undone: those written, those that a hold may have written, and those only
 * recorded. */
START_TEST(failed_retries_are_undone)
{
	struct hv_change changes[200];
	struct hv_err *err;

	for (unsigned i = 0; i < 200; i++)
		changes[i] = patch(i);
	machine.hold_writes_max = 64;
	machine.fail_after = 200 + 100 + 64 + 10; /* in the second batch of 64 */
	err = hv_patcher_apply(patcher, changes, 200);
	ck_assert(err && err->code == EIO);
	ck_assert_uint_eq(err->facts & HV_ERR_NEEDS_RECOVERY, 0);
	hv_err_free(err);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_mem_eq(machine.mem + TEXT_GPA + 16 * i, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_hold_that_times_out_is_undone);
	tcase_add_test(tc, an_undo_that_times_out_uses_smaller_batches);
	tcase_add_test(tc, changes_of_a_timed_out_hold_are_retried);
	tcase_add_test(tc, refused_changes_stay_refused_in_a_retry);
	tcase_add_test(tc, guest_changes_between_retries_are_reported);
	tcase_add_test(tc, a_retry_uses_smaller_batches);
	tcase_add_test(tc, failed_retries_are_undone);
}

int main(void)
{
	return run_suite("tries", add_tests);
}
