/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores return addresses that are also on shadow call stacks, as on arm64. Records made by
 * exceptions and assembly code have no address there. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_records.h"

#define SHADOW_BYTES 4096u
#define X_SHADOW     18
#define EXCEPTION    5u /* the record of an exception */

static bool signs_shadow; /* as gcc does; clang stores plain addresses */

static uint64_t read_u64(uint64_t at)
{
	return fr_word(&r, at);
}

static bool has_shadow(unsigned nr)
{
	return nr != EXCEPTION;
}

/* Returns the position of record NR's address on TASK's shadow call stack. */
static uint64_t shadow_of(uint64_t task, unsigned nr)
{
	return read_u64(task + FT_SCS_BASE) +
	       8 * (NR_RECORDS - 1 - nr - (nr < EXCEPTION && !has_shadow(EXCEPTION)));
}

static uint64_t shadow_word_for(uint64_t task, unsigned nr, uint64_t address)
{
	return signs_shadow ? word_for(task, nr, address) : address;
}

static void set_shadow(uint64_t task, unsigned nr, uint64_t address)
{
	if (has_shadow(nr))
		fk_u64(&r.t.f, shadow_of(task, nr), shadow_word_for(task, nr, address));
}

static void make_shadow(uint64_t task)
{
	fk_u64(&r.t.f, task + FT_SCS_BASE, fk_alloc(&r.t.f, SHADOW_BYTES));
	for (unsigned nr = 0; nr < NR_RECORDS; nr++)
		set_shadow(task, nr, FR_CALLER + nr);
	fk_u64(&r.t.f, task + FT_SCS_SP, shadow_of(task, 0) + 8);
	/* left over from a call that has ended */
	fk_u64(&r.t.f, shadow_of(task, 0) + 8, FR_HANDLER);
}

static void begin_kernel(bool with_signatures, bool in_shadow)
{
	ft_has_shadow_stacks = true;
	set_up_with(WAY, with_signatures, declare);
	signs_shadow = in_shadow;
	make_shadow(r.task);
	for (unsigned cpu = 0; cpu < FK_NR_CPUS; cpu++)
		ft_percpu(&r.t, FT_IRQ_SCS, cpu, fk_alloc(&r.t.f, SHADOW_BYTES));
}

static void setup(void)
{
	begin_kernel(true, true);
}

static void teardown(void)
{
	fr_deinit(&r);
	ft_has_shadow_stacks = false;
}

static void open_call(uint64_t task, unsigned nr)
{
	open_frame(task, nr);
	set_shadow(task, nr, FR_HANDLER);
}

static void check_both(uint64_t task, unsigned nr_writes)
{
	check_put_back(task, nr_writes);
	for (unsigned nr = 0; nr < NR_RECORDS; nr++)
		if (has_shadow(nr))
			ck_assert_uint_eq(read_u64(shadow_of(task, nr)),
					  shadow_word_for(task, nr, FR_CALLER + nr));
	ck_assert_uint_eq(read_u64(shadow_of(task, 0) + 8), FR_HANDLER);
}

START_TEST(frame_and_shadow_stack_are_restored)
{
	const bool forms[][2] = {{false, false}, {true, false}, {true, true}};

	for (size_t i = 0; i < HV_ARRAY_LEN(forms); i++) {
		teardown();
		begin_kernel(forms[i][0], forms[i][1]);
		check_graph(0, NULL);
		open_call(r.task, 11);
		open_call(r.task, 7);
		open_call(r.task, 4);
		open_call(r.task, 0);
		check_both(r.task, 8);
	}
}
END_TEST

/* Records, shadow call stacks and the scan of all stacks use the same list of tasks. */
START_TEST(tasks_are_read_once)
{
	open_call(r.task, 4);
	r.nr_task_walks = 0;
	check_both(r.task, 2);
	ck_assert_uint_eq(r.nr_task_walks, 1);
}
END_TEST

START_TEST(frames_of_one_retp)
{
	open_call(r.task, 4);
	fr_frame(&r, 0, retp_of(r.task, 4), FR_HANDLER);
	check_both(r.task, 2);
}
END_TEST

/* A detach or recover that ended between any two writes can be repeated. */
START_TEST(a_partial_restore_is_completed)
{
	open_call(r.task, 8);
	open_call(r.task, 4);
	set_record(r.task, 8, FR_CALLER + 8);
	set_shadow(r.task, 4, FR_CALLER + 4);
	check_both(r.task, 2);
	open_call(r.task, 4);
	fr_frame(&r, 0, retp_of(r.task, 4), FR_HANDLER);
	set_record(r.task, 4, FR_CALLER + 4);
	check_both(r.task, 1);
}
END_TEST

static uint64_t run_task(void)
{
	uint64_t task = ft_process(&r.t, 80, "runs", 0x100);

	make_task(task);
	make_shadow(task);
	fk_u64(&r.t.f, task + FT_FP, 0);
	ft_current(&r.t, 0, task);
	r.regs[0].ip = hv_gva(FK_BASE + 0x50);
	r.regs[0].sp = hv_gva(ft_stack(&r.t, task) + FR_SLEEP_FROM);
	r.regs[0].general[29] = saved_at(task, 0) - 8;
	r.regs[0].general[X_SHADOW] = shadow_of(task, 0) + 8;
	return task;
}

/* The values that the task saved when it last slept are outdated. */
START_TEST(a_vcpu_in_the_kernel)
{
	uint64_t task = run_task();

	fk_u64(&r.t.f, task + FT_SCS_SP, shadow_of(task, 9));
	open_call(task, 6);
	check_both(task, 2);
	fk_u64(&r.t.f, task + FT_SCS_SP, shadow_of(task, 0) + 16);
	open_call(task, 6);
	check_both(task, 2);
}
END_TEST

START_TEST(a_vcpu_on_its_interrupt_stack)
{
	uint64_t task = run_task(), irq = r.t.irq_stacks[0] + 0x2000, retp = irq + 0x100, shadow;

	shadow = read_u64(r.t.f.areas[0] + FK_PERCPU(FT_IRQ_SCS));
	fk_u64(&r.t.f, irq, saved_at(task, 0) - 8);
	fk_u64(&r.t.f, irq + 8, FORMAT->sign(WAY, FR_HANDLER, retp, key));
	fk_u64(&r.t.f, shadow, FORMAT->sign(WAY, FR_HANDLER, retp, key));
	r.regs[0].sp = hv_gva(irq);
	r.regs[0].general[29] = irq;
	r.regs[0].general[X_SHADOW] = shadow + 8;
	fr_frame(&r, 1, retp, FR_CALLER);
	open_call(task, 3);
	check_both(task, 4);
	ck_assert_uint_eq(read_u64(irq + 8), FORMAT->sign(WAY, FR_CALLER, retp, key));
	ck_assert_uint_eq(read_u64(shadow), FORMAT->sign(WAY, FR_CALLER, retp, key));
}
END_TEST

/* As above, and the task's saved pointer is outdated (before 6.3), so its shadow word is not found.
 * A previous detach has restored its record. */
START_TEST(a_shadow_word_of_an_outdated_pointer)
{
	uint64_t task = run_task(), irq = r.t.irq_stacks[0] + 0x2000;

	fk_u64(&r.t.f, irq, saved_at(task, 0) - 8);
	fk_u64(&r.t.f, irq + 8, FORMAT->sign(WAY, FR_CALLER, irq + 0x100, key));
	r.regs[0].sp = hv_gva(irq);
	r.regs[0].general[29] = irq;
	r.regs[0].general[X_SHADOW] = read_u64(r.t.f.areas[0] + FK_PERCPU(FT_IRQ_SCS));
	open_call(task, 3);
	set_record(task, 3, FR_CALLER + 3);
	fk_u64(&r.t.f, task + FT_SCS_SP, shadow_of(task, 9));
	check_refused(EBUSY, "is not on the shadow call stack");
	fk_u64(&r.t.f, task + FT_SCS_SP, shadow_of(task, 0) + 8);
	check_both(task, 1);
}
END_TEST

START_TEST(a_vcpu_between_two_shadow_stacks)
{
	run_task();
	open_call(r.task, 3);
	r.regs[0].general[X_SHADOW] = r.task; /* scs_load_current */
	check_refused(EBUSY, "vCPU 0 is on no shadow call stack");
	r.regs[0].ip = hv_gva(0x401000);
	check_both(r.task, 2);
}
END_TEST

/* So it is while a function sets up or removes its frame. */
START_TEST(an_address_in_one_place_only)
{
	open_call(r.task, 3);
	set_shadow(r.task, 3, FR_CALLER + 0x20);
	check_refused(EBUSY, "is not on the shadow call stack");
	set_shadow(r.task, 3, FR_HANDLER);
	set_shadow(r.task, 2, FR_HANDLER);
	check_refused(EBUSY, "belongs to no known call");
	set_shadow(r.task, 2, FR_CALLER + 2);
	set_shadow(r.task, 9, FR_RANGE + 0x1234);
	check_refused(EBUSY, "belongs to no known call");
	set_shadow(r.task, 9, FR_CALLER + 9);
	check_both(r.task, 2);
}
END_TEST

START_TEST(an_address_without_a_frame)
{
	set_shadow(r.task, 4, FR_HANDLER);
	check_refused(EBUSY, "belongs to no known call");
	/* left over from a call that has ended */
	fk_u64(&r.t.f, r.task + FT_SCS_SP, shadow_of(r.task, 4));
	check_put_back(r.task, 0);
}
END_TEST

/* Refused because the handler's address could be paired with another call's record. */
START_TEST(a_word_without_a_record)
{
	open_call(r.task, 3);
	set_shadow(r.task, 9, FR_CALLER + 0x77);
	check_refused(EBUSY, "is in no frame record");
	set_shadow(r.task, 3, FR_CALLER + 3);
	set_record(r.task, 3, FR_CALLER + 3);
	check_put_back(r.task, 0);
}
END_TEST

/* With another signature there, nothing proves how to sign the replacement. */
START_TEST(a_word_that_proves_nothing_is_left_alone)
{
	open_call(r.task, 3);
	fk_u64(&r.t.f, shadow_of(r.task, 3), word_for(r.task, 4, FR_HANDLER));
	check_refused(EBUSY, "cannot tell how the return address at");
}
END_TEST

START_TEST(invalid_shadow_call_stacks)
{
	uint64_t start = read_u64(r.task + FT_SCS_BASE);
	const uint64_t ends[] = {start - 8, start + 4, start + 3 * SHADOW_BYTES, ~0ull, 0};

	for (size_t i = 0; i < HV_ARRAY_LEN(ends); i++) {
		fk_u64(&r.t.f, r.task + FT_SCS_SP, ends[i]);
		check_refused(EINVAL, "is not a shadow call stack");
		check_graph(EINVAL, "is not a shadow call stack");
	}
}
END_TEST

/* Refused because thousands of tasks could each cause a walk of the same records. */
START_TEST(two_shadow_stacks_for_one_kernel_stack)
{
	uint64_t task = ft_process(&r.t, 80, "other", 0x100), stack = ft_stack(&r.t, r.task);
	const uint64_t stacks[] = {stack, stack + FT_STACK - 8, stack - FT_STACK + 8};

	fk_u64(&r.t.f, task + FT_SCS_BASE, fk_alloc(&r.t.f, SHADOW_BYTES));
	fk_u64(&r.t.f, task + FT_SCS_SP, read_u64(task + FT_SCS_BASE));
	check_graph(0, NULL);
	for (size_t i = 0; i < HV_ARRAY_LEN(stacks); i++) {
		fk_u64(&r.t.f, task + FT_STACK_PTR, stacks[i]);
		check_graph(EINVAL, "two shadow call stacks for the kernel stack");
	}
}
END_TEST

START_TEST(a_graph_needs_the_same_addresses_in_both)
{
	for (unsigned nr = 0; nr < 8; nr++)
		set_shadow(r.task, nr, FR_CALLER + 0x30 + nr);
	check_graph(EOPNOTSUPP, "other return addresses than its frames");
}
END_TEST

/* CONFIG_DYNAMIC_SCS on a CPU that signs addresses: all tasks use the first task's shadow call
 * stack, which stays empty. */
START_TEST(a_kernel_that_leaves_shadow_stacks_empty)
{
	fk_u64(&r.t.f, r.task + FT_SCS_SP, read_u64(r.task + FT_SCS_BASE));
	check_graph(0, NULL);
	open_frame(r.task, 3);
	run_task();
	fk_u64(&r.t.f, r.t.last_process + FT_SCS_BASE, read_u64(r.task + FT_SCS_BASE));
	fk_u64(&r.t.f, r.t.last_process + FT_SCS_SP, read_u64(r.task + FT_SCS_BASE));
	r.regs[0].general[X_SHADOW] = read_u64(r.task + FT_SCS_BASE);
	check_put_back(r.task, 1);
}
END_TEST

static void declare_no_irqs(struct fk *f)
{
	struct hv_symbols *symbols = &f->k.core.symbols;

	declare(f);
	for (size_t i = 0; i < symbols->nr; i++)
		if (strcmp(symbols->by_addr[i].name, "irq_shadow_call_stack_ptr") == 0)
			symbols->by_addr[i].name = "other";
}

START_TEST(without_the_pointer_of_interrupts_it_is_refused)
{
	fr_deinit(&r);
	set_up_with(WAY, true, declare_no_irqs);
	make_shadow(r.task);
	check_graph(EOPNOTSUPP, "shadow call stacks, where they cannot be put back");
	open_call(r.task, 3);
	check_refused(EBUSY, "cannot find the shadow call stacks");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, frame_and_shadow_stack_are_restored);
	tcase_add_test(tc, tasks_are_read_once);
	tcase_add_test(tc, frames_of_one_retp);
	tcase_add_test(tc, a_partial_restore_is_completed);
	tcase_add_test(tc, a_vcpu_in_the_kernel);
	tcase_add_test(tc, a_vcpu_on_its_interrupt_stack);
	tcase_add_test(tc, a_shadow_word_of_an_outdated_pointer);
	tcase_add_test(tc, a_vcpu_between_two_shadow_stacks);
	tcase_add_test(tc, an_address_in_one_place_only);
	tcase_add_test(tc, an_address_without_a_frame);
	tcase_add_test(tc, a_word_without_a_record);
	tcase_add_test(tc, a_word_that_proves_nothing_is_left_alone);
	tcase_add_test(tc, invalid_shadow_call_stacks);
	tcase_add_test(tc, two_shadow_stacks_for_one_kernel_stack);
	tcase_add_test(tc, a_graph_needs_the_same_addresses_in_both);
	tcase_add_test(tc, a_kernel_that_leaves_shadow_stacks_empty);
	tcase_add_test(tc, without_the_pointer_of_interrupts_it_is_refused);
}

int main(void)
{
	return run_suite("shadow_returns", add_tests);
}
