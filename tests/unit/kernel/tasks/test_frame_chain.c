/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a fake kernel whose frame pointers point to the ends of frames, as on riscv64. Its page
 * tables are x86-64's, which makes no difference for this code. */
#include <check.h>

#include "kernel/tasks/return_addresses.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/stack_scan.h"

#define WANTED	   0xffffffff90000000ull
#define ELSEWHERE  (FK_BASE + 0x80)
#define EXCEPTIONS (FK_BASE + 0x700)
#define USER_IP	   0x401000ull
#define SLEEP_FROM 0x3000ull
/* Offsets in struct pt_regs. */
#define EPC	   0u
#define RA	   8u
#define T0	   40u
#define S0	   64u
#define LAST	   (FT_STACK - FT_REGS_BYTES)
#define FIRST	   (SLEEP_FROM + 0x100) /* frame pointers */
#define SECOND	   (SLEEP_FROM + 0x200)
#define OUTER	   (SLEEP_FROM + 0x600) /* of the interrupted function */

static struct ft t;
static struct hv_arch arch;
static struct hv_vcpu_regs regs[2];
static char *where;
static uint64_t task;
static struct hv_scan_for wanted;

static void declare(struct fk *f)
{
	fk_symbol(f, "handle_exception", EXCEPTIONS);
	fk_symbol(f, "ret_from_exception_end", EXCEPTIONS + 0x80);
}

/* Writes the record of the frame that ends at FP. */
static void record(uint64_t fp, uint64_t next, uint64_t word)
{
	ft_push(&t, task, fp - 16, ft_stack(&t, task) + next);
	ft_push(&t, task, fp - 8, word);
}

static void set_fp(uint64_t fp)
{
	fk_u64(&t.f, task + FT_FP, fp);
}

static void setup(void)
{
	ft_init_with(&t, declare);
	arch = hv_arch_x86_64;
	arch.name = hv_arch_riscv64.name;
	arch.frame_register = hv_arch_riscv64.frame_register;
	t.f.k.core.as.arch = &arch;
	for (unsigned i = 0; i < 2; i++)
		regs[i] = (struct hv_vcpu_regs){
			.ip = hv_gva(USER_IP), .root = t.f.k.core.as.root.v, .levels = 4};
	wanted = (struct hv_scan_for){.range = {hv_gva(WANTED), hv_gva(WANTED + 0x1000)},
				      .how = HV_SCAN_INTERRUPTED};
	where = NULL;
	task = ft_process(&t, 71, "cat", SLEEP_FROM);
	set_fp(ft_stack(&t, task) + FIRST);
	record(FIRST, SECOND, ELSEWHERE);
	record(SECOND, LAST, ELSEWHERE);
	/* left over: in no record */
	ft_push(&t, task, SLEEP_FROM + 0x40, WANTED);
}

static void teardown(void)
{
	free(where);
	ft_deinit(&t);
}

static size_t scan(void)
{
	return stack_scan(&t, &wanted, regs, &where);
}

START_TEST(frames_lead_to_the_end)
{
	ck_assert_uint_eq(scan(), 0);
	record(SECOND, LAST, WANTED + 8);
	ck_assert_uint_gt(scan(), 0);
	ck_assert_str_eq(where, "task 71 (cat)");
}
END_TEST

/* An exception interrupted the function whose frame ends at OUTER. Its registers are after
 * SECOND. */
static void interrupt(void)
{
	record(SECOND, OUTER + 8, EXCEPTIONS + 0x10); /* not used: the saved registers are */
	ft_push(&t, task, SECOND + EPC, ELSEWHERE);
	ft_push(&t, task, SECOND + RA, ELSEWHERE);
	ft_push(&t, task, SECOND + T0, 0);
	ft_push(&t, task, SECOND + S0, ft_stack(&t, task) + OUTER);
	record(OUTER, LAST, ELSEWHERE);
}

START_TEST(what_was_interrupted)
{
	static const unsigned members[] = {EPC, RA, T0};

	interrupt();
	ck_assert_uint_eq(scan(), 0);
	for (size_t i = 0; i < HV_ARRAY_LEN(members); i++) {
		ft_push(&t, task, SECOND + members[i], WANTED + 8);
		ck_assert_uint_gt(scan(), 0);
		ft_push(&t, task, SECOND + members[i], ELSEWHERE);
	}
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

/* If the frames cannot be followed, a matching word counts anywhere on the stack. */
START_TEST(frames_that_lead_nowhere)
{
	record(FIRST, FIRST, ELSEWHERE);
	ck_assert_uint_eq(scan(), 1);
	record(FIRST, FIRST + 1, ELSEWHERE);
	ck_assert_uint_eq(scan(), 1);
	record(FIRST, FT_STACK + 0x100, ELSEWHERE);
	ck_assert_uint_eq(scan(), 1);
	record(FIRST, SECOND, ELSEWHERE);
	set_fp(0);
	ck_assert_uint_eq(scan(), 1);
	set_fp(ft_stack(&t, task) + FIRST);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

/* While a vCPU enters the kernel, its sp belongs to no stack for some instructions. */
START_TEST(exceptions_hide_what_they_interrupt)
{
	regs[1].ip = hv_gva(EXCEPTIONS + 0x20);
	regs[1].sp = hv_gva(1);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "vCPU 1, which enters or leaves the kernel,");
	regs[1].ip = hv_gva(EXCEPTIONS + 0x80);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

START_TEST(unknown_exception_registers)
{
	struct hv_frame_records records = {0};
	struct hv_tasks tasks = {0};

	begin();
	FK_STRUCT("task_struct", FT_TASK_BYTES,
		  {"thread", FT_SP, 0, FK_STRUCT("thread_struct", 64, {"s", 32, 8})});
	fk_use_types(&t.f);
	expect_error(hv_records_read(&t.f.k, &tasks, regs, 2, &records), ENOENT,
		     "frame records: cannot find the registers that exceptions save");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, frames_lead_to_the_end);
	tcase_add_test(tc, what_was_interrupted);
	tcase_add_test(tc, frames_that_lead_nowhere);
	tcase_add_test(tc, exceptions_hide_what_they_interrupt);
	tcase_add_test(tc, unknown_exception_registers);
}

int main(void)
{
	return run_suite("frame_chain", add_tests);
}
