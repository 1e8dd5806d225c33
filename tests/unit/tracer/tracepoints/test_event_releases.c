/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's ways to free callback arrays. Its tracer's calls lead to hvtrace's trampolines until
 * no task is or sleeps in a callback. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/tracepoints/event_guest.h"

/* Returns an address that hvtrace's callbacks keep in a register or on the stack. */
static uint64_t a_draft(void)
{
	return FR_RANGE + r.tracee.plan.drafts_off - HV_REGION_TRAMPOLINES_OFF + 64;
}

static void ends_without_sleepers(void)
{
	struct hv_err *err;

	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, a_draft());
	err = restore("1 event");
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, 0);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}

START_TEST(unknown_functions_free_callbacks)
{
	memset(fk_host(f, calls[1]), 0x90, 5);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	set("were not found");
	is_as_before();
}
END_TEST

static void refused(const char *message)
{
	struct hv_event_want want = {.type = &tp.type};

	expect_error(hv_event_tracer_set(e, &want, 1), EBUSY, message);
	hv_event_wants_deinit(&want, 1);
	is_as_before();
}

START_TEST(calls_that_the_guest_changes_or_executes)
{
	ck_assert_ptr_null(hv_event_tracer_check(e, &tp.type));
	put_call(calls[0], FTP_OTHER);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	refused("the guest has changed the call at 0xffffffff81062020, which frees callbacks of"
		" tracepoints");
	put_call(calls[0], RELEASE);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	r.regs[1].ip = hv_gva(calls[0] + 1);
	refused("the call at 0xffffffff81062020 is in use");
	r.regs[1].ip = hv_gva(0x401000);
	set(NULL);
	*(uint8_t *)fk_host(f, calls[2]) = 0xcc;
	expect_error(restore("1 event"), EBUSY,
		     "0xffffffff81051020: the guest has its own breakpoint or probe on a call that"
		     " records events");
	*(uint8_t *)fk_host(f, calls[2]) = 0xe8;
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

START_TEST(the_calls_stay_while_a_callback_may_need_them)
{
	struct hv_err *err;

	set(NULL);
	r.regs[1].general[5] = a_draft();
	err = restore("1 event");
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ck_assert_uint_eq(funcs(), 0);
	ck_assert(!hv_event_tracer_is_on(e, &tp.type));
	ck_assert(leads_to_us(calls[2]));
	usleep(250000);
	hv_event_tracer_tend(e);
	ck_assert(leads_to_us(calls[2]));
	r.regs[1].general[5] = 0;
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, a_draft()); /* left over */
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* A vCPU is in one of the calls, and the others are put back. The next event that is enabled uses
 * all of them again. */
START_TEST(some_calls_were_restored)
{
	unsigned inside = (unsigned)_i;

	set(NULL);
	set_none();
	r.regs[1].ip = hv_gva(calls[inside] + 1);
	usleep(250000);
	hv_event_tracer_tend(e);
	for (unsigned i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]) == (i == inside));
	r.regs[1].ip = hv_gva(0x401000);
	set(NULL);
	for (unsigned i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]));
	set_none();
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* Since 7.0, callbacks are called under SRCU. */
START_TEST(a_task_may_sleep_in_a_callback)
{
	put_call(calls[0], SLEEPING_RELEASE);
	put_call(calls[1], SLEEPING_RELEASE);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	set(NULL);
	ends_without_sleepers();
}
END_TEST

/* If the kernel also frees their arrays by an unknown call, the event is refused. */
START_TEST(a_tracepoint_whose_callbacks_may_sleep)
{
	struct hv_event_type type = tp.type;

	type.tracepoint.faultable = true;
	set_type(&type, NULL);
	ck_assert_ptr_null(restore("1 event"));
	hv_event_tracer_free(e);
	e = hv_event_tracer_new(&r.tracee);
	put_call(ADD + 0x40, SLEEPING_TRACE);
	set_type(&type, "hvtrace does not know how this kernel frees its callbacks");
	set(NULL);
	ck_assert_ptr_null(restore("1 event"));
}
END_TEST

/* Kernels 6.13 to 6.19 free arrays in two ways, each with a separate trampoline. A task may sleep
 * in such a callback, even if another process takes over. */
START_TEST(arrays_where_callbacks_may_sleep_are_freed_by_another_function)
{
	static const uint64_t others[] = {ADD + 0x40, REMOVE + 0x40};
	uint64_t trampoline = FR_RANGE + HV_TRAMPOLINES_CODE_OFF +
			      hv_arch_x86_64.trampolines.event_release_other_off;
	struct hv_event_type type = tp.type;

	type.tracepoint.faultable = true;
	for (size_t i = 0; i < HV_ARRAY_LEN(others); i++)
		put_call(others[i], SLEEPING_TRACE);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	set_type(&type, NULL);
	ck_assert_uint_eq(r.tracee.event_symbols.release.v, RELEASE);
	ck_assert_uint_eq(r.tracee.event_symbols.release_other.v, SLEEPING_TRACE);
	for (size_t i = 0; i < HV_ARRAY_LEN(others); i++) {
		struct hv_gva target = {0};

		ck_assert_int_eq(hv_arch_x86_64.classify_site(fk_host(f, others[i]),
							      hv_gva(others[i]), &target),
				 HV_SITE_CALL);
		ck_assert_uint_eq(target.v, trampoline);
		ck_assert(leads_to_us(calls[i]));
	}
	if (_i)
		take_over();
	ends_without_sleepers();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, unknown_functions_free_callbacks);
	tcase_add_test(tc, calls_that_the_guest_changes_or_executes);
	tcase_add_test(tc, the_calls_stay_while_a_callback_may_need_them);
	tcase_add_loop_test(tc, some_calls_were_restored, 0, 4);
	tcase_add_test(tc, a_task_may_sleep_in_a_callback);
	tcase_add_test(tc, a_tracepoint_whose_callbacks_may_sleep);
	tcase_add_loop_test(tc, arrays_where_callbacks_may_sleep_are_freed_by_another_function, 0,
			    2);
}

int main(void)
{
	return run_suite("event_releases", add_tests);
}
