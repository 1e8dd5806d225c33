/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function actions: the stub entry that a site calls for them, and their counts. */
#include <check.h>

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

/* Returns the slot whose entry SITE calls. */
static struct hv_slot *slot_of(unsigned site)
{
	for (unsigned i = 0; i < HV_NR_SLOTS; i++)
		if (hv_stubs_action(&r.tracee, i).v == target_of(site).v)
			return hv_region_slot(&r.tracee.region, i);
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

START_TEST(a_site_with_actions_goes_on_to_its_stub)
{
	const struct hv_site_actions list[] = {
		{.ip = FR_SITE(1), .bits = 1u << HV_ACTION_ON},
		{.ip = FR_SITE(2), .bits = 1u << HV_ACTION_ON},
		{.ip = FR_SITE(3), .bits = 1u << HV_ACTION_OFF},
	};
	uint64_t function = hv_stubs_call(&r.tracee, HV_STUB_FUNCTION, HV_ROLE_NONE).v;
	struct hv_gva goes_on;

	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_STUB_FUNCTION);
	ck_assert_uint_eq(target_of(0).v, function);
	ck_assert_ptr_eq(slot_of(1), slot_of(2)); /* equal actions share a slot */
	ck_assert_ptr_ne(slot_of(1), slot_of(3));
	ck_assert_uint_eq(slot_of(1)->does, HV_SLOT_ON);
	ck_assert_uint_eq(slot_of(1)->goes_on, function - FR_RANGE);
	ck_assert(hv_actions_goes_on(t.actions, target_of(3), &goes_on));
	ck_assert_uint_eq(goes_on.v, function);
	ck_assert(!hv_actions_goes_on(t.actions, target_of(0), &goes_on));
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[1], HV_STUB_FUNCTION);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
}
END_TEST

START_TEST(actions_alone_go_on_to_nothing)
{
	const struct hv_site_actions on = {.ip = FR_SITE(1), .bits = 1u << HV_ACTION_ON};

	set(&on, 1);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_uint_eq(slot_of(1)->goes_on, 0);
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[1], HV_STUB_ACTIONS);
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[0], HV_STUB_NONE);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[1], HV_STUB_NONE);
}
END_TEST

/* The guest's countdown continues. A change of the stub changes the slot. */
START_TEST(a_count_goes_on_where_it_is)
{
	const struct hv_site_actions list[] = {counted(1, 5), counted(2, 5)};
	unsigned slot;

	ck_assert_int_eq(left_of(1), NOT_SET);
	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_ptr_ne(slot_of(1), slot_of(2)); /* each has its own count */
	slot = (unsigned)(slot_of(1) - hv_region_slot(&r.tracee.region, 0));
	hv_region_control(&r.tracee.region)->left[slot].off = 3;
	ck_assert_int_eq(left_of(1), 3);
	traced_check_want(&t, HV_STUB_FUNCTION);
	ck_assert_ptr_ne(slot_of(1), hv_region_slot(&r.tracee.region, slot));
	ck_assert_int_eq(left_of(1), 3);
	ck_assert_int_eq(left_of(2), 5);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_int_eq(left_of(1), NOT_SET);
}
END_TEST

START_TEST(a_change_that_fails_leaves_the_counts)
{
	const struct hv_site_actions five = counted(1, 5);

	set(&five, 1);
	traced_check_want(&t, HV_STUB_NONE);
	r.is_paused = true;
	hv_err_free(traced_want(&t, HV_STUB_FUNCTION));
	r.is_paused = false;
	ck_assert_int_eq(left_of(1), 5);
	ck_assert_uint_eq(slot_of(1)->goes_on, 0);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
}
END_TEST

START_TEST(too_many_that_count_are_refused)
{
	enum { MANY = HV_ACTIONS_COUNTED_MAX + 1 };
	struct hv_site_actions list[MANY];
	struct hv_err *err;

	for (unsigned i = 0; i < MANY; i++)
		list[i] = counted(i, 1);
	err = hv_actions_set(t.actions, list, MANY);
	ck_assert(err && err->code == ENOSPC);
	hv_err_free(err);
	ck_assert(!hv_actions_has(t.actions, FR_SITE(0)));
	set(list, MANY - 1);
	ck_assert(hv_actions_has(t.actions, FR_SITE(0)));
}
END_TEST

static unsigned number_of(const struct hv_slot *slot)
{
	return (unsigned)(slot - hv_region_slot(&r.tracee.region, 0));
}

/* A program belongs to one function. Another program gets another slot, and the first one stays
 * unchanged until no site calls it. */
START_TEST(a_program_has_a_slot_of_its_own)
{
	const struct hv_fetch_step steps[] = {{HV_FETCH_WORD, 0, 0, 1, 4},
					      {HV_FETCH_READS, 0, 0, 1, 8}};
	struct hv_site_actions list[] = {
		{.ip = FR_SITE(1), .program = steps, .nr_steps = 2},
		{.ip = FR_SITE(2), .program = steps, .nr_steps = 2},
	};
	const struct hv_fetch_step *program;
	const struct hv_slot *first;

	list[0].bits = list[1].bits = 1u << HV_ACTION_REGS | 1u << HV_ACTION_FETCH;
	memset(hv_region_program(&r.tracee.region, 0), 0x5a, 2 * HV_FETCH_STEPS_MAX * 16);
	set(list, 2);
	traced_check_want(&t, HV_STUB_NONE);
	first = slot_of(1);
	ck_assert_uint_eq(first->does, HV_SLOT_REGS | HV_SLOT_FETCH);
	ck_assert_ptr_ne(first, slot_of(2));
	program = hv_region_program(&r.tracee.region, number_of(first));
	ck_assert(memcmp(program, steps, sizeof(steps)) == 0);
	ck_assert_uint_eq(program[2].does, HV_FETCH_END);
	ck_assert_uint_eq(program[HV_FETCH_STEPS_MAX - 1].does, HV_FETCH_END);
	set(list, 2);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_ptr_eq(first, slot_of(1)); /* nothing has changed */
	list[0].nr_steps = 1;
	set(list, 2);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_ptr_ne(first, slot_of(1));
	ck_assert(memcmp(program, steps, sizeof(steps)) == 0);
	program = hv_region_program(&r.tracee.region, number_of(slot_of(1)));
	ck_assert_uint_eq(program[1].does, HV_FETCH_END);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
}
END_TEST

/* Actions that need all registers have their own entry, which continues like the others. Functions
 * share a slot. */
START_TEST(all_registers_have_their_own_entries)
{
	struct hv_site_actions list[] = {
		{.ip = FR_SITE(1), .bits = 1u << HV_ACTION_ALL_REGS},
		{.ip = FR_SITE(2), .bits = 1u << HV_ACTION_ALL_REGS},
		{.ip = FR_SITE(3), .bits = 1u << HV_ACTION_REGS},
	};
	uint64_t function = hv_stubs_call(&r.tracee, HV_STUB_FUNCTION, HV_ROLE_NONE).v;
	struct hv_gva goes_on;
	unsigned slot;

	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_STUB_FUNCTION);
	slot = number_of(slot_of(3)) ? 0 : 1;
	ck_assert_uint_eq(target_of(1).v, hv_stubs_entry_regs(&r.tracee, slot).v);
	ck_assert_uint_eq(target_of(2).v, target_of(1).v);
	ck_assert_uint_eq(hv_region_slot(&r.tracee.region, slot)->does, HV_SLOT_ALL_REGS);
	ck_assert(hv_actions_goes_on(t.actions, target_of(1), &goes_on));
	ck_assert_uint_eq(goes_on.v, function);
	ck_assert(!hv_actions_goes_on(t.actions, hv_stubs_action(&r.tracee, slot), &goes_on));
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[1], HV_STUB_FUNCTION);
	/* A change between the two while it is on uses another slot. */
	list[0].bits = list[1].bits = 1u << HV_ACTION_REGS;
	set(list, HV_ARRAY_LEN(list));
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_uint_ne(number_of(slot_of(1)), slot);
	ck_assert_uint_eq(slot_of(1)->does, HV_SLOT_REGS);
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[1], HV_STUB_ACTIONS);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
}
END_TEST

static void want_return(unsigned site)
{
	const struct hv_site_actions list = {.ip = FR_SITE(site), .bits = 1u << HV_ACTION_RETURN};

	set(&list, 1);
}

static uint64_t handler_goes_on(unsigned slot)
{
	return hv_stubs_probed(&r.tracee, slot).v - FR_RANGE;
}

/* A call gets one frame for all users. The slot contains the trace that is active in addition. */
START_TEST(a_return_is_of_the_kind_of_its_call)
{
	struct hv_gva goes_on;
	unsigned slot;

	want_return(1);
	ck_assert(hv_actions_any_return(t.actions) && hv_actions_return(t.actions, FR_SITE(1)));
	ck_assert(!hv_actions_return(t.actions, FR_SITE(2)));
	traced_check_want(&t, HV_STUB_NONE);
	slot = number_of(slot_of(1));
	ck_assert_uint_eq(slot_of(1)->does, HV_SLOT_RETURN);
	ck_assert_uint_eq(slot_of(1)->goes_on, handler_goes_on(slot));
	ck_assert_uint_eq(*hv_region_kind(&r.tracee.region, slot), HV_KIND_UNTRACED);
	ck_assert_uint_eq(hv_site_stubs_now(t.stubs)[1], HV_STUB_ACTIONS);
	traced_check_want(&t, HV_STUB_FUNCTION_AND_GRAPH | HV_STUB_PROFILED);
	ck_assert_uint_ne(number_of(slot_of(1)), slot);
	slot = number_of(slot_of(1));
	ck_assert_uint_eq(slot_of(1)->goes_on, handler_goes_on(slot));
	ck_assert_uint_eq(*hv_region_kind(&r.tracee.region, slot),
			  HV_KIND_FUNCTION | HV_FRAME_PROFILED);
	ck_assert(hv_actions_goes_on(t.actions, target_of(1), &goes_on));
	ck_assert_uint_eq(goes_on.v,
			  hv_stubs_call(&r.tracee, HV_STUB_FUNCTION_AND_GRAPH | HV_STUB_PROFILED,
					HV_ROLE_NONE)
				  .v);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert(!hv_actions_any_return(t.actions));
}
END_TEST

START_TEST(what_takes_the_caller_is_refused_beside_a_return)
{
	static const uint8_t stubs[] = {HV_STUB_FUNCTION_STACK, HV_STUB_SECTION_FUNCTION,
					HV_STUB_SECTION_GRAPH};

	want_return(1);
	for (unsigned i = 0; i < HV_ARRAY_LEN(stubs); i++) {
		struct hv_err *err = traced_want(&t, stubs[i]);

		ck_assert(err && err->code == EBUSY);
		hv_err_free(err);
	}
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
}
END_TEST

/* Calls without a frame are counted in the slot of their call, and no count is lost. A slot that
 * was given up is reused last because open calls still return through it. */
START_TEST(missed_returns_are_counted)
{
	struct hv_control *control = hv_region_control(&r.tracee.region);
	unsigned before = HV_NR_SLOTS;

	want_return(1);
	for (unsigned i = 0; i < HV_NR_SLOTS + 10; i++) {
		traced_check_want(&t, i % 2 ? HV_STUB_NONE : HV_STUB_FUNCTION);
		ck_assert_uint_ne(number_of(slot_of(1)), before);
		ck_assert(i >= HV_NR_SLOTS || number_of(slot_of(1)) == i);
		before = number_of(slot_of(1));
		ck_assert_uint_eq(control->missed[before], 0);
		control->missed[before] = 2;
		ck_assert_uint_eq(hv_actions_missed(t.actions, FR_SITE(1)), 2 * (i + 1));
	}
	ck_assert_uint_eq(hv_actions_missed(t.actions, FR_SITE(2)), 0);
	set(NULL, 0);
	traced_check_want(&t, HV_STUB_NONE);
	ck_assert_uint_eq(hv_actions_missed(t.actions, FR_SITE(1)), 2 * (HV_NR_SLOTS + 10));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_site_with_actions_goes_on_to_its_stub);
	tcase_add_test(tc, actions_alone_go_on_to_nothing);
	tcase_add_test(tc, a_count_goes_on_where_it_is);
	tcase_add_test(tc, a_change_that_fails_leaves_the_counts);
	tcase_add_test(tc, too_many_that_count_are_refused);
	tcase_add_test(tc, a_program_has_a_slot_of_its_own);
	tcase_add_test(tc, all_registers_have_their_own_entries);
	tcase_add_test(tc, a_return_is_of_the_kind_of_its_call);
	tcase_add_test(tc, what_takes_the_caller_is_refused_beside_a_return);
	tcase_add_test(tc, missed_returns_are_counted);
}

int main(void)
{
	return run_suite("actions", add_tests);
}
