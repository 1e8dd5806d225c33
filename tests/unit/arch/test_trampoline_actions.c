/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Action entries of functions with commands, with the code bytes that a guest gets, run in this
 * process (bench/native.h): switches, counts, and changes of the pid filter. Runs on an x86-64 host
 * only. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tests/lib/traced_call.h"

/* Makes the traced function call action entry NR with the flags DOES. If RECORDED, the entry then
 * continues to the function trampoline. */
static void call_entry(unsigned nr, unsigned does, bool recorded)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	struct hv_action_group *groups =
		(struct hv_action_group *)(world->host + WORLD_TRAMPOLINES_OFF +
					   HV_ACTION_GROUPS_OFF);
	uint64_t entry =
		WORLD_CODE_OFF + trampolines->actions_off + nr * trampolines->action_len_bytes;

	groups[nr].does = does;
	groups[nr].goes_on =
		recorded ? (uint32_t)(HV_TRAMPOLINES_CODE_OFF + trampolines->function_off) : 0;
	ck_assert(hv_arch_x86_64.encode_call(world_gva(world, WORLD_TRACED_OFF),
					     world_gva(world, entry),
					     world->host + WORLD_TRACED_OFF));
}

START_TEST(actions_switch)
{
	struct hv_control *control = world_control(world);
	struct hv_record r;

	call_entry(0, HV_DOES_OFF, true);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	ck_assert_uint_eq(head(0), 0);
	control->mode = HV_MODE_OFF | HV_MODE_PID_FILTER;
	call_entry(HV_NR_ACTION_GROUPS - 1, HV_DOES_ON, false);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_PID_FILTER);
	ck_assert_uint_eq(head(0), 0);
	control->mode = HV_MODE_OFF;
	call_entry(5, HV_DOES_ON, true);
	run();
	ck_assert_uint_eq(control->mode, 0);
	ck_assert_uint_eq(head(0), 1);
	r = record_at(0, 0);
	ck_assert_uint_eq((uint32_t)r.word[1] & 0x7fffffff,
			  world_gva(world, WORLD_TRACED_OFF).v + hv_arch_x86_64.site_len_bytes);
	call_entry(6, 0, true);
	run();
	ck_assert_uint_eq(head(0), 2);
}
END_TEST

/* In a pause nothing is recorded. Switches during the pause take effect after it. */
START_TEST(actions_switch_in_a_pause)
{
	struct hv_control *control = world_control(world);

	control->mode = HV_MODE_PAUSED;
	control->left[1].on = control->left[1].off = 1;
	call_entry(0, HV_DOES_OFF, true);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED | HV_MODE_OFF);
	call_entry(1, HV_DOES_ON_COUNTED, true);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED);
	call_entry(1, HV_DOES_OFF_COUNTED, true);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED | HV_MODE_OFF);
	ck_assert_int_eq(control->left[1].on, 0);
	ck_assert_int_eq(control->left[1].off, 0);
	call_entry(2, HV_DOES_ON, true);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED);
	ck_assert_uint_eq(head(0), 0);
}
END_TEST

/* A count decreases only if the action changes something, and stops at 0. */
START_TEST(actions_are_counted)
{
	struct hv_control *control = world_control(world);

	control->left[7].off = 2;
	control->left[7].on = 1;
	call_entry(7, HV_DOES_OFF_COUNTED, false);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	run();
	ck_assert_int_eq(control->left[7].off, 1);
	call_entry(7, HV_DOES_ON_COUNTED, false);
	run();
	run();
	ck_assert_uint_eq(control->mode, 0);
	ck_assert_int_eq(control->left[7].on, 0);
	control->mode = HV_MODE_OFF;
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	control->mode = 0;
	call_entry(7, HV_DOES_OFF_COUNTED, true);
	run();
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	ck_assert_int_eq(control->left[7].off, 0);
	control->mode = 0;
	run();
	ck_assert_uint_eq(control->mode, 0);
	ck_assert_uint_eq(head(0), 1);
	control->left[7].off = -1;
	run();
	ck_assert_uint_eq(control->mode, 0);
}
END_TEST

static bool has_pid(uint32_t pid)
{
	return world->host[WORLD_PIDS_OFF + pid / 8] >> pid % 8 & 1;
}

static void set_only_pid(uint32_t pid)
{
	memset(world->host + WORLD_PIDS_OFF, 0, 0x1000);
	world->host[WORLD_PIDS_OFF + pid / 8] = (uint8_t)(1 << pid % 8);
}

/* The function's argument is a task that the current task forked, or that exits. */
START_TEST(forks_and_exits_change_the_pid_set)
{
	uint32_t nr_pids = (uint32_t)world->values->hole[HV_HOLE_nr_pids];
	struct world_task child = {.pid = 72}, beyond = {.pid = nr_pids};

	argument = &child;
	call_entry(9, HV_DOES_PID_INHERITS, true);
	set_only_pid(72);
	run();
	ck_assert(!has_pid(72));
	ck_assert_uint_eq(head(0), 1);
	set_only_pid(71); /* the current task */
	run();
	ck_assert(has_pid(71) && has_pid(72));
	call_entry(9, HV_DOES_PID_CLEARS, false);
	run();
	ck_assert(has_pid(71) && !has_pid(72));
	call_entry(9, HV_DOES_PID_SETS, false);
	run();
	ck_assert(has_pid(72));
	argument = &beyond;
	run();
	call_entry(9, HV_DOES_PID_INHERITS, false);
	run();
	ck_assert(!has_pid(nr_pids));
	/* If the pid of the current task is beyond the bitmap, the child's bit does not change. */
	argument = &child;
	world_set_current(world, &beyond);
	run();
	ck_assert(has_pid(72));
	ck_assert_uint_eq(head(0), 2);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, actions_switch);
	tcase_add_test(tc, actions_switch_in_a_pause);
	tcase_add_test(tc, actions_are_counted);
	tcase_add_test(tc, forks_and_exits_change_the_pid_set);
}

int main(void)
{
	return run_suite("trampoline_actions", add_tests);
}
