/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function actions: the trampoline entry that a site calls for them, and their counts. */
#include <check.h>

#include "kernel/code/nofault.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"

#define NR_SITES 4u
#define NOT_SET	 (-7)

static const uint8_t nop[FR_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static struct fr r;
static struct traced t;

static void setup(void)
{
	traced_init(&t, &r, NR_SITES, nop);
}

static void teardown(void)
{
	traced_deinit(&t);
}

static void set(const struct hv_site_actions *list, size_t nr)
{
	ck_assert_ptr_null(hv_actions_set(t.actions, list, nr));
}

static struct hv_gva target_of(unsigned site)
{
	struct hv_gva target = {0};

	hv_arch_x86_64.classify_site(fk_host(&r.t.f, FR_SITE(site)), hv_gva(FR_SITE(site)),
				     &target);
	return target;
}

/* Returns the action group whose entry SITE calls. */
static struct hv_action_group *group_of(unsigned site)
{
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++)
		if (hv_trampolines_action(&r.tracee, i).v == target_of(site).v)
			return hv_region_action_group(&r.tracee.region, i);
	ck_abort_msg("site %u calls no entry", site);
}

static struct hv_site_actions counted(unsigned site, int64_t left)
{
	return (struct hv_site_actions){.ip = FR_SITE(site),
					.bits = 1u << HV_ACTION_OFF_COUNTED,
					.left[HV_ACTION_OFF_COUNTED] = left};
}

static int64_t left_of(unsigned site)
{
	return hv_actions_left(t.actions, FR_SITE(site), HV_ACTION_OFF_COUNTED, NOT_SET);
}

START_TEST(actions_continue_at_the_sites_trampoline)
{
	const struct hv_site_actions list[] = {
		{.ip = FR_SITE(1), .bits = 1u << HV_ACTION_ON},
		{.ip = FR_SITE(2), .bits = 1u << HV_ACTION_ON},
		{.ip = FR_SITE(3), .bits = 1u << HV_ACTION_OFF},
	};
	uint64_t function = hv_trampolines_call(&r.tracee, HV_TRAMPOLINE_FUNCTION, HV_ROLE_NONE).v;
	struct hv_gva goes_on;

	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(target_of(0).v, function);
	ck_assert_ptr_eq(group_of(1), group_of(2)); /* equal actions share an action group */
	ck_assert_ptr_ne(group_of(1), group_of(3));
	ck_assert_uint_eq(group_of(1)->does, HV_DOES_ON);
	ck_assert_uint_eq(group_of(1)->goes_on, function - FR_RANGE);
	ck_assert(hv_actions_goes_on(t.actions, target_of(3), &goes_on));
	ck_assert_uint_eq(goes_on.v, function);
	ck_assert(!hv_actions_goes_on(t.actions, target_of(0), &goes_on));
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_FUNCTION);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
}
END_TEST

START_TEST(actions_without_a_tracer_end_there)
{
	const struct hv_site_actions on = {.ip = FR_SITE(1), .bits = 1u << HV_ACTION_ON};

	set(&on, 1);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(group_of(1)->goes_on, 0);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_ACTIONS);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[0], HV_TRAMPOLINE_NONE);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_NONE);
}
END_TEST

/* The guest's countdown continues. A change of the trampoline changes the action group. */
START_TEST(a_count_survives_trampoline_changes)
{
	const struct hv_site_actions list[] = {counted(1, 5), counted(2, 5)};
	unsigned group;

	ck_assert_int_eq(left_of(1), NOT_SET);
	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_ptr_ne(group_of(1), group_of(2)); /* each has its own count */
	group = (unsigned)(group_of(1) - hv_region_action_group(&r.tracee.region, 0));
	hv_region_control(&r.tracee.region)->left[group].off = 3;
	ck_assert_int_eq(left_of(1), 3);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_ptr_ne(group_of(1), hv_region_action_group(&r.tracee.region, group));
	ck_assert_int_eq(left_of(1), 3);
	ck_assert_int_eq(left_of(2), 5);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_int_eq(left_of(1), NOT_SET);
}
END_TEST

START_TEST(a_change_that_fails_leaves_the_counts)
{
	const struct hv_site_actions five = counted(1, 5);

	set(&five, 1);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	r.is_paused = true;
	hv_err_free(traced_want(&t, HV_TRAMPOLINE_FUNCTION));
	r.is_paused = false;
	ck_assert_int_eq(left_of(1), 5);
	ck_assert_uint_eq(group_of(1)->goes_on, 0);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
}
END_TEST

START_TEST(too_many_counted_actions_are_refused)
{
	enum { MANY = HV_ACTIONS_COUNTED_MAX + 1 };
	struct hv_site_actions list[MANY];
	struct hv_err *err;

	for (unsigned i = 0; i < MANY; i++)
		list[i] = counted(i, 1);
	err = hv_actions_set(t.actions, list, MANY);
	ck_assert(err && err->code == ENOSPC);
	ck_assert_str_eq(err->message, "61 functions have a counted command; at most 60 can");
	hv_err_free(err);
	ck_assert(!hv_actions_has(t.actions, FR_SITE(0)));
	set(list, MANY - 1);
	ck_assert(hv_actions_has(t.actions, FR_SITE(0)));
}
END_TEST

/* Each return probe has its own action group. */
START_TEST(more_functions_than_action_groups)
{
	enum { MANY = HV_NR_ACTION_GROUPS + 1 };
	struct hv_site_actions list[MANY];

	teardown();
	traced_init(&t, &r, MANY, nop);
	for (unsigned i = 0; i < MANY; i++)
		list[i] =
			(struct hv_site_actions){.ip = FR_SITE(i), .bits = 1u << HV_ACTION_RETURN};
	set(list, MANY);
	expect_error(traced_want(&t, HV_TRAMPOLINE_NONE), ENOSPC,
		     "too many functions have commands or probes: remove some");
	set(list, MANY - 1);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_ptr_ne(group_of(0), group_of(MANY - 2));
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
}
END_TEST

static unsigned number_of(const struct hv_action_group *group)
{
	return (unsigned)(group - hv_region_action_group(&r.tracee.region, 0));
}

/* A program belongs to one function. Another program gets another action group, and the first one
 * stays unchanged until no site calls it. */
START_TEST(each_program_has_a_separate_action_group)
{
	const struct hv_fetch_step steps[] = {{HV_FETCH_WORD, 0, 0, 1, 4},
					      {HV_FETCH_READS, 0, 0, 1, 8}};
	struct hv_site_actions list[] = {
		{.ip = FR_SITE(1), .program = steps, .nr_steps = 2},
		{.ip = FR_SITE(2), .program = steps, .nr_steps = 2},
	};
	const struct hv_fetch_step *program;
	const struct hv_action_group *first;

	list[0].bits = list[1].bits = 1u << HV_ACTION_REGS | 1u << HV_ACTION_FETCH;
	memset(hv_region_program(&r.tracee.region, 0), 0x5a, 2 * HV_FETCH_STEPS_MAX * 16);
	set(list, 2);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	first = group_of(1);
	ck_assert_uint_eq(first->does, HV_DOES_REGS | HV_DOES_FETCH);
	ck_assert_ptr_ne(first, group_of(2));
	program = hv_region_program(&r.tracee.region, number_of(first));
	ck_assert(memcmp(program, steps, sizeof(steps)) == 0);
	ck_assert_uint_eq(program[2].does, HV_FETCH_END);
	ck_assert_uint_eq(program[HV_FETCH_STEPS_MAX - 1].does, HV_FETCH_END);
	set(list, 2);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_ptr_eq(first, group_of(1)); /* nothing has changed */
	list[0].nr_steps = 1;
	set(list, 2);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_ptr_ne(first, group_of(1));
	ck_assert(memcmp(program, steps, sizeof(steps)) == 0);
	program = hv_region_program(&r.tracee.region, number_of(group_of(1)));
	ck_assert_uint_eq(program[1].does, HV_FETCH_END);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
}
END_TEST

/* Actions that need all registers have their own entry, which continues like the others. Functions
 * share an action group. */
START_TEST(all_registers_have_their_own_entries)
{
	struct hv_site_actions list[] = {
		{.ip = FR_SITE(1), .bits = 1u << HV_ACTION_ALL_REGS},
		{.ip = FR_SITE(2), .bits = 1u << HV_ACTION_ALL_REGS},
		{.ip = FR_SITE(3), .bits = 1u << HV_ACTION_REGS},
	};
	uint64_t function = hv_trampolines_call(&r.tracee, HV_TRAMPOLINE_FUNCTION, HV_ROLE_NONE).v;
	struct hv_gva goes_on;
	unsigned group;

	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	group = number_of(group_of(3)) ? 0 : 1;
	ck_assert_uint_eq(target_of(1).v, hv_trampolines_entry_regs(&r.tracee, group).v);
	ck_assert_uint_eq(target_of(2).v, target_of(1).v);
	ck_assert_uint_eq(hv_region_action_group(&r.tracee.region, group)->does, HV_DOES_ALL_REGS);
	ck_assert(hv_actions_goes_on(t.actions, target_of(1), &goes_on));
	ck_assert_uint_eq(goes_on.v, function);
	ck_assert(
		!hv_actions_goes_on(t.actions, hv_trampolines_action(&r.tracee, group), &goes_on));
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_FUNCTION);
	/* An active action that changes its entry gets another action group. */
	list[0].bits = list[1].bits = 1u << HV_ACTION_REGS;
	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_ne(number_of(group_of(1)), group);
	ck_assert_uint_eq(group_of(1)->does, HV_DOES_REGS);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_ACTIONS);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
}
END_TEST

static void want_return(unsigned site)
{
	const struct hv_site_actions list = {.ip = FR_SITE(site), .bits = 1u << HV_ACTION_RETURN};

	set(&list, 1);
}

static uint64_t handler_goes_on(unsigned group)
{
	return hv_trampolines_probed(&r.tracee, group).v - FR_RANGE;
}

/* A call gets one frame for all its users. The action group also contains the kind of the active
 * trace. */
START_TEST(users_of_a_return_share_one_frame)
{
	struct hv_gva goes_on;
	unsigned group;

	want_return(1);
	ck_assert(hv_actions_any_return(t.actions) && hv_actions_return(t.actions, FR_SITE(1)));
	ck_assert(!hv_actions_return(t.actions, FR_SITE(2)));
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	group = number_of(group_of(1));
	ck_assert_uint_eq(group_of(1)->does, HV_DOES_RETURN);
	ck_assert_uint_eq(group_of(1)->goes_on, handler_goes_on(group));
	ck_assert_uint_eq(*hv_region_kind(&r.tracee.region, group), HV_KIND_UNTRACED);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_ACTIONS);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION_AND_GRAPH | HV_TRAMPOLINE_PROFILED);
	ck_assert_uint_ne(number_of(group_of(1)), group);
	group = number_of(group_of(1));
	ck_assert_uint_eq(group_of(1)->goes_on, handler_goes_on(group));
	ck_assert_uint_eq(*hv_region_kind(&r.tracee.region, group),
			  HV_KIND_FUNCTION | HV_FRAME_PROFILED);
	ck_assert(hv_actions_goes_on(t.actions, target_of(1), &goes_on));
	ck_assert_uint_eq(goes_on.v, hv_trampolines_call(&r.tracee,
							 HV_TRAMPOLINE_FUNCTION_AND_GRAPH |
								 HV_TRAMPOLINE_PROFILED,
							 HV_ROLE_NONE)
					     .v);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert(!hv_actions_any_return(t.actions));
}
END_TEST

START_TEST(caller_based_trampolines_exclude_returns)
{
	static const uint8_t trampolines[] = {HV_TRAMPOLINE_FUNCTION_STACK,
					      HV_TRAMPOLINE_SECTION_FUNCTION,
					      HV_TRAMPOLINE_SECTION_GRAPH};

	want_return(1);
	for (unsigned i = 0; i < HV_ARRAY_LEN(trampolines); i++) {
		struct hv_err *err = traced_want(&t, trampolines[i]);

		ck_assert(err && err->code == EBUSY);
		ck_assert_ptr_nonnull(
			strstr(err->message, ": a return probe needs this function for itself"));
		hv_err_free(err);
	}
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
}
END_TEST

/* Calls without a frame are counted in the action group of their call, and no count is lost. An
 * action group that was given up is reused last because open calls still return through it. */
START_TEST(missed_returns_are_counted)
{
	struct hv_control *control = hv_region_control(&r.tracee.region);
	unsigned before = HV_NR_ACTION_GROUPS;

	want_return(1);
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS + 10; i++) {
		traced_check_want(&t, i % 2 ? HV_TRAMPOLINE_NONE : HV_TRAMPOLINE_FUNCTION);
		ck_assert_uint_ne(number_of(group_of(1)), before);
		ck_assert(i >= HV_NR_ACTION_GROUPS - HV_GROUPS_FOR_CHAINS ||
			  number_of(group_of(1)) == i);
		before = number_of(group_of(1));
		ck_assert_uint_eq(control->missed[before], 0);
		control->missed[before] = 2;
		ck_assert_uint_eq(hv_actions_missed(t.actions, FR_SITE(1)), 2 * (i + 1));
	}
	ck_assert_uint_eq(hv_actions_missed(t.actions, FR_SITE(2)), 0);
	set(NULL, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_actions_missed(t.actions, FR_SITE(1)), 2 * (HV_NR_ACTION_GROUPS + 10));
}
END_TEST

START_TEST(requirements_of_memory_reads)
{
	expect_error(hv_actions_check_fetch(t.actions), EOPNOTSUPP,
		     "memory cannot be read for probes: this kernel has no function ");
	for (enum hv_nofault i = 0; i < HV_NR_NOFAULTS; i++)
		fk_symbol(&r.t.f, hv_nofault_name(i), FK_BASE + 0x20000 + 0x100 * i);
	hv_symbols_index(&r.t.f.k.core.symbols);
	r.tracee.plan.drafts_off = 0;
	expect_error(hv_actions_check_fetch(t.actions), ENOSPC,
		     "memory cannot be read for probes: the region has no room for drafts of "
		     "events");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, actions_continue_at_the_sites_trampoline);
	tcase_add_test(tc, actions_without_a_tracer_end_there);
	tcase_add_test(tc, a_count_survives_trampoline_changes);
	tcase_add_test(tc, a_change_that_fails_leaves_the_counts);
	tcase_add_test(tc, too_many_counted_actions_are_refused);
	tcase_add_test(tc, more_functions_than_action_groups);
	tcase_add_test(tc, each_program_has_a_separate_action_group);
	tcase_add_test(tc, all_registers_have_their_own_entries);
	tcase_add_test(tc, users_of_a_return_share_one_frame);
	tcase_add_test(tc, caller_based_trampolines_exclude_returns);
	tcase_add_test(tc, missed_returns_are_counted);
	tcase_add_test(tc, requirements_of_memory_reads);
}

int main(void)
{
	return run_suite("actions", add_tests);
}
