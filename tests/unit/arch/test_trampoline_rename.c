/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampoline that a kernel calls after it has written a task's name, with the code bytes that a
 * guest gets, run in this process (bench/native.h). Runs on an x86-64 host only. */
#include <check.h>
#include <string.h>

#include "bench/native.h"
#include "tests/lib/run_suite.h"

#define OTHER 4711

static struct world *world;

static void bare_return(const struct world *w hv_unused)
{
}

static void thunk(const struct world *w)
{
	w->values->return_thunk = world_gva(w, WORLD_THUNK_OFF);
}

static void set_up(void)
{
	const char *lack = NULL;

	world = native_new(64, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
}

static void tear_down(void)
{
	native_free(world);
}

/* Calls the trampoline like __set_task_comm(). A replacement for perf_event_comm() returns the sum
 * of its arguments. */
static uint64_t rename_task(const struct world_task *task, uint64_t exec, unsigned with_thunk)
{
	static const uint8_t sum[] = {0x48, 0x8d, 0x04, 0x37, /* lea (%rdi,%rsi), %rax */
				      0xc3};
	const struct world_case c = {"", 0, 0, with_thunk ? thunk : bare_return};
	uint64_t (*trampoline)(const void *task, uint64_t exec);
	uintptr_t at =
		(uintptr_t)world->host + WORLD_CODE_OFF + hv_arch_x86_64.trampolines.rename_off;
	uint32_t before[WORLD_NR_CPUS];

	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		before[cpu] = world_state(world, cpu)->last_pid;
	world_set_up(world, &c);
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		world_state(world, cpu)->last_pid = before[cpu];
	memcpy(world->host + WORLD_KERNEL_OFF + 0x40, sum, sizeof(sum));
	memcpy(&trampoline, &at, sizeof(trampoline));
	return trampoline(task, exec);
}

START_TEST(a_rename_forces_a_task_record_on_each_vcpu)
{
	const struct world_task task = {.pid = 72};
	struct hv_state *states[] = {world_state(world, 0), world_state(world, 1)};

	_Static_assert(WORLD_NR_CPUS == 2, "what follows");
	for (unsigned which = 0; which < 4; which++) {
		states[0]->last_pid = which & 1 ? 72 : OTHER;
		states[1]->last_pid = which & 2 ? 72 : OTHER;
		ck_assert_uint_eq(rename_task(&task, which, (unsigned)_i),
				  (uintptr_t)&task + which);
		ck_assert_uint_eq(states[0]->last_pid, which & 1 ? 0 : OTHER);
		ck_assert_uint_eq(states[1]->last_pid, which & 2 ? 0 : OTHER);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, a_rename_forces_a_task_record_on_each_vcpu, 0, 2);
}

int main(void)
{
	return run_suite("trampoline_rename", add_tests);
}
