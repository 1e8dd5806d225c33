/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The actions of another architecture's trampolines on an emulated CPU: those that switch
 * recording, change the pid filter, or notify the host. test_trampoline_actions.c is the
 * counterpart for x86-64. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/emulated/world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define GROUP 7

static struct emu_world *world;
static uint64_t argument; /* of the traced function */

static void set_up(void)
{
	world = emu_new();
	emu_set_up(world, &emu_cases[0]);
}

static void tear_down(void)
{
	emu_free(world);
}

static void call(void)
{
	struct emu_regs before, after;

	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, emu_sp(0));
	emu_get(world, &before);
	before.x[EMU_A0] = argument;
	emu_set(world, &before);
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	emu_get(world, &after);
	for (unsigned i = 0; i < HV_ARRAY_LEN(after.x); i++)
		if (i != EMU_A0 && !emu_is_free(i))
			ck_assert_uint_eq(after.x[i], before.x[i]);
}

/* Makes the traced function call action entry NR with the flags DOES. If RECORDS, the entry then
 * continues to the function trampoline. */
static void call_entry(unsigned nr, uint32_t does, bool records)
{
	emu_call_action(world, nr, does, records);
	call();
}

static uint64_t head(void)
{
	return emu_state(world, 0)->head / sizeof(struct hv_record) - EMU_NR_SLOTS;
}

static struct hv_record record_at(uint64_t position)
{
	struct hv_record r = emu_ring(world, 0)[position % EMU_NR_SLOTS];

	for (unsigned i = 0; i < 4; i++) {
		r.word[i] ^= hv_record_key(position, EMU_NR_SLOTS);
		ck_assert_uint_eq(r.word[i] & HV_RECORD_ZEROS, 0);
	}
	return r;
}

START_TEST(actions_switch)
{
	struct hv_control *control = emu_control(world);

	call_entry(0, HV_DOES_OFF, true);
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	ck_assert_uint_eq(head(), 0);
	control->mode = HV_MODE_OFF | HV_MODE_PID_FILTER;
	call_entry(HV_NR_ACTION_GROUPS - 1, HV_DOES_ON, false);
	ck_assert_uint_eq(control->mode, HV_MODE_PID_FILTER);
	ck_assert_uint_eq(head(), 0);
	control->mode = HV_MODE_OFF;
	call_entry(3, HV_DOES_ON, true);
	ck_assert_uint_eq(control->mode, 0);
	ck_assert_uint_eq(head(), 1);
	call_entry(4, 0, true);
	ck_assert_uint_eq(head(), 2);
	ck_assert_uint_eq(control->graph_mode, 0);
}
END_TEST

/* In a pause nothing is recorded. Switches during the pause take effect after it. */
START_TEST(actions_switch_in_a_pause)
{
	struct hv_control *control = emu_control(world);

	control->mode = HV_MODE_PAUSED;
	control->left[1].on = control->left[1].off = 1;
	call_entry(0, HV_DOES_OFF, true);
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED | HV_MODE_OFF);
	call_entry(1, HV_DOES_ON_COUNTED, true);
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED);
	call_entry(1, HV_DOES_OFF_COUNTED, true);
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED | HV_MODE_OFF);
	ck_assert_int_eq(control->left[1].on, 0);
	ck_assert_int_eq(control->left[1].off, 0);
	call_entry(2, HV_DOES_ON, true);
	ck_assert_uint_eq(control->mode, HV_MODE_PAUSED);
	ck_assert_uint_eq(head(), 0);
}
END_TEST

/* A count decreases only if the action changes something, and stops at 0. */
START_TEST(actions_are_counted)
{
	struct hv_control *control = emu_control(world);

	control->left[GROUP].off = 2;
	control->left[GROUP].on = 1;
	call_entry(GROUP, HV_DOES_OFF_COUNTED, false);
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	call();
	ck_assert_int_eq(control->left[GROUP].off, 1);
	call_entry(GROUP, HV_DOES_ON_COUNTED, false);
	call();
	ck_assert_uint_eq(control->mode, 0);
	ck_assert_int_eq(control->left[GROUP].on, 0);
	control->mode = HV_MODE_OFF;
	call();
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	control->mode = 0;
	call_entry(GROUP, HV_DOES_OFF_COUNTED, true);
	ck_assert_uint_eq(control->mode, HV_MODE_OFF);
	ck_assert_int_eq(control->left[GROUP].off, 0);
	control->mode = 0;
	call();
	ck_assert_uint_eq(control->mode, 0);
	ck_assert_uint_eq(head(), 1);
	control->left[GROUP].off = -1;
	call();
	ck_assert_uint_eq(control->mode, 0);
}
END_TEST

static bool has_pid(uint32_t pid)
{
	return world->host[EMU_PIDS_OFF + pid / 8] >> pid % 8 & 1;
}

static void set_only_pid(uint32_t pid)
{
	memset(world->host + EMU_PIDS_OFF, 0, 0x1000);
	world->host[EMU_PIDS_OFF + pid / 8] = (uint8_t)(1 << pid % 8);
}

/* Makes the function's argument a task with PID, and returns the task. */
static struct emu_task *make_task(uint32_t pid)
{
	struct emu_task *task = &emu_tasks(world)->dd;

	task->pid = pid;
	argument = emu_gva((uint64_t)((uint8_t *)task - world->host));
	return task;
}

/* The function's argument is a task that the current task forked, or that exits. */
START_TEST(forks_and_exits_change_the_pid_set)
{
	make_task(72);
	set_only_pid(72);
	call_entry(9, HV_DOES_PID_INHERITS, true);
	ck_assert(!has_pid(72));
	ck_assert_uint_eq(head(), 1);
	set_only_pid(71); /* the current task */
	call();
	ck_assert(has_pid(71) && has_pid(72));
	call_entry(9, HV_DOES_PID_CLEARS, false);
	ck_assert(has_pid(71) && !has_pid(72));
	call_entry(9, HV_DOES_PID_SETS, false);
	ck_assert(has_pid(72));
	make_task(EMU_NR_PIDS);
	call();
	call_entry(9, HV_DOES_PID_INHERITS, false);
	ck_assert(!has_pid(EMU_NR_PIDS));
	/* If the pid of the current task is beyond the bitmap, the child's bit does not change. */
	make_task(72);
	emu_tasks(world)->cat.pid = EMU_NR_PIDS;
	call();
	ck_assert(has_pid(72));
	ck_assert_uint_eq(head(), 2);
}
END_TEST

static void check_reported(uint64_t position)
{
	struct hv_record r = record_at(position);
	struct hv_call_addresses at = EMU_ARCH.decode_call(r.word[1]);

	ck_assert_uint_eq(hv_record_kind(&r), HV_RECORD_COMMAND);
	ck_assert_uint_eq(hv_record_number(&r) >> (HV_STACK_COMMAND_BIT - HV_RECORD_DEPTH_SHIFT),
			  1);
	ck_assert_uint_eq(hv_record_pid(&r), 71);
	ck_assert_uint_eq(at.site_end | HV_TEXT_BIT, emu_site_end(EMU_TRACED_OFF));
}

/* The trampoline notifies the host until the count is used up, also while tracing is off. */
START_TEST(the_host_is_notified_until_the_count_ends)
{
	struct hv_control *control = emu_control(world);

	call_entry(GROUP, HV_DOES_REPORT, true);
	ck_assert_uint_eq(head(), 2);
	check_reported(0);
	ck_assert_uint_eq(record_at(1).word[3] >> HV_RECORD_KIND_SHIFT, HV_RECORD_FUNCTION);
	control->mode = HV_MODE_OFF;
	call_entry(GROUP, HV_DOES_REPORT, false);
	ck_assert_uint_eq(head(), 3);
	check_reported(2);
	control->left[GROUP].report = 1;
	call_entry(GROUP, HV_DOES_REPORT_COUNTED, false);
	call();
	ck_assert_uint_eq(head(), 4);
	check_reported(3);
	ck_assert_int_eq(control->left[GROUP].report, 0);
	control->left[GROUP].report = -1;
	call();
	ck_assert_uint_eq(head(), 4);
	/* If the task has changed, a record of the task comes first. */
	control->left[GROUP].report = 1;
	emu_state(world, 0)->last_pid = 0;
	call();
	ck_assert_uint_eq(head(), 6);
	check_reported(5);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, actions_switch);
	tcase_add_test(tc, actions_switch_in_a_pause);
	tcase_add_test(tc, actions_are_counted);
	tcase_add_test(tc, forks_and_exits_change_the_pid_set);
	tcase_add_test(tc, the_host_is_notified_until_the_count_ends);
}

int main(void)
{
	return run_suite("trampoline_" EMU_NAME "_actions", add_tests);
}
