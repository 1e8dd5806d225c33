/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores return addresses that are in frame records and signed, as on arm64. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_records.h"

static void setup(void)
{
	set_up_with(WAY, true, declare);
}

static void teardown(void)
{
	fr_deinit(&r);
}

static void begin_anew(unsigned of_way, bool with_signatures)
{
	teardown();
	set_up_with(of_way, with_signatures, declare);
}

START_TEST(each_signing_variant_is_found)
{
	for (unsigned i = 0; i < FORMAT->nr_signings; i++) {
		begin_anew(i, true);
		make_task(ft_process(&r.t, 72, "dd", FR_SLEEP_FROM));
		check_graph(0, NULL);
		open_frame(r.task, 7);
		open_frame(r.task, 3);
		check_put_back(r.task, 2);
	}
}
END_TEST

START_TEST(addresses_without_signatures)
{
	begin_anew(0, false);
	check_graph(0, NULL);
	open_frame(r.task, 5);
	check_put_back(r.task, 1);
}
END_TEST

START_TEST(an_unknown_signing_variant_is_refused)
{
	for (unsigned nr = 0; nr < NR_RECORDS; nr++)
		fk_u64(&r.t.f, saved_at(r.task, nr),
		       word_for(r.task, nr, FR_CALLER + nr) ^ 1ull << 60);
	check_graph(EOPNOTSUPP, "the vCPUs sign return addresses in an unknown way, so hvtrace "
				"could not restore them");
	fr_frame(&r, 0, retp_of(r.task, 4), FR_CALLER + 4);
	fk_u64(&r.t.f, saved_at(r.task, 4), word_for(r.task, 4, FR_HANDLER));
	check_refused(EBUSY, "how the return address at 0x");
}
END_TEST

/* The word under the retp is the handler's address, but nothing proves how to sign a
 * replacement. */
START_TEST(a_word_that_proves_nothing_is_left_alone)
{
	open_frame(r.task, 4);
	fk_u64(&r.t.f, saved_at(r.task, 4), word_for(r.task, 5, FR_HANDLER));
	check_refused(EBUSY, "cannot tell how the return address at");
	/* A function that does not sign, in a kernel that does. */
	fk_u64(&r.t.f, saved_at(r.task, 4), FR_HANDLER);
	ck_assert_ptr_null(fr_put_back(&r));
	ck_assert_uint_eq(fr_word(&r, saved_at(r.task, 4)), FR_CALLER + 4);
}
END_TEST

START_TEST(frames_of_one_retp_lead_to_the_first)
{
	open_frame(r.task, 4);
	fr_frame(&r, 0, retp_of(r.task, 4), FR_HANDLER);
	check_put_back(r.task, 1);
}
END_TEST

/* A call that has returned: the record below its retp belongs to another call. */
START_TEST(a_frame_that_is_left_over)
{
	fr_frame(&r, 0, retp_of(r.task, 6), FR_CALLER);
	fr_frame(&r, 0, retp_of(r.task, 2) - 16, FR_CALLER);
	check_put_back(r.task, 0);
}
END_TEST

START_TEST(a_record_without_a_frame_is_refused)
{
	set_record(r.task, 4, FR_HANDLER);
	check_refused(EBUSY, "task 71 (cat) may return into a trampoline");
}
END_TEST

START_TEST(the_guest_s_own_trampoline_is_waited_for)
{
	fr_frame(&r, 0, retp_of(r.task, 4), FR_CALLER + 4);
	set_record(r.task, 4, FT_TRAMPOLINE);
	check_refused(EBUSY, "which may lead to a trampoline");
}
END_TEST

static uint64_t run_task(void)
{
	uint64_t task = ft_process(&r.t, 80, "runs", 0x100);

	make_task(task);
	fk_u64(&r.t.f, task + FT_FP, 0);
	ft_current(&r.t, 0, task);
	r.regs[0].ip = hv_gva(FK_BASE + 0x50);
	r.regs[0].sp = hv_gva(ft_stack(&r.t, task) + FR_SLEEP_FROM);
	r.regs[0].general[29] = saved_at(task, 0) - 8;
	return task;
}

START_TEST(a_vcpu_in_the_kernel)
{
	uint64_t task = run_task();

	open_frame(task, 3);
	check_put_back(task, 1);
	r.regs[0].general[30] = FORMAT->sign(WAY, FR_HANDLER, 0x1234560, key);
	check_refused(0 * (r.nr_writes = 0) + EBUSY, "vCPU 0 is in a trampoline");
	r.regs[0].general[30] = FR_CALLER;
	fk_u64(&r.t.f, retp_of(task, 0) + 16, word_for(task, 0, FR_HANDLER)); /* in no record */
	check_refused(EBUSY, "task 80 (runs) may return into a trampoline");
}
END_TEST

/* Registers of a process in user mode are never return addresses of the kernel. */
START_TEST(a_vcpu_in_user_mode)
{
	r.regs[0].general[30] = FR_HANDLER;
	open_frame(r.task, 3);
	check_put_back(r.task, 1);
}
END_TEST

/* Frames on the interrupt stack lead to the task's frames, and the task's key signs both. */
START_TEST(a_vcpu_on_its_interrupt_stack)
{
	uint64_t task = run_task(), irq = r.t.irq_stacks[0] + 0x2000;
	const uint64_t address = FR_HANDLER, retp = irq + 0x100;

	fk_u64(&r.t.f, irq, saved_at(task, 0) - 8);
	fk_u64(&r.t.f, irq + 8, FORMAT->sign(WAY, address, retp, key));
	r.regs[0].sp = hv_gva(irq);
	r.regs[0].general[29] = irq;
	fr_frame(&r, 1, retp, FR_CALLER);
	open_frame(task, 3);
	check_put_back(task, 2);
	ck_assert_uint_eq(fr_word(&r, irq + 8), FORMAT->sign(WAY, FR_CALLER, retp, key));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_signing_variant_is_found);
	tcase_add_test(tc, addresses_without_signatures);
	tcase_add_test(tc, an_unknown_signing_variant_is_refused);
	tcase_add_test(tc, a_word_that_proves_nothing_is_left_alone);
	tcase_add_test(tc, frames_of_one_retp_lead_to_the_first);
	tcase_add_test(tc, a_frame_that_is_left_over);
	tcase_add_test(tc, a_record_without_a_frame_is_refused);
	tcase_add_test(tc, the_guest_s_own_trampoline_is_waited_for);
	tcase_add_test(tc, a_vcpu_in_the_kernel);
	tcase_add_test(tc, a_vcpu_in_user_mode);
	tcase_add_test(tc, a_vcpu_on_its_interrupt_stack);
}

int main(void)
{
	return run_suite("signed_returns", add_tests);
}
