/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a fake kernel in which all functions keep frame records, as on arm64. Its page tables
 * are x86-64's, which makes no difference for this code. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/stack_scan.h"

#define WANTED	     0xffffffff90000000ull
#define ELSEWHERE    (FK_BASE + 0x80)
#define USER_IP	     0x401000ull
#define KERNEL_IP    (FK_BASE + 0x50)
#define ENTRY	     (FK_BASE + 0x700)
#define SLEEP_FROM   0x3000ull
#define FP	     29
#define LINK	     30
#define WFI	     0xd503207fu
/* Changes a kernel address as pointer authentication does. */
#define SIGNED(word) (((word) & ~0xff70000000000000ull) | 0x3a50000000000000ull | 1ull << 55)

static struct ft t;
static struct hv_arch arch;
static struct hv_vcpu_regs regs[2];
static char *where;
static uint64_t task;

static struct hv_scan_for wanted;

static void declare(struct fk *f)
{
	fk_symbol(f, "__entry_text_start", ENTRY);
	fk_symbol(f, "__entry_text_end", ENTRY + 0x80);
}

static void record(uint64_t at, uint64_t next, uint64_t word)
{
	ft_push(&t, task, at, next ? ft_stack(&t, task) + next : 0);
	ft_push(&t, task, at + 8, word);
}

static void setup(void)
{
	ft_init_with(&t, declare);
	arch = hv_arch_x86_64;
	arch.name = hv_arch_arm64.name;
	arch.strip_signature = hv_arch_arm64.formats[0]->strip_signature;
	arch.link_register = hv_arch_arm64.link_register;
	arch.frame_register = hv_arch_arm64.frame_register;
	t.f.k.core.as.arch = &arch;
	for (unsigned i = 0; i < 2; i++)
		regs[i] = (struct hv_vcpu_regs){
			.ip = hv_gva(USER_IP), .root = t.f.k.core.as.root.v, .levels = 4};
	wanted = (struct hv_scan_for){.range = {hv_gva(WANTED), hv_gva(WANTED + 0x1000)},
				      .how = HV_SCAN_INTERRUPTED};
	where = NULL;
	task = ft_process(&t, 71, "cat", SLEEP_FROM);
	fk_u64(&t.f, task + FT_FP, ft_stack(&t, task) + SLEEP_FROM);
	record(SLEEP_FROM, SLEEP_FROM + 0x100, ELSEWHERE);
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x200, SIGNED(ELSEWHERE));
	record(SLEEP_FROM + 0x200, FT_LAST_RECORD, ELSEWHERE);
	record(FT_LAST_RECORD, 0, 0);
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

START_TEST(records_lead_to_the_end)
{
	ck_assert_uint_eq(scan(), 0);
	wanted.how = HV_SCAN_CALLS;
	ck_assert_uint_eq(scan(), 1);
}
END_TEST

/* An exception makes a record with the interrupted address. */
START_TEST(a_record_of_what_was_interrupted)
{
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x200, WANTED + 8);
	ck_assert_uint_gt(scan(), 0);
	ck_assert_str_eq(where, "task 71 (cat)");
}
END_TEST

/* The searched range may have two parts. */
START_TEST(a_record_in_the_second_range)
{
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x200, WANTED + 0x8000);
	ck_assert_uint_eq(scan(), 0);
	wanted.also = (struct hv_gva_range){hv_gva(WANTED + 0x8000), hv_gva(WANTED + 0x8004)};
	ck_assert_uint_gt(scan(), 0);
	ck_assert_str_eq(where, "task 71 (cat)");
}
END_TEST

/* The interrupted function had not saved its return address yet. */
START_TEST(a_register_of_what_was_interrupted)
{
	const uint64_t saved = SLEEP_FROM + 0x100 - FT_REGS_RECORD;

	record(SLEEP_FROM, SLEEP_FROM + 0x100, ELSEWHERE);
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x200, KERNEL_IP);
	ft_push(&t, task, saved + FT_REGS_PC, KERNEL_IP);
	ft_push(&t, task, saved + 30 * 8, SIGNED(WANTED + 8));
	ft_push(&t, task, SLEEP_FROM + 0x20, WANTED);
	fk_u64(&t.f, task + FT_FP, ft_stack(&t, task) + SLEEP_FROM + 0x100);
	fk_u64(&t.f, task + FT_CONTEXT_SP, ft_stack(&t, task) + SLEEP_FROM - 0x80);
	ck_assert_uint_gt(scan(), 0);
	ft_push(&t, task, saved + FT_REGS_PC, KERNEL_IP + 4); /* no exception */
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

START_TEST(a_signed_return_address)
{
	ft_push(&t, task, SLEEP_FROM + 0x40, 0);
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x200, SIGNED(WANTED + 8));
	ck_assert_uint_eq(scan(), 1);
	wanted.how = HV_SCAN_CALLS;
	ck_assert_uint_eq(scan(), 1);
}
END_TEST

static bool caller_is(void *ctx, struct hv_gva at, struct hv_gva *ret)
{
	*ret = hv_gva(ELSEWHERE);
	return at.v == *(uint64_t *)ctx;
}

START_TEST(a_replaced_return_address)
{
	uint64_t retp = ft_stack(&t, task) + SLEEP_FROM + 0x108;

	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x200, WANTED + 8);
	wanted.find_caller = caller_is;
	wanted.ctx = &retp;
	ck_assert_uint_eq(scan(), 0);
	retp += 8;
	ck_assert_uint_gt(scan(), 0);
}
END_TEST

START_TEST(records_with_invalid_links)
{
	record(SLEEP_FROM + 0x100, 0, 0); /* not at the last record */
	ck_assert_uint_eq(scan(), 1);
	record(SLEEP_FROM + 0x80, FT_LAST_RECORD, ELSEWHERE);
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x80, ELSEWHERE); /* leads back */
	ck_assert_uint_eq(scan(), 1);
	record(SLEEP_FROM + 0x100, FT_STACK + 0x100, ELSEWHERE); /* leads out */
	ck_assert_uint_eq(scan(), 1);
	record(SLEEP_FROM + 0x100, SLEEP_FROM + 0x204, ELSEWHERE); /* not aligned */
	ck_assert_uint_eq(scan(), 1);
	record(SLEEP_FROM + 0x100, FT_LAST_RECORD, ELSEWHERE);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

START_TEST(entry_code_hides_what_it_interrupts)
{
	uint64_t running = ft_process(&t, 80, "runs", SLEEP_FROM);

	ft_current(&t, 0, running);
	regs[0].ip = hv_gva(KERNEL_IP);
	regs[0].sp = hv_gva(ft_stack(&t, running) + SLEEP_FROM);
	ck_assert_uint_eq(scan(), 0);
	regs[0].ip = hv_gva(ENTRY + 0x10);
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "vCPU 0, which enters or leaves the kernel,");
	regs[0].ip = hv_gva(ENTRY + 0x80);
	ck_assert_uint_eq(scan(), 0);
}
END_TEST

/* The word of the interrupt stack that links it to the previous stack is not written yet. */
START_TEST(a_link_in_a_register)
{
	uint64_t running = ft_process(&t, 80, "runs", SLEEP_FROM);

	ft_current(&t, 0, running);
	ft_push(&t, running, SLEEP_FROM + 0x20, WANTED);
	regs[0].ip = hv_gva(KERNEL_IP);
	regs[0].sp = hv_gva(t.irq_stacks[0] + FT_IRQ);
	ck_assert_uint_eq(scan(), 0);
	regs[0].general[FP] = ft_stack(&t, running) + SLEEP_FROM;
	ck_assert_uint_eq(scan(), 1);
	ck_assert_str_eq(where, "task 80 (runs)");
}
END_TEST

/* While a task's vCPU waits for an interrupt, only the task's frames count. */
START_TEST(a_vcpu_that_waits)
{
	task = ft_process(&t, 0, "swapper/0", SLEEP_FROM);
	record(SLEEP_FROM, SLEEP_FROM + 0x200, ELSEWHERE);
	record(SLEEP_FROM + 0x200, FT_LAST_RECORD, ELSEWHERE);
	record(FT_LAST_RECORD, 0, 0);
	ft_push(&t, task, SLEEP_FROM + 0x40, WANTED);
	ft_current(&t, 0, task);
	regs[0].ip = hv_gva(KERNEL_IP);
	regs[0].sp = hv_gva(ft_stack(&t, task) + SLEEP_FROM);
	regs[0].general[FP] = ft_stack(&t, task) + SLEEP_FROM;
	ck_assert_uint_eq(scan(), 1);
	fk_u32(&t.f, KERNEL_IP - 4, WFI);
	ck_assert_uint_eq(scan(), 0);
	wanted.how = HV_SCAN_RUNNING;
	ck_assert_uint_eq(scan(), 1);
	wanted.how = HV_SCAN_INTERRUPTED;
	regs[0].general[LINK] = SIGNED(WANTED + 8);
	ck_assert_uint_eq(scan(), 1);
	regs[0].general[LINK] = ELSEWHERE;
	record(SLEEP_FROM, SLEEP_FROM + 0x204, ELSEWHERE); /* not aligned */
	ck_assert_uint_eq(scan(), 1);
	record(SLEEP_FROM, SLEEP_FROM + 0x200, SIGNED(WANTED + 8));
	ck_assert_uint_eq(scan(), 2);
	ck_assert_str_eq(where, "task 0 (swapper/0)");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, records_lead_to_the_end);
	tcase_add_test(tc, a_record_of_what_was_interrupted);
	tcase_add_test(tc, a_record_in_the_second_range);
	tcase_add_test(tc, a_register_of_what_was_interrupted);
	tcase_add_test(tc, a_signed_return_address);
	tcase_add_test(tc, a_replaced_return_address);
	tcase_add_test(tc, records_with_invalid_links);
	tcase_add_test(tc, entry_code_hides_what_it_interrupts);
	tcase_add_test(tc, a_link_in_a_register);
	tcase_add_test(tc, a_vcpu_that_waits);
}

int main(void)
{
	return run_suite("sleeper", add_tests);
}
