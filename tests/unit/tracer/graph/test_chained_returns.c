/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores return addresses in records below the frame pointers, as on riscv64, where exceptions
 * make no records. The page tables of the fake kernel are x86-64's, which makes no difference for
 * this code. test_signed_returns.c covers records at the frame pointers. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"

#define NR_FRAMES   12u
#define SPACING	    0x40u
#define EXCEPTIONS  (FK_BASE + 0x900)
#define LAST	    (FT_STACK - FT_REGS_BYTES) /* end of a stack: the registers of kernel entry */
/* Offsets in struct pt_regs. */
#define RA	    8u
#define S0	    64u
/* Registers of a vCPU */
#define X_RA	    1
#define X_FP	    8
/* The function that an exception interrupted: its registers follow this frame. */
#define INTERRUPTED 5u
#define OUTER	    0x6000u

static struct fr r;
static struct hv_arch arch;

/* Returns the frame pointer of function NR, which equals its stack pointer at entry. */
static uint64_t fp_of(uint64_t task, unsigned nr)
{
	return ft_stack(&r.t, task) + FR_SLEEP_FROM + SPACING * (nr + 1);
}

static uint64_t saved_at(uint64_t task, unsigned nr)
{
	return fp_of(task, nr) - 8;
}

static void set_record(uint64_t fp, uint64_t next, uint64_t address)
{
	fk_u64(&r.t.f, fp - 16, next);
	fk_u64(&r.t.f, fp - 8, address);
}

static void make_task(uint64_t task)
{
	for (unsigned nr = 0; nr < NR_FRAMES; nr++)
		set_record(fp_of(task, nr),
			   nr + 1 == NR_FRAMES ? ft_stack(&r.t, task) + LAST : fp_of(task, nr + 1),
			   FR_CALLER + nr);
	fk_u64(&r.t.f, task + FT_FP, fp_of(task, 0));
}

static void declare(struct fk *f)
{
	fk_symbol(f, "handle_exception", EXCEPTIONS);
	fk_symbol(f, "ret_from_exception_end", EXCEPTIONS + 0x80);
}

static void set_up_with(void (*declare_all)(struct fk *f))
{
	fr_init_with(&r, declare_all);
	arch = hv_arch_x86_64;
	arch.name = hv_arch_riscv64.name;
	arch.frame_register = hv_arch_riscv64.frame_register;
	arch.link_register = hv_arch_riscv64.link_register;
	r.t.f.k.core.as.arch = &arch;
	make_task(r.task);
}

static void setup(void)
{
	set_up_with(declare);
}

static void teardown(void)
{
	fr_deinit(&r);
}

/* Adds a frame as the trampoline leaves it. */
static void open_frame(uint64_t task, unsigned nr)
{
	fr_frame(&r, 0, fp_of(task, nr), FR_CALLER + nr);
	fk_u64(&r.t.f, saved_at(task, nr), FR_HANDLER);
}

static void put_back(unsigned nr_writes)
{
	struct hv_err *err;

	r.nr_writes = 0;
	err = fr_put_back(&r);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(r.nr_writes, nr_writes);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), 0);
}

static void check_put_back(uint64_t task, unsigned nr_writes)
{
	put_back(nr_writes);
	for (unsigned i = 0; i < NR_FRAMES; i++)
		ck_assert_uint_eq(fr_word(&r, saved_at(task, i)), FR_CALLER + i);
}

static void check_refused(const char *why)
{
	size_t nr = hv_returns_open(&r.tracee);

	r.nr_writes = 0;
	expect_error(fr_put_back(&r), EBUSY, why);
	ck_assert_uint_eq(r.nr_writes, 0);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), nr);
}

START_TEST(a_task_that_sleeps)
{
	ck_assert_ptr_null(hv_returns_check(&r.tracee));
	open_frame(r.task, 7);
	open_frame(r.task, 3);
	check_put_back(r.task, 2);
}
END_TEST

START_TEST(frames_of_one_retp_lead_to_the_first)
{
	open_frame(r.task, 4);
	fr_frame(&r, 0, fp_of(r.task, 4), FR_HANDLER);
	check_put_back(r.task, 1);
}
END_TEST

START_TEST(a_record_without_a_frame_is_refused)
{
	fk_u64(&r.t.f, saved_at(r.task, 4), FR_HANDLER);
	check_refused("task 71 (cat) may return into a trampoline");
}
END_TEST

/* A leftover address that is in no record is not a return address. */
START_TEST(an_address_outside_all_records)
{
	fk_u64(&r.t.f, fp_of(r.task, 4) + 8, FR_HANDLER);
	check_put_back(r.task, 0);
	open_frame(r.task, 6);
	check_put_back(r.task, 1);
}
END_TEST

/* The function whose frame ends at OUTER was interrupted, and the exception handler was switched
 * out. */
static void interrupt(void)
{
	uint64_t stack = ft_stack(&r.t, r.task), regs = fp_of(r.task, INTERRUPTED);

	set_record(regs, 0x1234, EXCEPTIONS + 0x10); /* the pointer is not used */
	fk_u64(&r.t.f, regs + RA, FR_CALLER);
	fk_u64(&r.t.f, regs + S0, stack + OUTER);
	set_record(stack + OUTER, stack + LAST, FR_CALLER);
}

START_TEST(around_an_exception)
{
	uint64_t outer = ft_stack(&r.t, r.task) + OUTER;

	interrupt();
	open_frame(r.task, 2);
	fr_frame(&r, 0, outer, FR_CALLER + 0x20);
	fk_u64(&r.t.f, outer - 8, FR_HANDLER);
	put_back(2);
	ck_assert_uint_eq(fr_word(&r, saved_at(r.task, 2)), FR_CALLER + 2);
	ck_assert_uint_eq(fr_word(&r, outer - 8), FR_CALLER + 0x20);
}
END_TEST

/* The interrupted function has not saved its return address yet, or has already loaded it. */
START_TEST(an_exception_has_the_address_in_a_register)
{
	interrupt();
	fk_u64(&r.t.f, fp_of(r.task, INTERRUPTED) + RA, FR_HANDLER);
	check_refused("task 71 (cat) may return into a trampoline");
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
	r.regs[0].general[X_FP] = fp_of(task, 0);
	return task;
}

START_TEST(a_vcpu_in_the_kernel)
{
	uint64_t task = run_task();

	open_frame(task, 3);
	check_put_back(task, 1);
	r.regs[0].general[X_RA] = FR_HANDLER;
	check_refused("vCPU 0 is in a trampoline");
	r.regs[0].general[X_RA] = FR_CALLER;
	fk_u64(&r.t.f, fp_of(task, 0) + 16, FR_HANDLER); /* in no record */
	check_refused("task 80 (runs) may return into a trampoline");
}
END_TEST

/* Frames on the interrupt stack lead to the task's frames. */
START_TEST(a_vcpu_on_its_interrupt_stack)
{
	uint64_t task = run_task(), irq = r.t.irq_stacks[0] + 0x2000;

	set_record(irq, fp_of(task, 0), FR_HANDLER);
	r.regs[0].sp = hv_gva(irq - 0x20);
	r.regs[0].general[X_FP] = irq;
	fr_frame(&r, 1, irq, FR_CALLER);
	open_frame(task, 3);
	check_put_back(task, 2);
	ck_assert_uint_eq(fr_word(&r, irq - 8), FR_CALLER);
}
END_TEST

static void declare_shadow_stack(struct fk *f)
{
	uint32_t info = FK_STRUCT("thread_info", 16, {"scs_base", 8, 8});

	declare(f);
	FK_STRUCT("task_struct", 64, {"thread_info", 0, 0, info});
}

START_TEST(shadow_stacks_are_refused)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	teardown();
	set_up_with(declare_shadow_stack);
	err = hv_returns_check(&r.tracee);
	ck_assert(err && err->code == EOPNOTSUPP && strstr(err->message, "shadow call stacks"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_task_that_sleeps);
	tcase_add_test(tc, frames_of_one_retp_lead_to_the_first);
	tcase_add_test(tc, a_record_without_a_frame_is_refused);
	tcase_add_test(tc, an_address_outside_all_records);
	tcase_add_test(tc, around_an_exception);
	tcase_add_test(tc, an_exception_has_the_address_in_a_register);
	tcase_add_test(tc, a_vcpu_in_the_kernel);
	tcase_add_test(tc, a_vcpu_on_its_interrupt_stack);
	tcase_add_test(tc, shadow_stacks_are_refused);
}

int main(void)
{
	return run_suite("chained_returns", add_tests);
}
