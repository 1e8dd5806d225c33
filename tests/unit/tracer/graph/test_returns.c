/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores return addresses from return stacks into which the guest can write anything. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"

#define INTO_TRAMPOLINE (FT_TRAMPOLINE + 0x20)

static struct fr r;

static void setup(void)
{
	fr_init(&r);
}

static void teardown(void)
{
	fr_deinit(&r);
}

/* Adds a frame as the trampoline leaves it, for retp NR of the sleeping task. */
static void open_frame(unsigned nr)
{
	fr_frame(&r, 0, fr_retp(&r, nr), FR_CALLER + nr);
	fk_u64(&r.t.f, fr_retp(&r, nr), FR_HANDLER);
}

static void check_put_back(unsigned nr_frames)
{
	expect_success(fr_put_back(&r));
	for (unsigned i = 0; i < nr_frames; i++)
		ck_assert_uint_eq(fr_word(&r, fr_retp(&r, i)), FR_CALLER + i);
	ck_assert_uint_eq(r.nr_writes, nr_frames);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), 0);
}

/* Checks that the call fails, writes nothing, and keeps the frames. */
static void check_refused(int code, const char *why)
{
	size_t nr = hv_returns_open(&r.tracee);

	expect_error(fr_put_back(&r), code, why);
	ck_assert_uint_eq(r.nr_writes, 0);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), nr);
}

START_TEST(open_frames_are_restored)
{
	check_put_back(0);
	open_frame(2);
	open_frame(1);
	fr_frame(&r, 3, fr_retp(&r, 0), FR_CALLER);
	fk_u64(&r.t.f, fr_retp(&r, 0), FR_HANDLER);
	check_put_back(3);
	check_put_back(0 * (r.nr_writes = 0));
}
END_TEST

/* The callers in the later frames are the handler, so the caller in the first one is restored. */
START_TEST(frames_of_one_retp_lead_to_the_first)
{
	open_frame(0);
	fr_frame(&r, 0, fr_retp(&r, 0), FR_HANDLER);
	fr_frame(&r, 0, fr_retp(&r, 0), FR_HANDLER);
	check_put_back(1);
}
END_TEST

START_TEST(frames_below_an_outer_frame_are_left_over)
{
	fr_frame(&r, 0, fr_retp(&r, 0), 0x1234);
	open_frame(0);
	check_put_back(1);
}
END_TEST

START_TEST(a_count_above_the_maximum_means_all)
{
	for (unsigned i = 0; i < HV_FRAMES_MAX; i++)
		open_frame(i);
	hv_region_stack(&r.tracee.region, 0)->word = 0xfffffffffffffff0 | HV_STACK_NR_MASK;
	check_put_back(HV_FRAMES_MAX);
}
END_TEST

START_TEST(a_retp_with_another_word_is_left_alone)
{
	open_frame(0);
	fr_frame(&r, 0, fr_retp(&r, 1), FR_CALLER);
	fk_u64(&r.t.f, fr_retp(&r, 1), FR_HANDLER + 1);
	fr_frame(&r, 0, fr_retp(&r, 2), FR_CALLER);
	/* left over in memory that is not a live stack */
	fk_u64(&r.t.f, fr_retp(&r, 2), 0);
	fk_u64(&r.t.f, fr_retp(&r, 1), FK_BASE);
	check_put_back(1);
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 1)), FK_BASE);
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 2)), 0);
}
END_TEST

/* A retp outside RAM may have been on the stack of a task that has died. All other retps contain
 * the handler's address. */
START_TEST(retps_outside_stacks_are_left_alone)
{
	const uint64_t words = fk_alloc(&r.t.f, 4096), device = 0xffffc90000000000,
		       read_only = 0xffffc90000200000, user = 0x400000, ours = FR_RANGE + 0x400000;
	const uint64_t retps[] = {
		0,
		8,
		user,
		user | 1ull << 63, /* not canonical: a walk follows it, the CPU does not */
		words + 4,
		UINT64_MAX - 7,
		UINT64_MAX,
		ours,
		0xffffb00000000000, /* not mapped */
		device,
		read_only,
	};
	struct xm *m = &r.t.f.machine;
	struct hv_gpa root = r.t.f.k.core.as.root, page = hv_gpa(FK_GPA + words - FK_BASE);

	xm_map(m, root, 4, 1, hv_gva(user), page, 1, XM_W);
	xm_map(m, root, 4, 1, hv_gva(read_only), page, 1, 0);
	xm_map(m, root, 4, 1, hv_gva(device), hv_gpa(0xfe000000), 1, XM_W);
	xm_map(m, root, 4, 1, hv_gva(ours), page, 1, XM_W);
	fk_u64(&r.t.f, words, FR_HANDLER);
	for (unsigned i = 0; i < HV_ARRAY_LEN(retps); i++) {
		if (retps[i] % 8 == 4)
			fk_u64(&r.t.f, retps[i], FR_HANDLER);
		fr_frame(&r, 1, retps[i], FR_CALLER);
		open_frame(0);
		r.nr_writes = 0;
		check_put_back(1);
		fk_u64(&r.t.f, words, FR_HANDLER);
	}
}
END_TEST

START_TEST(callers_outside_code_are_refused)
{
	const uint64_t callers[] = {
		0,
		FR_HANDLER, /* it would return to itself forever */
		FR_RANGE,
		FR_CALLER & ~(1ull << 63),
		0x400000 | 1ull << 63,
		FK_DATA,
		FK_MODULES,
		UINT64_MAX,
	};
	struct xm *m = &r.t.f.machine;

	xm_map(m, r.t.f.k.core.as.root, 4, 1, hv_gva(0x400000), hv_gpa(0), 1, XM_X);
	xm_map(m, r.t.f.k.core.as.root, 4, 1, hv_gva(FR_RANGE), hv_gpa(0), 2, XM_X);
	for (unsigned i = 0; i < HV_ARRAY_LEN(callers); i++) {
		open_frame(0);
		open_frame(1);
		hv_region_stack(&r.tracee.region, 0)->frames[1].caller_gva = callers[i];
		check_refused(EUCLEAN, " is hvtrace's handler, and the original (0x");
		hv_region_stack(&r.tracee.region, 0)->word = 0;
	}
}
END_TEST

START_TEST(executable_memory_counts_as_code)
{
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 1, hv_gva(0xffffffffa0000000), hv_gpa(0), 1,
	       XM_X);
	open_frame(0);
	hv_region_stack(&r.tracee.region, 0)->frames[0].caller_gva = 0xffffffffa0000123;
	ck_assert_ptr_null(fr_put_back(&r));
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 0)), 0xffffffffa0000123);
}
END_TEST

START_TEST(freed_init_text_counts_as_code)
{
	fk_symbol(&r.t.f, "_sinittext", FK_DATA + 0x10000);
	fk_symbol(&r.t.f, "_einittext", FK_DATA + 0x11000);
	hv_symbols_index(&r.t.f.k.core.symbols);
	open_frame(0);
	hv_region_stack(&r.tracee.region, 0)->frames[0].caller_gva = FK_DATA + 0x11000;
	check_refused(EUCLEAN, "is not kernel code");
	hv_region_stack(&r.tracee.region, 0)->frames[0].caller_gva = FK_DATA + 0x10fff;
	ck_assert_ptr_null(fr_put_back(&r));
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 0)), FK_DATA + 0x10fff);
}
END_TEST

START_TEST(return_stacks_that_disagree_are_refused)
{
	const uint64_t alias = 0xffff888000000000;
	uint64_t page = (uint64_t)(fk_host(&r.t.f, fr_retp(&r, 0)) - r.t.f.machine.ram) & ~4095ull;

	open_frame(0);
	fr_frame(&r, 2, fr_retp(&r, 0), FR_CALLER + 8);
	check_refused(EUCLEAN, "two return stacks disagree");
	/* the same word at another address */
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 1, hv_gva(alias), hv_gpa(page), 1, XM_W);
	hv_region_stack(&r.tracee.region, 2)->frames[0].retp_gva = alias + fr_retp(&r, 0) % 4096;
	check_refused(EUCLEAN, "two return stacks disagree");
	hv_region_stack(&r.tracee.region, 2)->frames[0].caller_gva = FR_CALLER;
	check_put_back(1);
}
END_TEST

START_TEST(a_handler_s_address_without_a_frame_is_refused)
{
	open_frame(0);
	fk_u64(&r.t.f, fr_retp(&r, 1), FR_HANDLER);
	r.regs[0].ip = hv_gva(FK_BASE);
	r.regs[0].sp = hv_gva(ft_stack(&r.t, r.task) + FR_SLEEP_FROM);
	check_refused(EBUSY, "task 71 (cat) may return into a trampoline");
}
END_TEST

START_TEST(a_vcpu_in_a_trampoline_is_waited_for)
{
	open_frame(0);
	r.regs[1].ip = hv_gva(FR_HANDLER + 8);
	check_refused(EBUSY, "vCPU 1 is in a trampoline");
	/* if a vCPU is in one, the hold ends before the tasks are read */
	ck_assert_uint_eq(r.nr_task_walks, 0);
	r.regs[1].ip = hv_gva(0x401000);
	check_put_back(1);
	ck_assert_uint_gt(r.nr_task_walks, 0);
}
END_TEST

/* Changes the word directly after it was read. */
static void change_first(struct fr *fr, struct hv_gpa at)
{
	if (fr->t.f.machine.ram + at.v == fk_host(&fr->t.f, fr_retp(fr, 0)))
		fk_u64(&fr->t.f, fr_retp(fr, 0), FK_BASE + 0x123);
}

/* Memory that a device may write, too. A concurrent write must not be overwritten. */
START_TEST(a_retp_that_changes_in_the_hold_is_left_alone)
{
	struct hv_err *err;

	open_frame(0);
	open_frame(1);
	r.when_read = change_first;
	err = fr_put_back(&r);
	ck_assert(err && err->code == EBUSY && strstr(err->message, "changed in a hold"));
	hv_err_free(err);
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 0)), FK_BASE + 0x123);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), 2);
}
END_TEST

/* A traced function jumped to a probed one, so the guest stores the handler's address. */
START_TEST(a_retp_that_the_guest_hides_is_waited_for)
{
	open_frame(1);
	open_frame(0);
	fk_u64(&r.t.f, fr_retp(&r, 0), FT_TRAMPOLINE);
	check_refused(EBUSY, "is the guest's own arch_rethook_trampoline");
	/* The probe came first, so the frame's caller is the probe's trampoline. */
	open_frame(0);
	hv_region_stack(&r.tracee.region, 0)->word -= sizeof(struct hv_frame);
	hv_region_stack(&r.tracee.region, 0)->frames[1].caller_gva = FT_TRAMPOLINE;
	ck_assert_ptr_null(fr_put_back(&r));
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 0)), FT_TRAMPOLINE);
}
END_TEST

/* The trampoline is running, and its return address is in no retp. */
START_TEST(a_trampoline_that_runs_is_waited_for)
{
	open_frame(0);
	fr_frame(&r, 0, fr_retp(&r, 1), FR_CALLER + 1);
	fk_u64(&r.t.f, fr_retp(&r, 1), 0x246);
	fk_u64(&r.t.f, fr_retp(&r, 2), INTO_TRAMPOLINE);
	check_refused(EBUSY, "task 71 (cat) is in the guest's own return probe");
	fk_u64(&r.t.f, fr_retp(&r, 2), 0);
	for (unsigned i = 0; i < 2; i++) {
		r.regs[0].ip = hv_gva(i ? FT_TRAMPOLINE : INTO_TRAMPOLINE);
		r.regs[0].sp = hv_gva(ft_stack(&r.t, r.task) + FR_SLEEP_FROM);
		check_refused(EBUSY, "vCPU 0 is in the guest's own return probe");
	}
	/* a return probe of another call does not matter */
	r.regs[0].ip = hv_gva(FK_BASE);
	fk_u64(&r.t.f, fr_retp(&r, 2), FT_TRAMPOLINE);
	check_put_back(1);
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 2)), FT_TRAMPOLINE);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, open_frames_are_restored);
	tcase_add_test(tc, frames_of_one_retp_lead_to_the_first);
	tcase_add_test(tc, frames_below_an_outer_frame_are_left_over);
	tcase_add_test(tc, a_count_above_the_maximum_means_all);
	tcase_add_test(tc, a_retp_with_another_word_is_left_alone);
	tcase_add_test(tc, retps_outside_stacks_are_left_alone);
	tcase_add_test(tc, callers_outside_code_are_refused);
	tcase_add_test(tc, executable_memory_counts_as_code);
	tcase_add_test(tc, freed_init_text_counts_as_code);
	tcase_add_test(tc, return_stacks_that_disagree_are_refused);
	tcase_add_test(tc, a_handler_s_address_without_a_frame_is_refused);
	tcase_add_test(tc, a_vcpu_in_a_trampoline_is_waited_for);
	tcase_add_test(tc, a_retp_that_changes_in_the_hold_is_left_alone);
	tcase_add_test(tc, a_retp_that_the_guest_hides_is_waited_for);
	tcase_add_test(tc, a_trampoline_that_runs_is_waited_for);
}

int main(void)
{
	return run_suite("returns", add_tests);
}
